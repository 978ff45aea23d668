"""A mechanism that a plan offers, and what it was worth so far."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.planning.prediction import Prediction
from shuffledp.planning.search import Found
from shuffledp.planning.task import Task
from shuffledp.randomizers import LocalRandomizer


@dataclass(frozen=True)
class Setting:
    """A mechanism with all its parameters, its privacy and its accuracy.

    Attributes:
        randomizer: what each user runs.
        epsilon: the shuffled reports are (epsilon, target_delta)-DP.
        bound: what proves that: "guarantee", or the name of a published bound.
        worst_case: predicted error for the data that are worst for it.
        expected: predicted error for data of the given distribution, None without one.
        report_bytes: size of one report.
    """

    randomizer: LocalRandomizer
    epsilon: float
    bound: str
    worst_case: Prediction
    expected: Prediction | None
    report_bytes: int

    @classmethod
    def of(cls, found: Found, task: Task) -> Setting:
        """Add the predictions to what a search has found."""
        mechanism = found.randomizer
        return cls(
            randomizer=mechanism,
            epsilon=found.epsilon,
            bound=found.bound,
            worst_case=task.worst_case(mechanism),
            expected=task.expected(mechanism),
            report_bytes=mechanism.report_dtype.itemsize,
        )

    @property
    def error(self) -> float:
        """Root mean square error for the given distribution, or else the worst case."""
        return (self.expected or self.worst_case).rms_error


@dataclass(frozen=True)
class Option:
    """One mechanism of a plan.

    Attributes:
        ours: the best parameters that our guarantee allows.
        previous: the best ones that published bounds allow, None where they allow none.
        gain: how many times larger the error, or the epsilon that was asked for, is with the
            published bounds; None without ``previous``, or where ours is 0.
    """

    ours: Setting
    previous: Setting | None
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
