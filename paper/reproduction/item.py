"""One figure or table of the paper: what it shows, how it is computed, what comes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from reproduction.curve import EPSILON, EXCESS, KIND, LINE, Curve, OnDone, trace
from reproduction.settings import DELTA, Settings
from reproduction.table import Cell, Table, number
from shuffledp.basics.figures import Chart, Line
from shuffledp.basics.rounding import nearest, round_down, round_up

#: The vertical axis of all figures of curves.
EXCESS_LABEL = f"e^ε − 1 at δ = {nearest(DELTA, 1)}"


@dataclass(frozen=True)
class Result:
    """What an item was computed to.

    Attributes:
        table: all numbers.
        seconds: the processor time of each curve; empty where it is not worth telling.
    """

    table: Table
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Item(ABC):
    """One figure or table.

    Attributes:
        name: its name on the command line and of its files.
        title: its heading.
        place: where the paper has it.
        caption: what is shown.
        paper: what the paper says about it.
        differences: where this run departs from the paper, and why.
    """

    name: str
    title: str
    place: str
    caption: str
    paper: str
    differences: tuple[str, ...] = ()

    @abstractmethod
    def identity(self, settings: Settings) -> dict[str, object]:
        """Return everything the numbers depend on, as JSON can hold it."""

    def size(self, settings: Settings) -> int:
        """Return the number of points to compute, for showing progress."""
        return 1

    @abstractmethod
    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Compute all numbers."""

    def chart(self, table: Table) -> Chart | None:
        """Return the figure; None for a table."""
        return None

    @abstractmethod
    def findings(self, table: Table) -> list[str]:
        """Return what this run found, in sentences with its numbers."""

    def summary(self, table: Table) -> Table:
        """Return what the report shows of the numbers."""
        return table


@dataclass(frozen=True, kw_only=True)
class CurveFigure(Item):
    """A figure of epsilon over the number of users, on logarithmic axes.

    Attributes:
        curves: the bounds to show.
        hidden: labels of curves that are computed but would only clutter the figure.
    """

    curves: tuple[Curve, ...]
    hidden: frozenset[str] = frozenset()

    def identity(self, settings: Settings) -> dict[str, object]:
        """Return the settings and the curves."""
        return {**settings.to_dict(), "curves": [list(curve.identity) for curve in self.curves]}

    def size(self, settings: Settings) -> int:
        """Return the number of points of all curves."""
        return len(self.curves) * len(settings.users)

    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Compute every bound at every number of users."""
        return Result(*trace(self.curves, settings.users, on_done))

    def chart(self, table: Table) -> Chart:
        """Draw e^epsilon - 1 over n."""
        lines = chart_lines(table, [c for c in self.curves if c.label not in self.hidden])
        return Chart(self.title, "users n", EXCESS_LABEL, lines, x_log=True, y_log=True)

    def summary(self, table: Table) -> Table:
        """Return epsilon at the ends and in the middle."""
        return at_some(table)


def chart_lines(table: Table, curves: Sequence[Curve]) -> tuple[Line, ...]:
    """Return one line per curve from the data of a figure of curves."""
    lines = []
    for curve in curves:
        rows = _rows(table, curve.label)
        x = tuple(float(row[0]) for row in rows)
        y = tuple(row[2] for row in rows)
        lines.append(Line(curve.label, x, y, curve.kind, curve.group or curve.label))
    return tuple(lines)


def epsilons(table: Table, label: str) -> dict[int, float]:
    """Return one curve: epsilon by the horizontal axis, where it has an answer."""
    return {x: epsilon for x, epsilon, _ in _rows(table, label) if epsilon is not None}


def _rows(table: Table, label: str) -> list[tuple[int, float | None, float | None]]:
    """Return the horizontal value, epsilon and e^epsilon - 1 of the points of one curve."""
    line, x, epsilon, excess = (
        table.columns.index(name) for name in (LINE, table.columns[2], EPSILON, EXCESS)
    )
    return [
        (int(number(row[x])), _optional(row[epsilon]), _optional(row[excess]))
        for row in table.rows
        if row[line] == label
    ]


def _optional(cell: Cell) -> float | None:
    return None if cell is None else number(cell)


def at_some(table: Table) -> Table:
    """Return one row per curve: epsilon at the ends and in the middle, rounded to its safe side."""
    labels = list(dict.fromkeys(str(label) for label in table.column(LINE)))
    kinds = dict(zip(table.column(LINE), table.column(KIND), strict=True))
    xs = sorted({x for label in labels for x, *_ in _rows(table, label)})
    shown = sorted({xs[0], xs[(len(xs) - 1) // 2], xs[-1]})
    rows: list[tuple[Cell, ...]] = []
    for label in labels:
        own = epsilons(table, label)
        show = round_up if kinds[label] == "upper" else round_down
        rows.append((label, *(show(own[x]) if x in own else "no answer" for x in shown)))
    return Table(("epsilon", *(f"{table.columns[2]} = {x:,}" for x in shown)), tuple(rows))
