"""The data of a figure, apart from how it is drawn."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True)
class Line:
    """One curve of a chart.

    Attributes:
        label: its text in the legend.
        x: where it was computed, finite and increasing.
        y: its values, finite; None where there is no answer.
        kind: whether it bounds the truth from above or from below.
        group: lines of one group belong together and share a colour.

    Raises:
        ValueError: if the coordinates do not fit together.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    kind: Literal["upper", "lower"]
    group: str

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn, or written as JSON."""
        if len(self.x) != len(self.y):
            raise ValueError(
                f"x and y must be equally long, got {len(self.x)} and {len(self.y)} values "
                f"in line {self.label!r}"
            )
        if self.kind not in ("upper", "lower"):
            raise ValueError(f"kind must be 'upper' or 'lower', got {self.kind!r}")
        for name, values in (("x", self.x), ("y", self.y)):
            for value in values:
                if value is not None and not math.isfinite(value):
                    raise ValueError(
                        f"{name} must hold finite numbers, got {value!r} in line {self.label!r}"
                    )


@dataclass(frozen=True)
class Chart:
    """Several curves over the same axes.

    >>> line = Line("krr", (1e3, 1e4), (0.5, None), kind="upper", group="krr")
    >>> chart = Chart("Epsilon", "users", "epsilon", (line,), x_log=True)
    >>> print(chart.to_csv(), end="")
    label,group,kind,x,y
    krr,krr,upper,1000.0,0.5
    krr,krr,upper,10000.0,
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_log: bool = False
    y_log: bool = False

    def to_csv(self) -> str:
        """Return one row per point with all digits; where there is no answer, y is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("label", "group", "kind", "x", "y"))
        for line in self.lines:
            for x, y in zip(line.x, line.y, strict=True):
                writer.writerow((line.label, line.group, line.kind, x, y))
        return text.getvalue()

    def to_json(self) -> str:
        """Return one JSON object with all digits; where there is no answer, y is null."""
        return json.dumps(asdict(self), indent=2, allow_nan=False)
