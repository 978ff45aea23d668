"""What ``shuffledp curve`` was asked, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting import Setting
from shuffledp.basics.errors import check_epsilon0
from shuffledp.basics.rounding import plain, written
from shuffledp.cli.parameters import DELTA, EPSILON, USERS
from shuffledp.cli.setting import ROUNDS, is_typed, refuse
from shuffledp.comparison import AXES, Axis, Course, Families, end_of_profile, read_families


@dataclass(frozen=True, kw_only=True)
class CurveRequest:
    """The options of the command line, by their names there."""

    setting: Setting
    mechanisms: tuple[str, ...]
    against: str
    delta: float | None
    low: str | None
    high: str | None
    count: int
    bounds: tuple[str, ...]
    outputs: tuple[Path, ...]
    rtol: float | None
    as_json: bool

    def __post_init__(self) -> None:
        """Refuse what is missing, and what would be ignored."""
        if self.as_json and self.outputs:
            raise click.UsageError("--json and --out exclude each other; --out FILE.json writes it")
        refuse(self.setting, "curves are of users who run one mechanism", "groups")
        self._leave_out_what_varies()
        for name, option, value in (
            ("n", "'-n' / '--users'", self.setting.n),
            ("delta", "'--delta'", self.delta),
        ):
            if name in self.axis.fixed and value is None:
                raise click.UsageError(f"a curve against {self.against} needs {option}")
            if name not in self.axis.fixed and value is not None:
                raise click.UsageError(
                    f"a curve against {self.against} takes no {option}: it varies along the curve"
                )

    @property
    def axis(self) -> Axis:
        """What varies."""
        return AXES[self.against]

    def _leave_out_what_varies(self) -> None:
        """Ignore of a file what varies along the curve; what is typed is refused later."""
        kept = self.setting
        if self.against == "users" and not is_typed("n"):
            kept = replace(kept, n=None)
        if self.against == "rounds" and not is_typed("rounds"):
            kept = replace(kept, rounds=1)
        object.__setattr__(self, "setting", kept)

    def families(self) -> Families:
        """Return by text what each user runs at a point."""
        of_file = () if self.setting.mechanism is None else (str(self.setting.mechanism),)
        named = self.mechanisms or of_file
        if not named:
            raise click.UsageError("Missing argument 'MECHANISM': give it, or '--setting'")
        try:
            return read_families(named, self.against)
        except ValueError as error:
            raise _bad("mechanisms", str(error)) from None

    def course(self, families: Families) -> Course:
        """Return where the curves are computed, and what stays."""
        low = self.axis.low if self.low is None else self._end("low", self.low)
        if self.high is not None:
            high = self._end("high", self.high)
        elif self.axis.high is not None:
            high = self.axis.high
        else:
            high = end_of_profile((make(1.0) for make in families.values()), self.setting)
        if low > high:
            raise click.UsageError(
                f"--from must be at most --to, got {plain(low)} and {plain(high)}"
            )
        points = self.axis.points(low, high, self.count)
        try:
            return Course(self.axis, points, self.setting, self.delta)
        except ValueError as error:  # at some point nobody is honest
            raise click.UsageError(str(error)) from None

    def _end(self, name: str, text: str) -> float:
        """Read one end of the range, by the rules of what varies."""
        if self.against == "epsilon0":
            return _read_epsilon0(name, text)
        options = {"users": USERS, "delta": DELTA, "epsilon": EPSILON, "rounds": ROUNDS}
        read: Any = options[self.against].callback
        end: float = read(click.get_current_context(), _parameter(name), text)
        if self.axis.log and end == 0:
            raise _bad(name, f"{self.against} must be above 0 on a logarithmic axis, got {text!r}")
        return end


def _read_epsilon0(name: str, text: str) -> float:
    try:
        number = float(written(text))
    except ValueError:
        raise _bad(name, f"epsilon0 must be a number, got {text!r}") from None
    try:
        return check_epsilon0(number)
    except ValueError as error:
        raise _bad(name, str(error)) from None


def _parameter(name: str) -> click.Parameter:
    """Return a parameter of the running command."""
    parameters = click.get_current_context().command.params
    return next(parameter for parameter in parameters if parameter.name == name)


def _bad(name: str, message: str) -> click.BadParameter:
    return click.BadParameter(message, click.get_current_context(), _parameter(name))
