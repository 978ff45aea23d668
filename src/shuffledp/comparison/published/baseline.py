"""What all published analyses have in common: two questions, a side, a regime."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from shuffledp.accounting.crowd import Crowd
from shuffledp.basics.arrays import UNIT
from shuffledp.basics.errors import (
    MAX_EPSILON0,
    MIN_EPSILON0,
    NoAnswerError,
    check_delta,
    check_epsilon,
    check_users,
)
from shuffledp.basics.rounding import plain
from shuffledp.mechanisms import LocalRandomizer, Relation


class Baseline(ABC):
    """One published analysis of n users who run a local randomizer behind a shuffler.

    Upper bounds are rounded up, lower bounds down. Outside the regime of its theorem a baseline
    raises :class:`shuffledp.NoAnswerError` and says why; it never falls back on epsilon0,
    and delta has no floor.

    Args:
        randomizer: what each user runs.
        n: number of users, 1 to 2**53.
    """

    #: Authors and year, and which of their bounds it is.
    title: ClassVar[str]

    #: On which side of the true privacy loss the answers are, or are claimed to be.
    kind: ClassVar[Literal["upper", "lower"]] = "upper"

    #: Whether they are there: False where datasets are known that refute the claim.
    sound: ClassVar[bool] = True

    #: Whether it knows the level alone, that of all pairs of inputs, whatever neighbours change.
    knows_level_only: ClassVar[bool] = True

    @classmethod
    def relation(cls, randomizer: LocalRandomizer) -> Relation:
        """Return how the datasets differ that its answers are about."""
        return Relation() if cls.knows_level_only else randomizer.relation

    def __init__(self, randomizer: LocalRandomizer, n: int) -> None:
        if not isinstance(randomizer, LocalRandomizer):
            raise TypeError(
                "randomizer must be a local randomizer such as KRR(k=10, epsilon0=2.0), got "
                f"{randomizer!r}"
            )
        self.randomizer = randomizer
        self.n = check_users(n)

    def __repr__(self) -> str:
        """Return the constructor call."""
        return f"{type(self).__name__}({self.randomizer!r}, n={self.n})"

    def get_epsilon(self, target_delta: float) -> float:
        """Return the epsilon this analysis gives at ``target_delta``.

        Raises:
            NoAnswerError: outside the regime of the analysis.
        """
        return self._epsilon(check_delta(target_delta))

    def get_delta(self, target_epsilon: float) -> float:
        """Return the delta this analysis gives at ``target_epsilon``.

        Raises:
            NoAnswerError: outside the regime of the analysis.
        """
        return self._delta(check_epsilon(target_epsilon))

    @abstractmethod
    def _epsilon(self, delta: float) -> float:
        """Answer for a checked delta."""

    @abstractmethod
    def _delta(self, epsilon: float) -> float:
        """Answer for a checked epsilon."""

    def _level(self) -> float:
        """Return the LDP level of the randomizer over all inputs, rounded up where it is computed.

        The level of neighbouring inputs is not enough, because the other users may hold anything. A
        level below 1e-12 is replaced by 1e-12, which holds as well.
        """
        level = self.randomizer.domain_epsilon0
        if level == math.inf:
            raise NoAnswerError("it needs a pure LDP level, and this mechanism has none")
        if "epsilon0" not in {f.name for f in dataclasses.fields(self.randomizer)}:  # type: ignore[arg-type]
            level = level * (1 + 16 * UNIT) + 64 * UNIT
        if level > MAX_EPSILON0:
            raise NoAnswerError(
                f"it needs an LDP level of at most {MAX_EPSILON0:g}, and this one is {plain(level)}"
            )
        return max(level, MIN_EPSILON0)


def users_covered(analysis: type[Baseline], crowd: Crowd) -> int:
    """Return for how many honest users an analysis answers, given a crowd.

    Users who are corrupted in advance add nothing that depends on the honest reports, so that any
    bound for the n - f others is one for the crowd. If more reports are learned after the shuffled
    ones are seen, that argument fails, and published upper bounds say nothing; lower bounds hold
    for one user less with each of these reports, because an analyst may as well choose in advance.

    >>> from shuffledp.comparison.published import BASELINES
    >>> users_covered(BASELINES["blanket_bennett"], Crowd(1000, corrupted=50))
    950
    >>> users_covered(BASELINES["ghazi_uniform"], Crowd(1000, corrupted=50, corrupted_adaptively=5))
    945

    Raises:
        NoAnswerError: if the analysis does not cover the crowd.
    """
    if not crowd.corrupted_adaptively:
        return crowd.honest
    if analysis.kind == "upper":
        raise NoAnswerError("it does not cover reports that are learned adaptively")
    return crowd.honest - crowd.corrupted_adaptively
