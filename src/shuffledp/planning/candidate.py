"""A mechanism that a plan offers, and what it was worth so far."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.collection.frequencies import largest_shift
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.support.support import SupportRandomizer
from shuffledp.planning.family_search import Found
from shuffledp.planning.prediction import Prediction
from shuffledp.planning.task import Task


@dataclass(frozen=True)
class Candidate:
    """A mechanism with all its parameters, its privacy and its accuracy.

    Attributes:
        randomizer: what each user runs.
        epsilon: the shuffled reports are (epsilon, target_delta)-DP.
        bound: what proves that: "guarantee", or the name of a published bound.
        worst_case: predicted error for the data that are worst for it.
        expected: predicted error for data of the given distribution, None without one.
        report_bytes: size of one report.
        largest_shift: how far corrupted users who choose their reports can move an estimate,
            besides; None without any.
    """

    randomizer: LocalRandomizer
    epsilon: float
    bound: str
    worst_case: Prediction
    expected: Prediction | None
    report_bytes: int
    largest_shift: float | None = None

    @classmethod
    def of(cls, found: Found, task: Task, corrupted: int = 0) -> Candidate:
        """Add the predictions to what a search has found."""
        mechanism = found.randomizer
        return cls(
            randomizer=mechanism,
            epsilon=found.epsilon,
            bound=found.bound,
            worst_case=task.worst_case(mechanism),
            expected=task.expected(mechanism),
            report_bytes=mechanism.report_dtype.itemsize,
            largest_shift=_shift(mechanism, corrupted, task.n) if corrupted else None,
        )

    @property
    def error(self) -> float:
        """Root mean square error for the given distribution, or else the worst case."""
        return (self.expected or self.worst_case).rms_error


def _shift(mechanism: LocalRandomizer, corrupted: int, n: int) -> float:
    """Return how far an estimate can be moved: any distance, where any number is a report."""
    if isinstance(mechanism, SupportRandomizer):
        return largest_shift(mechanism, corrupted, n)
    return math.inf


@dataclass(frozen=True)
class Option:
    """One mechanism of a plan.

    Attributes:
        ours: the best parameters that our guarantee allows.
        previous: the best ones that published bounds allow, None where they allow none.
        gain: how many times larger the error, or the epsilon that was asked for, is with the
            published bounds; None without ``previous``, or where ours is 0.
    """

    ours: Candidate
    previous: Candidate | None
    gain: float | None

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return self.ours.randomizer.name


@dataclass(frozen=True)
class LeftOut:
    """A mechanism that a plan does not offer, and why."""

    name: str
    reason: str
