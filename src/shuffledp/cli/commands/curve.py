"""``shuffledp curve``: bounds against users, epsilon0, delta, epsilon or rounds."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.basics.errors import NoAnswerError
from shuffledp.cli.answers.chart_files import read_outputs, write_chart
from shuffledp.cli.answers.curve_request import CurveRequest
from shuffledp.cli.answers.document import envelope
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import DELTA, JSON, RTOL, optional, reading, whole
from shuffledp.cli.setting import SHOWN, save_setting, take_setting
from shuffledp.cli.terminal import counter, progress
from shuffledp.comparison import AXES, BOUNDS, OURS, Curves, trace

_MAX_POINTS = 10_000


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
