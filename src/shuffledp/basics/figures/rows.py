"""Numbers with names and error bars, in panels below each other."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shuffledp.basics.extras import import_extra
from shuffledp.basics.figures.axes import can_show, describe, set_axis
from shuffledp.basics.figures.style import styles

_WIDTH, _ROW, _REST, _ENTRY = 7.2, 0.22, 1.0, 0.25  # inches
_MOST_ROWS = 400  # of a picture
_MOST, _LEAST = 40, 5  # rows of a panel that has more
_LABEL_WIDTH = 40  # characters


@dataclass(frozen=True)
class Mark:
    """A number of a row.

    Attributes:
        row: the name of the row.
        value: the number.
        lower: where its error bar begins; None if it has none.
        upper: where it ends.
        group: marks of one group look alike.
    """

    row: str
    value: float
    lower: float | None = None
    upper: float | None = None
    group: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn, or written as JSON."""
        for number in (self.value, self.lower, self.upper):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"a mark needs finite numbers, got {number!r} in row {self.row!r}")

    @property
    def bar(self) -> tuple[float, float]:
        """The ends of its error bar."""
        low = self.value if self.lower is None else self.lower
        return low, self.value if self.upper is None else self.upper


@dataclass(frozen=True)
class Panel:
    """Rows that share an axis."""

    title: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class RowChart:
    """Panels of named numbers.

    >>> panel = Panel("region", (Mark("north", 0.5, 0.4, 0.6), Mark("south", 0.25, 0.2, 0.3)))
    >>> print(RowChart("Shares", "share", (panel,)).to_csv(), end="")
    panel,row,group,value,lower,upper
    region,north,,0.5,0.4,0.6
    region,south,,0.25,0.2,0.3
    """

    title: str
    x_label: str
    panels: tuple[Panel, ...]
    x_log: bool = False

    def to_csv(self) -> str:
        """Return one row per number with all digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("panel", "row", "group", "value", "lower", "upper"))
        for panel in self.panels:
            for mark in panel.marks:
                numbers = (mark.value, mark.lower, mark.upper)
                writer.writerow((panel.title, mark.row, mark.group, *numbers))
        return text.getvalue()

    def to_json(self) -> str:
        """Return one JSON object with all digits."""
        return json.dumps(asdict(self), indent=2, allow_nan=False)

    def figure(self) -> Any:
        """Return a figure of matplotlib; of panels with many rows it shows the largest numbers.

        Raises:
            MissingExtraError: if matplotlib is not installed.
        """
        import_extra("matplotlib")
        from matplotlib.figure import Figure

        most = min(_MOST, max(_LEAST, _MOST_ROWS // max(len(self.panels), 1)))
        rows = [_rows(panel, most) for panel in self.panels]
        heights = [_ROW * len(one) + _REST for one in rows]
        groups = list(dict.fromkeys(m.group for panel in self.panels for m in panel.marks))
        entries = _ENTRY * -(-len(groups) // 2) if len(groups) > 1 else 0.0
        figure = Figure(figsize=(_WIDTH, sum(heights) + 0.4 + entries), layout="constrained")
        figure.suptitle(self.title, x=0.01, ha="left", parse_math=False)
        places = figure.subplots(len(rows), squeeze=False, height_ratios=heights)
        for axes, panel, shown in zip(places[:, 0], self.panels, rows, strict=True):
            self._draw(axes, panel, shown, groups)
        if len(groups) > 1:
            marks = places[0, 0].get_legend_handles_labels()
            legend = figure.legend(*marks, loc="outside lower left", ncols=2)
            for text in legend.get_texts():
                text.set_parse_math(False)
        return figure

    def _draw(self, axes: Any, panel: Panel, rows: Sequence[str], groups: Sequence[str]) -> None:
        place = {row: i for i, row in enumerate(rows)}
        look = dict(zip(groups, styles(len(groups)), strict=True))
        seen: list[float] = []
        for number, group in enumerate(groups):
            marks = [
                mark
                for mark in panel.marks
                if mark.group == group and mark.row in place and can_show(mark.value, self.x_log)
            ]
            shift = 0.6 * ((number + 0.5) / len(groups) - 0.5)
            style = look[group]
            axes.errorbar(
                [mark.value for mark in marks],
                [place[mark.row] + shift for mark in marks],
                xerr=[
                    [mark.value - mark.bar[0] for mark in marks],
                    [mark.bar[1] - mark.value for mark in marks],
                ],
                fmt=style.marker,
                color=style.colour,
                markersize=4,
                label=group,
            )
            seen += [end for mark in marks for end in (mark.value, *mark.bar)]
        set_axis(axes.xaxis, [v for v in seen if can_show(v, self.x_log)], log=self.x_log)
        axes.set_yticks(list(place.values()), [_short(row) for row in place])
        for text in axes.get_yticklabels():
            text.set_parse_math(False)
        axes.set_ylim(max(len(place), 1) - 0.5, -0.5)
        left = len(dict.fromkeys(mark.row for mark in panel.marks)) - len(place)
        more = f"; {left:,} smaller ones are not shown" if left else ""
        describe(axes, f"{panel.title}{more}", self.x_label, "")


def _rows(panel: Panel, most: int) -> list[str]:
    """Return the rows that are shown, in their order: of many those with the largest numbers."""
    largest: dict[str, float] = {}
    for mark in panel.marks:
        largest[mark.row] = max(mark.value, largest.get(mark.row, -math.inf))
    kept = set(sorted(largest, key=lambda row: -largest[row])[:most])
    return [row for row in largest if row in kept]


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_WIDTH else label[: _LABEL_WIDTH - 1] + "…"
