"""Curves of epsilon: which bound of which mechanism, and how their points are asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from reproduction.background import SecondInputBackground
from reproduction.settings import DELTA
from reproduction.table import Cell, Table
from shuffledp.accounting import Setting
from shuffledp.comparison import Question, sweep
from shuffledp.mechanisms import LocalRandomizer, parse

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
        bound: a name of :data:`shuffledp.comparison.BOUNDS`, or ``SECOND_INPUT``.
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


def question(bounds: Sequence[str], mechanism: str, n: int) -> Question:
    """Return what bounds of a mechanism are asked: epsilon at the delta of the paper.

    >>> question(["blanket"], "krr(k=10, epsilon0=2)", 10_000).target
    1e-06
    """
    asked = tuple(SecondInputBackground if name == SECOND_INPUT else name for name in bounds)
    return Question(Setting(mechanism=_parse(mechanism), n=n), "epsilon", DELTA, asked)


@lru_cache(maxsize=64)
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
    questions = {
        curve: {n: question([curve.bound], curve.mechanism, n) for n in users} for curve in curves
    }
    return trace_questions("n", questions, on_done)


def trace_questions(
    axis: str,
    questions: Mapping[Curve, Mapping[int, Question]],
    on_done: OnDone | None = None,
) -> tuple[Table, dict[str, float]]:
    """Compute curves over any axis, given the question behind each of its values."""
    series = {curve: list(own.values()) for curve, own in questions.items()}
    answers = sweep(series, on_done=on_done)
    rows: list[tuple[Cell, ...]] = []
    seconds: dict[str, float] = {}
    for curve, own in questions.items():
        seconds[curve.label] = sum(value.seconds for (value,) in answers[curve])
        for x, (value,) in zip(own, answers[curve], strict=True):
            answer = (value.number, excess(value.number), value.reason)
            rows.append((curve.label, curve.kind, x, *answer))
    return Table((LINE, KIND, axis, EPSILON, EXCESS, NOTE), tuple(rows)), seconds


def excess(epsilon: float | None) -> float | None:
    """Return e^epsilon - 1, what the paper's figures show."""
    return None if epsilon is None else math.expm1(epsilon)
