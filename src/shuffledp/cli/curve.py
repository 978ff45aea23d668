"""``shuffledp curve``: bounds against users, epsilon0, delta or epsilon."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from shuffledp import __version__
from shuffledp.accounting.assumptions import ASSUMPTIONS
from shuffledp.cli.counter import counter
from shuffledp.cli.curve_request import CurveRequest
from shuffledp.cli.facts import EPILOG
from shuffledp.cli.output import all_files, read_outputs
from shuffledp.cli.parameters import DELTA, JSON, RTOL, USERS, optional
from shuffledp.cli.progress import progress
from shuffledp.errors import NoAnswerError
from shuffledp.extras import MissingExtraError
from shuffledp.figures import Chart, draw
from shuffledp.figures.axis import AXES
from shuffledp.figures.bounds import BOUNDS
from shuffledp.figures.curve import Curve, curves, to_chart
from shuffledp.rounding import plain
from shuffledp.whole_file import write_whole

_MAX_POINTS = 10_000


_PARAMETERS = [
    click.Argument(["mechanism"], nargs=-1, required=True),
    click.Option(
        ["--against"],
        type=click.Choice(list(AXES)),
        default="users",
        show_default=True,
        help="What varies from left to right. The curves show epsilon; against epsilon, delta.",
    ),
    optional(USERS),
    optional(DELTA),
    click.Option(
        ["--from", "low"],
        metavar="NUMBER",
        help="Where the curves start. Default: 1e3 users, epsilon0 0.1, delta 1e-12, epsilon 0.",
    ),
    click.Option(
        ["--to", "high"],
        metavar="NUMBER",
        help="Where they end. Default: 1e6 users, epsilon0 8, delta 1e-3, or the epsilon at which "
        "all guarantees have come down to delta 1e-12.",
    ),
    click.Option(
        ["--points", "count"],
        type=click.IntRange(1, _MAX_POINTS),
        metavar="INTEGER",
        default=50,
        show_default=True,
        help="Points of each curve.",
    ),
    click.Option(
        ["--bound", "bounds"],
        type=click.Choice([*BOUNDS, "all"]),
        metavar="NAME",
        multiple=True,
        default=("guarantee", "lower_bound"),
        help="What to show; may be repeated. Default: guarantee and lower_bound. Also: "
        f"{', '.join([*list(BOUNDS)[2:], 'all'])}.",
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
    JSON,
]


@click.command(params=_PARAMETERS, epilog=EPILOG)
def curve(**options: Any) -> None:
    """Draw bounds against users, epsilon0, delta or epsilon.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)", one or several; see
    "shuffledp mechanisms" for all of them. Against epsilon0 leave that out, as in "krr(k=10)".
    """
    request = CurveRequest(**options)
    mechanisms = request.mechanisms()
    with progress():
        x = request.points(mechanisms)
    with counter(len(x) * len(mechanisms)) as report:
        found = curves(
            mechanisms,
            request.axis,
            x,
            n=request.n,
            delta=request.delta,
            bounds=request.bound_names,
            rtol=request.rtol,
            on_done=report,
        )
    chart = to_chart(found, request.axis, _title(request, list(mechanisms)))
    notes = _notes(request, found, chart)
    if all(y is None for line in chart.lines for y in line.y):
        raise NoAnswerError(notes[0])
    if request.as_json:
        click.echo(_to_json(request, found, chart))
        return
    if request.outputs:
        _write(request, found, chart)
    else:
        click.echo(chart.to_csv(), nl=False)
    for note in notes:
        click.echo(note, err=True)


def _title(request: CurveRequest, mechanisms: list[str]) -> str:
    facts = mechanisms if len(mechanisms) == 1 else []
    facts += [f"{request.n:,} users"] if request.n is not None else []
    facts += [f"delta = {plain(request.delta)}"] if request.delta is not None else []
    return ", ".join(facts)


def _notes(request: CurveRequest, found: Sequence[Curve], chart: Chart) -> list[str]:
    """Say once for every curve where it has no answer, and where it is less precise than asked."""
    notes = []
    for item, line in zip(found, chart.lines, strict=True):
        points = list(zip(item.x, item.values, strict=True))
        gaps = [(x, value.reason) for x, value in points if value.number is None]
        wide = [value for value in item.values if not value.rtol_reached]
        if gaps:
            x, reason = gaps[0]
            notes.append(
                f"{line.label}: no answer at {len(gaps)} of {len(points)} points, first at "
                f"{request.against} = {plain(x)}: {reason}"
            )
        if wide:
            notes.append(
                f"{line.label}: valid but wider than rtol = {plain(request.rtol)} at {len(wide)} "
                f"of {len(points)} points"
            )
    return notes


def _to_json(request: CurveRequest, found: Sequence[Curve], chart: Chart) -> str:
    document = {
        "command": "curve",
        "against": request.against,
        "quantity": request.axis.quantity,
        "n": request.n,
        "target_delta": request.delta,
        "rtol": request.rtol,
        "curves": [
            {
                "mechanism": item.mechanism,
                "bound": item.bound,
                "label": line.label,
                "kind": line.kind,
                "x": line.x,
                "y": line.y,
                "reasons": [value.reason for value in item.values],
                "rtol_reached": [value.rtol_reached for value in item.values],
            }
            for item, line in zip(found, chart.lines, strict=True)
        ],
        "assumptions": ASSUMPTIONS,
        "version": __version__,
    }
    return json.dumps(document, indent=2, allow_nan=False)


def _write(request: CurveRequest, found: Sequence[Curve], chart: Chart) -> None:
    """Write all files, pictures last, and print their names."""
    written: list[str] = []
    for path in all_files(request.outputs):
        suffix = path.suffix.lower()
        if suffix == ".csv":
            write_whole(path, chart.to_csv().encode())
        elif suffix == ".json":
            write_whole(path, _to_json(request, found, chart).encode() + b"\n")
        else:
            try:
                draw(chart, path)
            except MissingExtraError as error:
                done = f"; written without: {', '.join(written)}"
                raise click.ClickException(f"{error}{done}") from None
        written.append(str(path))
    click.echo("\n".join(written))
