"""What one bound says about one mechanism along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.figures import Line
from shuffledp.comparison.bounds import BOUNDS, OURS
from shuffledp.comparison.question import Value
from shuffledp.mechanisms import Relation


@dataclass(frozen=True)
class Curve:
    """One bound of one mechanism at the points of an axis.

    Attributes:
        mechanism: its text.
        bound: a name of :data:`shuffledp.comparison.BOUNDS`.
        label: what tells the curve from others beside it.
        points: where the bound was asked.
        values: what it said there.
        relation: how the datasets differ that it is about.
    """

    mechanism: str
    bound: str
    label: str
    points: tuple[float, ...]
    values: tuple[Value, ...]
    relation: Relation

    @property
    def kind(self) -> Literal["upper", "lower"]:
        """On which side of the truth the curve is."""
        return BOUNDS[self.bound].kind

    @property
    def x(self) -> NDArray[np.float64] | NDArray[np.int64]:
        """The points; numbers of users are integers."""
        return np.array(self.points)

    @property
    def y(self) -> NDArray[np.float64]:
        """The values, upper bounds rounded up and lower bounds down; NaN without an answer."""
        return np.array([value.number for value in self.values], dtype=np.float64)

    @property
    def reasons(self) -> tuple[str | None, ...]:
        """Why there is no answer at a point; None where there is one."""
        return tuple(value.reason for value in self.values)

    @property
    def rtol_reached(self) -> NDArray[np.bool_]:
        """Whether the values are as precise as asked; they are valid in any case."""
        return np.array([value.rtol_reached for value in self.values])

    def to_dict(self) -> dict[str, object]:
        """Return the fields of a curve in JSON."""
        return {
            "mechanism": self.mechanism,
            "relation": self.relation.to_dict(),
            "bound": self.bound,
            "label": self.label,
            "kind": self.kind,
            "sound": BOUNDS[self.bound].sound,
            "x": self.points,
            "y": tuple(value.number for value in self.values),
            "reasons": self.reasons,
            "rtol_reached": tuple(value.rtol_reached for value in self.values),
        }

    def to_line(self) -> Line:
        """Return the line of a chart; our two bounds make one group, every other bound one."""
        return Line(
            label=self.label,
            x=self.points,
            y=tuple(value.number for value in self.values),
            kind=self.kind,
            group=self.mechanism if self.bound in OURS else f"{self.mechanism}: {self.bound}",
        )
