"""What ``shuffledp curve`` was asked, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting import ShuffleAccountant
from shuffledp.cli.answer import shorten
from shuffledp.cli.parameters import DELTA, EPSILON, USERS
from shuffledp.errors import MAX_EPSILON0, NoAnswerError, check_epsilon0
from shuffledp.figures.axis import AXES, Axis
from shuffledp.figures.bounds import BOUNDS
from shuffledp.randomizers import LocalRandomizer, parse, parse_family
from shuffledp.rounding import plain, round_up

#: Where curves start and end unless told; how far epsilon goes depends on the mechanisms.
_RANGES: dict[str, tuple[str, str | None]] = {
    "users": ("1e3", "1e6"),
    "epsilon0": ("0.1", "8"),
    "delta": ("1e-12", "1e-3"),
    "epsilon": ("0", None),
}
_LEAST_DELTA = 1e-12  # where a privacy profile ends unless told

Mechanisms = Mapping[str, Callable[[float], LocalRandomizer]]


@dataclass(frozen=True, kw_only=True)
class CurveRequest:
    """The options of the command line, by their names there."""

    mechanism: tuple[str, ...]
    against: str
    n: int | None
    delta: float | None
    low: str | None
    high: str | None
    count: int
    bounds: tuple[str, ...]
    outputs: tuple[Path, ...]
    rtol: float
    as_json: bool

    def __post_init__(self) -> None:
        """Refuse what is missing, and what would be ignored."""
        if self.as_json and self.outputs:
            raise click.UsageError("--json and --out exclude each other; --out FILE.json writes it")
        for name, option, value in (
            ("n", "'-n' / '--users'", self.n),
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

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The bounds in the usual order, each once."""
        return tuple(name for name in BOUNDS if name in self.bounds or "all" in self.bounds)

    def mechanisms(self) -> Mechanisms:
        """Return by text what each user runs at a point."""
        found: dict[str, Callable[[float], LocalRandomizer]] = {}
        known: list[tuple[LocalRandomizer, LocalRandomizer]] = []
        for text in self.mechanism:
            try:
                make = parse_family(text) if self.against == "epsilon0" else _constant(parse(text))
            except ValueError as error:
                raise _bad("mechanism", str(error)) from None
            probe = (make(1.0), make(2.0))
            if probe in known:
                raise _bad("mechanism", f"{shorten(text)!r} is given twice")
            known.append(probe)
            name = shorten(text.strip() if self.against == "epsilon0" else str(probe[0]))
            found[name if name not in found else f"{name} ({len(known)})"] = make
        return found

    def points(self, mechanisms: Mechanisms) -> tuple[float, ...]:
        """Return where the curves are computed."""
        first, last = _RANGES[self.against]
        low = self._end("low", first if self.low is None else self.low)
        high_text = last if self.high is None else self.high
        if high_text is None:
            high = self._end_of_profile(mechanisms)
        else:
            high = self._end("high", high_text)
        if low > high:
            raise click.UsageError(
                f"--from must be at most --to, got {plain(low)} and {plain(high)}"
            )
        return self.axis.points(low, high, self.count)

    def _end(self, name: str, text: str) -> float:
        """Read one end of the range, by the rules of what varies."""
        if self.against == "epsilon0":
            return _read_epsilon0(name, text)
        option = {"users": USERS, "delta": DELTA, "epsilon": EPSILON}[self.against]
        read: Any = option.callback
        end: float = read(click.get_current_context(), _parameter(name), text)
        if self.axis.log and end == 0:
            raise _bad(name, f"{self.against} must be above 0 on a logarithmic axis, got {text!r}")
        return end

    def _end_of_profile(self, mechanisms: Mechanisms) -> float:
        """Return the epsilon at which every guarantee is small."""
        ends = [0.0]
        for make in mechanisms.values():
            accountant = ShuffleAccountant(make(1.0), self.n or 1, rtol=0.1)
            try:
                ends.append(accountant.get_epsilon(_LEAST_DELTA))
            except NoAnswerError:
                continue
        end = max(end for end in ends if end <= MAX_EPSILON0)
        return min(float(round_up(end, 2)), MAX_EPSILON0) or 1.0


def _read_epsilon0(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise _bad(name, f"epsilon0 must be a number, got {text!r}") from None
    try:
        return check_epsilon0(number)
    except ValueError as error:
        raise _bad(name, str(error)) from None


def _constant(randomizer: LocalRandomizer) -> Callable[[float], LocalRandomizer]:
    return lambda _: randomizer


def _parameter(name: str) -> click.Parameter:
    """Return a parameter of the running command."""
    parameters = click.get_current_context().command.params
    return next(parameter for parameter in parameters if parameter.name == name)


def _bad(name: str, message: str) -> click.BadParameter:
    return click.BadParameter(message, click.get_current_context(), _parameter(name))
