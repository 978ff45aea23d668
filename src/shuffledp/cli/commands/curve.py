"""``shuffledp curve``: bounds against users, epsilon0, delta, epsilon or rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting import Setting
from shuffledp.basics.errors import NoAnswerError, check_epsilon0
from shuffledp.basics.rounding import plain, written
from shuffledp.cli.answers.chart_files import read_outputs, write_chart
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.shown import envelope
from shuffledp.cli.parameters import DELTA, EPSILON, JSON, RTOL, USERS, optional, reading, whole
from shuffledp.cli.setting_options import (
    ROUNDS,
    SHOWN,
    is_typed,
    refuse,
    save_setting,
    take_setting,
)
from shuffledp.cli.terminal import counter, progress
from shuffledp.comparison import (
    AXES,
    BOUNDS,
    OURS,
    Axis,
    Course,
    Curves,
    Families,
    end_of_profile,
    read_families,
    trace,
)

_MAX_POINTS = 10_000


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


_PARAMETERS = [
    click.Argument(["mechanisms"], metavar="MECHANISM...", nargs=-1),
    click.Option(
        ["--against"],
        type=click.Choice(list(AXES)),
        default="users",
        show_default=True,
        help="What varies from left to right. The curves show epsilon; against epsilon, delta.",
    ),
    SHOWN[1],
    optional(DELTA),
    click.Option(
        ["--from", "low"],
        metavar="NUMBER",
        help="Where the curves start. Default: 1e3 users, epsilon0 0.1, delta 1e-12, epsilon 0, "
        "1 round.",
    ),
    click.Option(
        ["--to", "high"],
        metavar="NUMBER",
        help="Where they end. Default: 1e6 users, epsilon0 8, delta 1e-3, 1e3 rounds, or the "
        "epsilon at which all guarantees have come down to delta 1e-12.",
    ),
    click.Option(
        ["--points", "count"],
        callback=reading(whole("points", 1, _MAX_POINTS)),
        metavar="INTEGER",
        default="50",
        show_default=True,
        help="Points of each curve.",
    ),
    click.Option(
        ["--bound", "bounds"],
        type=click.Choice([*BOUNDS, "all"]),
        metavar="NAME",
        multiple=True,
        default=OURS,
        help="What to show; may be repeated. Default: guarantee and lower_bound. Also: "
        f"{', '.join([*list(BOUNDS)[len(OURS) :], 'all'])}.",
    ),
    click.Option(
        ["-o", "--out", "outputs"],
        callback=read_outputs,
        metavar="FILE",
        multiple=True,
        help="Write a picture (.png, .svg, .pdf) with its numbers (.csv, .json) beside it, or "
        "only numbers; may be repeated. Without it the numbers are printed as CSV.",
    ),
    RTOL,
    *SHOWN[2:],
    JSON,
]


@click.command(params=_PARAMETERS, epilog=EPILOG)
def curve(kept: str | None, **options: Any) -> None:
    """Draw bounds against users, epsilon0, delta, epsilon or rounds.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)", one or several; see
    "shuffledp mechanisms" for all of them. Against epsilon0 leave that out, as in "krr(k=10)".
    """
    request = CurveRequest(setting=take_setting(options), **options)
    families = request.families()
    with progress():
        course = request.course(families)
    with counter(len(course.x) * len(families)) as report:
        found = trace(
            families,
            course,
            bounds=request.bounds,
            rtol=request.rtol,
            on_done=report,
        )
    if all(value.number is None for item in found.curves for value in item.values):
        raise NoAnswerError(found.notes[0])
    save_setting(request.setting, kept)
    written = write_chart(found.to_chart(), request.outputs, _to_json(found))
    if request.as_json:
        click.echo(_to_json(found))
        return
    if request.outputs:
        written.check()
        click.echo("\n".join(written.names))
    else:
        click.echo(found.to_chart().to_csv(), nl=False)
    for note in found.notes:
        click.echo(note, err=True)


def _to_json(found: Curves) -> str:
    return envelope("curve", found.to_dict(), found.assumptions)
