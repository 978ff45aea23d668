"""``shuffledp compare``: what every published analysis says about one mechanism."""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Literal

import click

from shuffledp import __version__
from shuffledp.accounting.assumptions import ASSUMPTIONS
from shuffledp.cli.answer import shorten
from shuffledp.cli.facts import EPILOG
from shuffledp.cli.parameters import DELTA, JSON, MECHANISM, RTOL, USERS
from shuffledp.cli.progress import progress
from shuffledp.figures.bounds import BOUNDS, OURS, Question, answer
from shuffledp.randomizers import LocalRandomizer
from shuffledp.rounding import plain, round_down, round_up

_WIDTH = 88
_NO_VALUE = "-"


@dataclass(frozen=True)
class Row:
    """What one analysis says.

    Attributes:
        bound: its name for programs.
        title: its name for people.
        kind: whether it bounds the privacy loss from above or from below.
        epsilon: its answer, None where it has none.
        ratio_to_ours: its answer divided by our guarantee; None where either is missing or 0.
        ratio_to_lower_bound: its answer divided by our lower bound, likewise.
        reason: why there is no answer, else None.
    """

    bound: str
    title: str
    kind: Literal["upper", "lower"]
    epsilon: float | None
    ratio_to_ours: float | None
    ratio_to_lower_bound: float | None
    reason: str | None


@dataclass(frozen=True)
class Comparison:
    """All analyses of one mechanism, ours first."""

    randomizer: LocalRandomizer
    n: int
    target_delta: float
    rtol: float
    rows: tuple[Row, ...]

    def to_text(self) -> str:
        """Return the question, a table of the answers, and why the others have none."""
        head = (
            ("mechanism", shorten(str(self.randomizer))),
            ("users", f"{self.n:,}"),
            ("delta", plain(self.target_delta)),
        )
        lines = [label.ljust(11) + value for label, value in head]
        cells = [("bound on epsilon", "epsilon", "to ours", "to lower bound")]
        cells += [_cells(row) for row in self.rows if row.epsilon is not None]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for title, *numbers in cells:
            columns = (text.rjust(w) for text, w in zip(numbers, widths[1:], strict=True))
            lines.append("  ".join((title.ljust(widths[0]), *columns)))
        lines.insert(len(head), "")
        missing = [row for row in self.rows if row.epsilon is None]
        if missing:
            lines += ["", "No answer:"]
        for row in missing:
            note = f"{row.title}: {row.reason}"
            lines.append(textwrap.fill(note, _WIDTH, initial_indent="  ", subsequent_indent="    "))
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return one JSON object with all digits."""
        pure = math.isfinite(self.randomizer.epsilon0)
        document = {
            "command": "compare",
            "mechanism": str(self.randomizer),
            "ldp_level": self.randomizer.epsilon0 if pure else None,
            "ldp_level_reason": None if pure else "the mechanism is not pure LDP",
            "n": self.n,
            "target_delta": self.target_delta,
            "quantity": "epsilon",
            "rtol": self.rtol,
            "bounds": [asdict(row) for row in self.rows],
            "assumptions": ASSUMPTIONS,
            "version": __version__,
        }
        return json.dumps(document, indent=2, allow_nan=False)

    def to_csv(self) -> str:
        """Return one line per analysis with all digits; what is missing is empty."""
        text = io.StringIO()
        question = {
            "mechanism": str(self.randomizer),
            "n": self.n,
            "target_delta": self.target_delta,
        }
        rows = [question | asdict(row) for row in self.rows]
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().rstrip("\n")


_CSV = click.Option(
    ["--csv", "as_csv"],
    is_flag=True,
    help="Print one line per bound with all digits, values separated by commas.",
)


@click.command(params=[MECHANISM, USERS, DELTA, RTOL, JSON, _CSV], epilog=EPILOG)
def compare(
    mechanism: LocalRandomizer, n: int, delta: float, rtol: float, as_json: bool, as_csv: bool
) -> None:
    """Compare our bounds on epsilon with all published ones.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them. Each bound is shown with its ratio to our guarantee and to our
    lower bound; analyses that do not apply say why.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    with progress():
        comparison = compare_bounds(mechanism, n, delta, rtol)
    if as_json:
        click.echo(comparison.to_json())
    else:
        click.echo(comparison.to_csv() if as_csv else comparison.to_text())


def compare_bounds(
    randomizer: LocalRandomizer, n: int, delta: float, rtol: float = 1e-4
) -> Comparison:
    """Ask all analyses for epsilon at ``delta``.

    >>> from shuffledp import KRR
    >>> rows = compare_bounds(KRR(k=10, epsilon0=2.0), 10_000, 1e-6).rows
    >>> [row.bound for row in rows[:3]]
    ['guarantee', 'lower_bound', 'erlingsson']
    >>> rows[0].ratio_to_ours
    1.0
    """
    question = Question(randomizer, n, "epsilon", delta, tuple(BOUNDS), rtol)
    values = dict(zip(BOUNDS, answer(question), strict=True))
    ours, lower = values["guarantee"].number, values["lower_bound"].number
    rows = tuple(
        Row(
            name,
            f"shuffledp, {bound.title}" if name in OURS else bound.title,
            bound.kind,
            values[name].number,
            _ratio(values[name].number, ours),
            _ratio(values[name].number, lower),
            values[name].reason,
        )
        for name, bound in BOUNDS.items()
    )
    return Comparison(randomizer, n, delta, rtol, rows)


def _ratio(epsilon: float | None, reference: float | None) -> float | None:
    if epsilon is None or not reference:
        return None
    ratio = epsilon / reference
    return ratio if ratio < math.inf else None


def _cells(row: Row) -> tuple[str, str, str, str]:
    """Return the shown texts: the answer rounded to its safe side, the ratios to the nearest."""
    value = row.epsilon if row.epsilon is not None else math.nan
    shown = round_up(value) if row.kind == "upper" else round_down(value)
    ratios = (row.ratio_to_ours, row.ratio_to_lower_bound)
    to_ours, to_lower = (_NO_VALUE if r is None else f"{r:.4g}" for r in ratios)
    title = row.title if row.kind == "upper" or "lower" in row.title else f"{row.title} (lower)"
    return title, shown, to_ours, to_lower
