"""``shuffledp estimate``: what files of reports tell about the users."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.assumptions import COUNTED, SEEN
from shuffledp.basics.errors import MAX_SIZE
from shuffledp.basics.rounding import decade, plain, round_down, round_up, share_up
from shuffledp.basics.wording import counted, fill, shorten
from shuffledp.cli.answers.chart_files import read_outputs, write_chart
from shuffledp.cli.answers.estimate_chart import estimate_chart
from shuffledp.cli.answers.estimate_request import EstimateRequest
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.shown import envelope
from shuffledp.cli.answers.study_reports import largest, read_given, study_notes, top_notes
from shuffledp.cli.group_option import read_groups
from shuffledp.cli.parameters import JSON, confidence_option, count_or_share, reading, whole
from shuffledp.cli.signals import CLUSTER, workers
from shuffledp.cli.terminal import progress
from shuffledp.deployment.files import DataError, Estimation, PooledEstimation, Section
from shuffledp.deployment.files.tables import SUFFIXES, parts_of
from shuffledp.deployment.study import StudyEstimation
from shuffledp.mechanisms import Relation, parse

_MAX_DECIMALS = 12


def _read_reports(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> tuple[Path, ...]:
    """Return the files, those of folders and patterns included."""
    if ctx.resilient_parsing:  # the shell completes a line that is not whole yet
        return ()
    if "" in given:  # which would stand for the folder where the command runs
        raise click.ClickException(f"the file name must end in {' or '.join(SUFFIXES)}, got ''")
    try:
        return tuple(part for text in given for part in parts_of(Path(text)))
    except DataError as error:
        raise click.ClickException(str(error)) from None


_CORRUPTED = click.Option(
    ["--corrupted"],
    callback=reading(count_or_share("corrupted")),
    metavar="NUMBER",
    default="0",
    help="Say how far so many users can move the estimates if they choose their reports: a number "
    "such as 500, or a share such as 0.05 or 5%.",
)

_PARAMETERS = [
    click.Argument(["reports"], nargs=-1, type=click.Path(), callback=_read_reports),
    click.Option(
        ["--from-counts"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Estimate from a published sum instead: a JSON file with n and counts, or n and sum, "
        "or n and attributes, one of these each; or a CSV file with the titles value,count,n or "
        "sum,n.",
    ),
    click.Option(
        ["--mechanism"],
        callback=reading(parse),
        metavar="MECHANISM",
        help="What each user ran, with --from-counts; files with a sidecar know it.",
    ),
    click.Option(
        ["--group", "groups"],
        multiple=True,
        callback=read_groups,
        metavar='"MECHANISM=USERS"',
        help='With --from-counts, a tier such as "krr(k=10, epsilon0=1)=500" instead of '
        "--mechanism; give one per tier. The counts are those of all reports together.",
    ),
    click.Option(
        ["--tiers"],
        is_flag=True,
        help="The files are of tiers: their mechanisms may differ, and each is debiased by its "
        "own.",
    ),
    _CORRUPTED,
    confidence_option("0.95", "Probability with which each interval, on its own, holds the truth."),
    click.Option(
        ["--simultaneous"],
        is_flag=True,
        help="Let all intervals of a table hold the truth at once with that probability (Sidak), "
        "not each on its own.",
    ),
    click.Option(
        ["--project"],
        is_flag=True,
        help="Show the nearest probability distribution as well: plausible, but biased, and "
        "without standard errors.",
    ),
    click.Option(
        ["--given"],
        callback=read_given,
        metavar="NAME=VALUE",
        multiple=True,
        help="Show the shares of other attributes of a study among people with this value as well; "
        "needs their cross table. May be repeated: people who have all these values.",
    ),
    click.Option(
        ["--top"],
        callback=reading(whole("top", 1, MAX_SIZE)),
        metavar="INTEGER",
        help="Name so many of the largest shares of every attribute of a study, each with the "
        "p-value of its lead over the next one.",
    ),
    click.Option(
        ["--chart", "charts"],
        callback=read_outputs,
        metavar="FILE",
        multiple=True,
        help="Draw the estimates with their intervals: a picture (.png, .svg, .pdf) with its "
        "numbers (.csv, .json) beside it, or only numbers; may be repeated.",
    ),
    CLUSTER,
    JSON,
    click.Option(["--csv", "as_csv"], is_flag=True, help="Print CSV with all digits."),
]


@click.command(params=_PARAMETERS, epilog=EPILOG)
def estimate(**options: Any) -> None:
    """Estimate frequencies and means from reports or their sum.

    REPORTS is a file that "shuffledp randomize" wrote, one or several of the same mechanism, whose
    sidecar stands beside it; or a folder of such files, or a pattern in quotes such as
    "reports/*.parquet". Estimates are unbiased, so that frequencies can be below 0 or above 1.
    """
    request = EstimateRequest(**options)
    with workers(request.cluster) as client, progress():
        estimation = request.estimation(client)
    project = request.project
    if project and not any(section.estimate.whole_domain for section in estimation.sections):
        raise click.UsageError(
            "--project needs the frequencies of a whole domain, but there are only means, or "
            "frequencies of some values"
        )
    level, simultaneous = request.confidence, request.simultaneous
    rows = [_Rows(section, level, simultaneous, project) for section in estimation.sections]
    tables = [(table.section, table.names, table.columns) for table in rows]
    chart = estimate_chart(estimation, tables, level, simultaneous)
    written = write_chart(chart, request.charts, chart.to_json())
    if request.as_json:
        click.echo(_to_json(estimation, rows, request, written.names))
    elif request.as_csv:
        click.echo(_to_csv(rows, project), nl=False)
    else:
        click.echo(_to_text(estimation, rows, request))
        written.echo()
    written.check()


class _Rows:
    """The estimates about one column, with their intervals."""

    def __init__(
        self, section: Section, confidence: float, simultaneous: bool, project: bool
    ) -> None:
        estimate = section.estimate
        interval = estimate.confidence_interval(confidence, simultaneous=simultaneous)
        self.simultaneous = simultaneous
        self.section, self.level = section, confidence
        self.names = ["mean"] if section.is_mean else section.values
        self.columns = [estimate.values, estimate.standard_errors, interval.lower, interval.upper]
        self.projected = estimate.projected() if project and estimate.whole_domain else None

    def to_text(self) -> str:
        """Return a table; for a mean one line."""
        section, level = self.section, f"{plain(100 * self.level)}% interval"
        if self.simultaneous and not section.is_mean:
            level += ", all at once"
        title = section.column.name
        if section.mechanism is not None:
            title += f" ({shorten(section.mechanism)})"
        decimals = _decimals(self.columns[1])
        value, error, lower, upper = (_fixed(column, decimals) for column in self.columns)
        if section.is_mean:
            text = f"{title}: mean {value[0]}, standard error {error[0]}, {level} "
            return f"{text}{lower[0]} to {upper[0]}"
        ends = [f"{low} to {high}" for low, high in zip(_right(lower), _right(upper), strict=True)]
        table = [
            [title, *self.names],
            _right(["frequency", *value]),
            _right(["standard error", *error]),
            _right([level, *ends]),
        ]
        if self.projected is not None:
            table.append(_right(["projected (biased)", *_fixed(self.projected, decimals)]))
        width = max(map(len, table[0]))
        table[0] = [name.ljust(width) for name in table[0]]
        return "\n".join("  ".join(row).rstrip() for row in zip(*table, strict=True))


def _decimals(errors: NDArray[np.float64]) -> int:
    """Return after how many digits the smallest standard error has two of its own."""
    known = errors[np.isfinite(errors) & (errors > 0)]
    if not known.size:
        return 4
    return min(max(1 - decade(float(known.min())), 0), _MAX_DECIMALS)


def _fixed(numbers: NDArray[np.float64], decimals: int) -> list[str]:
    return [f"{number:.{decimals}f}" if math.isfinite(number) else "unknown" for number in numbers]


def _right(texts: Sequence[str]) -> list[str]:
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def _to_text(estimation: Estimation, rows: Sequence[_Rows], request: EstimateRequest) -> str:
    how = ("mechanism", shorten(estimation.mechanism))
    if isinstance(estimation, StudyEstimation):
        how = ("strategy", estimation.estimate.design.strategy)
    head = [how, ("users", f"{estimation.n:,}")]
    if estimation.sidecars:
        epsilon, delta = estimation.guarantee
        seen = ", the sum alone" if estimation.sidecars[0].view == "sum" else ""
        claim = f"epsilon = {round_up(epsilon)} at delta = {plain(delta)}{seen}"
        head.append(("guarantee", claim))
    lines = ["\n".join(f"{label:<11}{value}" for label, value in head)]
    lines += [table.to_text() for table in rows]
    notes = [*top_notes(estimation, request.top), *_notes(estimation, request.project)]
    return "\n\n".join([*lines, *(fill(note) for note in notes)])


def _notes(estimation: Estimation, project: bool) -> Iterable[str]:
    """Yield what has to be known to use the numbers."""
    count = len(estimation.sidecars)
    if isinstance(estimation, StudyEstimation):
        yield from study_notes(estimation)
    elif count > 1:
        yield (
            f"The estimates are about all {estimation.n:,} users of {count} files. Each file was "
            "shuffled on its own, so that the guarantee is that of the weakest file, not the "
            f"stronger one of {estimation.n:,} users shuffled together. It holds if no user is in "
            "two files; otherwise the epsilons and deltas of these files add up."
        )
    protected = dict.fromkeys(sidecar.relation["text"] for sidecar in estimation.sidecars)
    if protected and list(protected) != [str(Relation())]:
        yield (
            "The guarantee is for neighbouring datasets that "
            f"{', or of other files that '.join(protected)}."
        )
    if isinstance(estimation, PooledEstimation):
        yield (
            "Nobody can tell which tier a report is of, so all are debiased by one mixture law. If "
            "tiers were known, standard errors would be "
            f"{round_down(estimation.loss, 3)} times smaller for uniform data."
        )
    if estimation.corrupted:
        yield from _poisoning(estimation)
    if project:
        yield (
            "Projected frequencies are biased: small ones come out too large and large ones too "
            "small. Standard errors and intervals belong to the unbiased frequencies."
        )
    warnings = (warning for sidecar in estimation.sidecars for warning in sidecar.warnings)
    yield from (f"Warning: {warning}." for warning in dict.fromkeys(warnings))


def _poisoning(estimation: Estimation) -> Iterable[str]:
    """Yield what users can do who choose their reports."""
    crowd = counted(estimation.corrupted, "corrupted user")
    for section in estimation.sections:
        what = "the mean" if section.is_mean else "a frequency"
        if len(estimation.sections) > 1:
            what += f" of {section.column.name}"
        if section.shifts is None:
            continue
        farthest = float(section.shifts.max())
        if math.isinf(farthest):
            yield (
                f"Poisoning: {crowd} can move {what} by any amount, since any number is a report."
            )
        else:
            yield (
                f"Poisoning: {crowd} who choose their reports can move {what} by at most "
                f"{round_up(farthest)}; lying about their values moves it by no more than "
                f"{share_up(estimation.corrupted, estimation.n)} on average."
            )


def _to_csv(rows: Iterable[_Rows], project: bool) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    titles = ["column", "mechanism", "value", "estimate", "standard_error", "lower", "upper"]
    writer.writerow([*titles, "projected_biased"] if project else titles)
    for table in rows:
        section = table.section
        columns = [column.tolist() for column in table.columns]
        if project:
            none = [""] * len(table.names)
            columns.append(none if table.projected is None else table.projected.tolist())
        for name, *numbers in zip(table.names, *columns, strict=True):
            writer.writerow([section.column.name, section.mechanism or "", name, *numbers])
    return out.getvalue()


def _to_json(
    estimation: Estimation, rows: Sequence[_Rows], request: EstimateRequest, charts: Sequence[str]
) -> str:
    guarantee = None
    if estimation.sidecars:
        epsilon, delta = estimation.guarantee
        guarantee = {"epsilon": epsilon, "delta": delta}
    relations = list({one.relation["text"]: one.relation for one in estimation.sidecars}.values())
    fields = {
        "mechanism": estimation.mechanism,
        "n": estimation.n,
        "view": estimation.sidecars[0].view if estimation.sidecars else "sum",
        "guarantee": guarantee,
        "relation": relations[0] if len(relations) == 1 else None,
        "corrupted": estimation.corrupted,
        "confidence": request.confidence,
        "simultaneous": any(table.simultaneous for table in rows),
        "estimates": [_section_fields(table) for table in rows],
        "files": [
            {
                "file": str(path),
                "n": sidecar.n,
                "epsilon": sidecar.guarantee.epsilon,
                "delta": sidecar.guarantee.delta,
                "relation": sidecar.relation,
                "seeded": sidecar.seeded,
            }
            for path, sidecar in zip(request.files(estimation), estimation.sidecars, strict=True)
        ],
        "top": {
            name: [asdict(place) for place in places]
            for name, places in largest(estimation, request.top).items()
        },
        "charts": list(charts),
        "warnings": list(_notes(estimation, project=False)),
    }
    said = dict.fromkeys(fact for one in estimation.sidecars for fact in one.assumptions)
    return envelope("estimate", fields, tuple(said) or (COUNTED, SEEN["sum"]))


def _section_fields(table: _Rows) -> dict[str, object]:
    section = table.section
    names = ("estimates", "standard_errors", "lower", "upper")
    projected = table.projected
    return {
        "column": section.column.name,
        "mechanism": section.mechanism,
        "kind": "mean" if section.is_mean else "frequencies",
        "values": table.names,
        **{name: _finite(column) for name, column in zip(names, table.columns, strict=True)},
        "largest_shifts": None if section.shifts is None else _finite(section.shifts),
        "projected_biased": None if projected is None else projected.tolist(),
    }


def _finite(numbers: NDArray[np.float64]) -> list[float | None]:
    """Return numbers; JSON has no infinity."""
    return [number if math.isfinite(number) else None for number in numbers.tolist()]
