"""Curves of epsilon: which bound of which mechanism, and how their points are computed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from shuffledp.figures import compute
from shuffledp.figures.bounds import Question, answer
from shuffledp.figures.bounds import Value as Bounded
from shuffledp.randomizers import LocalRandomizer, parse
from shuffledp.reproduction.background import SecondInputBackground
from shuffledp.reproduction.settings import DELTA
from shuffledp.reproduction.table import Cell, Table

#: Called with the numbers of finished and of all points.
OnDone = Callable[[int, int], None]

#: The columns of the data of a figure of curves, after that of the horizontal axis.
LINE, KIND, EPSILON, EXCESS, NOTE = "line", "kind", "epsilon", "e^epsilon - 1", "note"

#: The lower bound of the paper's datasets, beside the names of all other bounds.
SECOND_INPUT = "second_input"


@dataclass(frozen=True)
class Curve:
    """One bound of one mechanism.

    Attributes:
        label: its name in the legend and in the data.
        bound: a name of :data:`shuffledp.figures.bounds.BOUNDS`, or ``SECOND_INPUT``.
        mechanism: the text of the mechanism.
        kind: whether it bounds the truth from above or from below.
        group: curves of one group share a colour.
    """

    label: str
    bound: str
    mechanism: str
    kind: Literal["upper", "lower"] = "upper"
    group: str = ""

    @property
    def identity(self) -> tuple[str, str, str]:
        """What the numbers depend on."""
        return (self.label, self.bound, self.mechanism)


@dataclass(frozen=True)
class Point:
    """Where to evaluate a bound: picklable, so that it can travel to another process."""

    bound: str
    mechanism: str
    n: int
    delta: float


@dataclass(frozen=True)
class Value:
    """The answer at a point.

    Attributes:
        epsilon: the bound on its safe side; None where it has no answer.
        note: why there is none, else None.
        seconds: processor time it took.
    """

    epsilon: float | None
    note: str | None
    seconds: float


def evaluate(point: Point) -> Value:
    """Evaluate one bound.

    >>> value = evaluate(Point("guarantee", "krr(k=10, epsilon0=2)", 10_000, 1e-6))
    >>> round(value.epsilon, 4)
    0.0798
    """
    randomizer = _parse(point.mechanism)
    start = time.process_time()
    if point.bound == SECOND_INPUT:
        found = Bounded(SecondInputBackground(randomizer, point.n).get_epsilon(point.delta))
    else:
        question = Question(randomizer, point.n, "epsilon", point.delta, (point.bound,))
        (found,) = answer(question)
    return Value(found.number, found.reason, time.process_time() - start)


@lru_cache(maxsize=16)
def _parse(text: str) -> LocalRandomizer:
    return parse(text)


def trace(
    curves: Sequence[Curve],
    users: Sequence[int],
    on_done: OnDone | None = None,
) -> tuple[Table, dict[str, float]]:
    """Compute curves over the number of users.

    Returns:
        a table with one row per point, and the processor seconds each curve took.
    """
    points = {
        curve: {n: Point(curve.bound, curve.mechanism, n, DELTA) for n in users} for curve in curves
    }
    return trace_points("n", points, on_done)


def trace_points(
    axis: str, points: Mapping[Curve, Mapping[int, Point]], on_done: OnDone | None = None
) -> tuple[Table, dict[str, float]]:
    """Compute curves over any axis, given the point behind each of its values."""
    wanted = [point for own in points.values() for point in own.values()]
    values = iter(compute(evaluate, wanted, on_done=on_done))
    rows: list[tuple[Cell, ...]] = []
    seconds: dict[str, float] = {}
    for curve, own in points.items():
        seconds[curve.label] = 0.0
        # The curve first: it ends before it takes a value of the next one.
        for x, value in zip(own, values, strict=False):
            seconds[curve.label] += value.seconds
            answer = (value.epsilon, excess(value.epsilon), value.note)
            rows.append((curve.label, curve.kind, x, *answer))
    return Table((LINE, KIND, axis, EPSILON, EXCESS, NOTE), tuple(rows)), seconds


def excess(epsilon: float | None) -> float | None:
    """Return e^epsilon - 1, what the paper's figures show."""
    return None if epsilon is None else math.expm1(epsilon)
