"""Bounds of mechanisms along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shuffledp.figures.axis import Axis
from shuffledp.figures.bounds import BOUNDS, OURS, Question, Value, answer
from shuffledp.figures.chart import Chart, Line
from shuffledp.figures.points import compute
from shuffledp.randomizers import LocalRandomizer


@dataclass(frozen=True)
class Curve:
    """What one bound says about one mechanism along an axis.

    Attributes:
        mechanism: its text.
        bound: the name of the bound.
        x: where it was asked.
        values: what it said.
    """

    mechanism: str
    bound: str
    x: tuple[float, ...]
    values: tuple[Value, ...]

    def to_line(self, *, alone: bool) -> Line:
        """Return the line of a chart, which names the mechanism unless it is ``alone`` there.

        Our two bounds make one group, every other bound another one.
        """
        title = BOUNDS[self.bound].title
        return Line(
            label=title if alone else f"{self.mechanism}: {title}",
            x=self.x,
            y=tuple(value.number for value in self.values),
            kind=BOUNDS[self.bound].kind,
            group=self.mechanism if self.bound in OURS else f"{self.mechanism}: {self.bound}",
        )


def curves(
    mechanisms: Mapping[str, Callable[[float], LocalRandomizer]],
    axis: Axis,
    x: tuple[float, ...],
    *,
    n: int | None = None,
    delta: float | None = None,
    bounds: Sequence[str] = OURS,
    rtol: float = 1e-4,
    on_done: Callable[[int, int], None] | None = None,
) -> list[Curve]:
    """Ask every bound about every mechanism at every point.

    Args:
        mechanisms: by text, what each user runs at a point; it only varies along epsilon0.
        axis: what varies.
        x: its points.
        n: number of users, unless they vary.
        delta: the delta at which epsilon is asked for, unless it varies or is asked for.
        bounds: names of :data:`shuffledp.figures.bounds.BOUNDS`.
        rtol: relative width of the enclosures.
        on_done: as for :func:`shuffledp.figures.points.compute`.

    >>> from shuffledp import KRR
    >>> from shuffledp.figures.axis import AXES
    >>> krr = {"krr": lambda epsilon0: KRR(k=10, epsilon0=epsilon0)}
    >>> guarantee, _ = curves(krr, AXES["epsilon0"], (1.0, 2.0), n=10_000, delta=1e-6)
    >>> [round(value.number, 4) for value in guarantee.values]
    [0.0233, 0.0798]
    """
    questions = []
    for make in mechanisms.values():
        for point in x:
            users, target = _at(axis, point, n, delta)
            questions.append(
                Question(make(point), users, axis.quantity, target, tuple(bounds), rtol)
            )
    answers = compute(answer, questions, on_done=on_done)
    found = []
    for i, text in enumerate(mechanisms):
        rows = answers[i * len(x) : (i + 1) * len(x)]
        found += [
            Curve(text, bound, x, tuple(row[j] for row in rows)) for j, bound in enumerate(bounds)
        ]
    return found


def to_chart(found: Sequence[Curve], axis: Axis, title: str) -> Chart:
    """Return the chart of some curves."""
    alone = len({curve.mechanism for curve in found}) == 1
    return Chart(
        title=title,
        x_label=axis.label,
        y_label=axis.quantity,
        lines=tuple(curve.to_line(alone=alone) for curve in found),
        x_log=axis.log,
        y_log=True,
    )


def _at(axis: Axis, point: float, n: int | None, delta: float | None) -> tuple[int, float]:
    """Return the number of users and the target at a point of an axis."""
    users = int(point) if axis.name == "users" else n
    target = point if axis.name in ("delta", "epsilon") else delta
    if users is None or target is None:
        raise ValueError(f"a curve against {axis.name} needs {' and '.join(axis.fixed)}")
    return users, target
