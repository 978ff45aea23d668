"""``shuffledp randomize``: shuffled reports from the columns of a file."""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting.assumptions import particulars
from shuffledp.accounting.sum_view import View
from shuffledp.basics.cluster import Client
from shuffledp.basics.rounding import plain, round_down, round_up
from shuffledp.basics.wording import fill, shorten
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.shown import is_private
from shuffledp.cli.answers.study_reports import plan_json, plan_text
from shuffledp.cli.parameters import DELTA, JSON, MECHANISM, optional, reading, whole
from shuffledp.cli.setting_options import VIEW
from shuffledp.cli.signals import CLUSTER, ending_tidily, workers
from shuffledp.cli.terminal import progress, row_counter
from shuffledp.deployment.files import (
    Column,
    DataError,
    Ledger,
    Randomization,
    Sidecar,
    sidecar_path,
)
from shuffledp.deployment.files.tables import is_csv
from shuffledp.deployment.study import StudyDesign, randomize_file
from shuffledp.mechanisms import LocalRandomizer

#: What the guarantee of a file rests on besides.
_ONE_ROW = "every row of the input is another user"


def _read_source(ctx: click.Context, param: click.Parameter, text: str) -> Path | None:
    """Return a file, or a folder of files; patterns have the ending of what they stand for."""
    return Path(text) if os.path.isdir(text) else _read_file_name(ctx, param, text)


def _read_file_name(ctx: click.Context, param: click.Parameter, text: str) -> Path | None:
    if ctx.resilient_parsing:  # the shell completes a line that is not whole yet
        return None
    path = Path(text)
    if param.name == "out":  # depends on what is written
        return path
    try:
        is_csv(path)
    except DataError as error:
        raise click.BadParameter(str(error), ctx, param) from None
    return path


def _read_labels(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, ...] | None, ...]:
    """Return the labels of each column; None for a column of numbers."""
    return tuple(_labels(text, ctx, param) if text else None for text in texts)


def _labels(text: str, ctx: click.Context, param: click.Parameter) -> tuple[str, ...]:
    if os.path.isfile(text):
        try:
            lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError):
            message = f"{text!r} cannot be read as a text file in UTF-8"
            raise click.BadParameter(message, ctx, param) from None
    elif "," in text:
        lines = text.split(",")
    else:
        message = f"must be a file with one label per line, or labels with commas, got {text!r}"
        raise click.BadParameter(message, ctx, param)
    return tuple(line.strip() for line in lines)


def _refused(name: str, reason: str) -> click.Option:
    """Return an option that other commands have, and that is refused here with the reason."""

    def refuse(ctx: click.Context, param: click.Parameter, text: str | None) -> None:
        if text is not None:
            raise click.UsageError(f"{name} does not go with randomize: {reason}", ctx)

    return click.Option([name], callback=refuse, expose_value=False, hidden=True, help=reason)


_VIEW = optional(VIEW)
_VIEW.default = "multiset"

_PARAMETERS = [
    click.Argument(["input"], callback=_read_source),
    click.Option(
        ["--column", "names"],
        metavar="NAME",
        multiple=True,
        help="Title of the column to randomize. For a joint mechanism once for each attribute, in "
        "its order.",
    ),
    click.Option(
        ["--mechanism"],
        callback=MECHANISM.callback,
        metavar="TEXT",
        help='What each user runs, for example "krr(k=10, epsilon0=2)".',
    ),
    optional(DELTA),
    click.Option(
        ["--plan", "plan_file"],
        metavar="FILE",
        help="Run the plan of a study, which shuffledp plan --study wrote, instead of a mechanism. "
        "Each of its shuffles has a file of its own.",
    ),
    click.Option(
        ["-o", "--out"],
        callback=_read_file_name,
        metavar="FILE",
        required=True,
        help="Where to write the reports, .csv or .parquet, or with --view sum nothing but their "
        "sum, .json; FILE.json is written beside it.",
    ),
    click.Option(
        ["--values"],
        callback=_read_labels,
        metavar="FILE|LIST",
        multiple=True,
        help="Labels that stand for the values 0, 1, ...: a file with one per line, or a list with "
        'commas. With several columns once for each, "" for a column of numbers.',
    ),
    click.Option(
        ["--seed"],
        callback=reading(whole("seed", 0, 2**128)),
        metavar="INTEGER",
        help="Make reports that can be repeated, for simulations: the guarantee does not hold.",
    ),
    click.Option(
        ["--ledger"],
        metavar="FILE",
        help="Record the round in this ledger, and refuse to exceed its budget; see shuffledp "
        "ledger.",
    ),
    _VIEW,
    CLUSTER,
    click.Option(["--force"], is_flag=True, help="Replace the files if they exist."),
    JSON,
    _refused(
        "--corrupted",
        'the sidecar states what honest users reveal; ask "shuffledp epsilon --corrupted" what is '
        "left of it if some are not",
    ),
]


@dataclass(frozen=True)
class _Request:
    """What was asked for on the command line."""

    input: Path
    names: tuple[str, ...]
    mechanism: LocalRandomizer | None
    delta: float | None
    plan_file: str | None
    out: Path
    values: tuple[tuple[str, ...] | None, ...]
    seed: int | None
    ledger: str | None
    view: View
    cluster: str | None
    force: bool
    as_json: bool

    def __post_init__(self) -> None:
        """Refuse what does not fit together before any work."""
        if self.ledger is not None and self.seed is not None:
            raise click.UsageError("--seed voids the guarantee: no --ledger records such reports")
        self._check_name()
        if self.view == "sum" and self.plan_file is None:
            for name in ("ledger", "cluster"):
                if getattr(self, name) is not None:
                    raise click.UsageError(f"--{name} is for shuffled reports, not for sums")

    def _check_name(self) -> None:
        """Refuse a name that does not fit what is written."""
        hint = "'-o' / '--out'"
        if self.view == "sum" and self.out.suffix.lower() != ".json":
            raise click.BadParameter(
                "whoever reads a file of reports sees more than their sum: that is written to a "
                f"file whose name ends in .json, got {str(self.out)!r}",
                param_hint=hint,
            )
        if self.view == "multiset":
            try:
                is_csv(self.out)
            except DataError as error:
                raise click.BadParameter(str(error), param_hint=hint) from None

    def run(self, randomization: Randomization, delta: float, client: Client | None) -> Sidecar:
        """Write the reports, or nothing but their sum."""
        if self.view == "sum":
            return randomization.publish(
                self.input,
                self.out,
                target_delta=delta,
                assumptions=(_ONE_ROW,),
                force=self.force,
            )
        return randomization.run(
            self.input,
            self.out,
            target_delta=delta,
            assumptions=(_ONE_ROW,),
            force=self.force,
            ledger=None if self.ledger is None else Ledger(self.ledger),
            client=client,
        )

    def randomization(self) -> Randomization:
        """Return the mechanism on its columns; what does not fit together is a usage error."""
        if not self.names:
            raise click.UsageError("Missing option '--column', or a --plan.")
        if self.mechanism is None:
            raise click.UsageError("Missing option '--mechanism', or a --plan.")
        labels = self.values or (None,) * len(self.names)
        if len(labels) != len(self.names):
            raise click.UsageError(
                f"--values must be given once for each of {len(self.names)} columns or not at all, "
                f"got {len(labels)}"
            )
        columns = [Column(*pair) for pair in zip(self.names, labels, strict=True)]
        try:
            return Randomization(self.mechanism, columns, seed=self.seed)
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from None


@click.command(params=_PARAMETERS, epilog=EPILOG)
def randomize(**options: Any) -> None:
    """Randomize and shuffle columns of a CSV or Parquet file.

    INPUT is a .csv file in UTF-8 with titles in its first line, or a .parquet file, of any size.
    A folder of such files, or a pattern in quotes such as "answers/*.parquet", is one table.
    Every row is one user. The reports are written in random order and nothing else of INPUT is;
    the file beside them says how private they are, and "shuffledp estimate" needs it.
    """
    request = _Request(**options)
    if request.plan_file is not None:
        _run_plan(request, request.plan_file)
        return
    randomization = request.randomization()
    if request.delta is None:
        raise click.UsageError("Missing option '--delta', or a --plan.")
    try:
        with ending_tidily(), workers(request.cluster) as client, progress():
            sidecar = request.run(randomization, request.delta, client)
    except TypeError as error:
        raise click.UsageError(str(error)) from None
    except DataError as error:
        raise click.ClickException(str(error)) from None
    for warning in sidecar.warnings:
        click.echo(fill(f"Warning: {warning}."), err=True)
    click.echo(sidecar.to_json() if request.as_json else _to_text(sidecar, request.out))


def _run_plan(request: _Request, name: str) -> None:
    """Run the plan of a study."""
    given = {
        "--column": request.names,
        "--mechanism": request.mechanism,
        "--delta": request.delta,
        "--values": request.values,
        "--cluster": request.cluster,
        "--view": None if request.view == "multiset" else request.view,
    }
    for option, value in given.items():
        if value not in (None, ()):
            raise click.UsageError(f"{option} does not go with --plan")
    try:
        design = StudyDesign.load(name)
    except OSError as error:
        raise click.UsageError(f"cannot read {name!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        with ending_tidily(), row_counter() as report:
            files = randomize_file(
                design,
                request.input,
                request.out,
                seed=request.seed,
                force=request.force,
                ledger=None if request.ledger is None else Ledger(request.ledger),
                on_rows=report,
            )
    except DataError as error:
        raise click.ClickException(str(error)) from None
    if request.seed is not None:
        warning = next(iter(files.values())).warnings[0]
        click.echo(fill(f"Warning: {warning}."), err=True)
    click.echo(plan_json(files) if request.as_json else plan_text(design, files))


def _to_text(sidecar: Sidecar, out: Path) -> str:
    guarantee, delta = sidecar.guarantee, plain(sidecar.guarantee.delta)
    epsilon = round_up(guarantee.epsilon)
    rows = (
        ("mechanism", shorten(sidecar.mechanism)),
        ("users", f"{sidecar.n:,}"),
        ("delta", delta),
        ("guarantee", f"epsilon = {epsilon}"),
        ("lower bound", f"epsilon = {round_down(guarantee.lower_bound)}"),
        ("sum" if sidecar.view == "sum" else "reports", str(out)),
        ("sidecar", str(sidecar_path(out))),
    )
    if sidecar.view == "sum":
        what = "Nothing but the sum of the reports was written. "
        meaning = what + ("Without their seed it would be " if sidecar.seeded else "It is ")
    else:
        meaning = (
            "The reports are in random order. Without their seed they would be "
            if sidecar.seeded
            else "The reports are in random order and "
        )
    neighbours = sidecar.relation["text"]
    meaning += f"{is_private(epsilon, delta, neighbours)}, if every row is another user."
    facts = [f"This assumes that {fact}." for fact in particulars(sidecar.randomizer(), "best")]
    lines = [f"{label:<13}{value}" for label, value in rows]
    return "\n".join([*lines, "", *map(fill, (meaning, *facts))])
