"""Who says how private the reports are: our guarantee, or the best of the published bounds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.calibration.level import Trial
from shuffledp.accounting.calibration.target import Target
from shuffledp.accounting.setting import DEFAULT_BOUND, Bound, Setting
from shuffledp.basics.errors import NoAnswerError, wide_is_enough
from shuffledp.comparison.published import BASELINES
from shuffledp.mechanisms import KRR, LocalRandomizer

#: Not valid as published; what the baselines hold of them was repaired here.
_REPAIRED = ("stronger_clone", "restored_generic")

#: All other sound upper bounds; the later ones are usually better.
_AS_PUBLISHED = tuple(
    name
    for name, bound in reversed(list(BASELINES.items()))
    if bound.kind == "upper" and bound.sound and name not in _REPAIRED
)


@dataclass(frozen=True)
class Analysis(ABC):
    """Upper bounds on the privacy loss of n users at one delta.

    Attributes:
        setting: the users and all else, but for the mechanism.
        delta: the delta to be met.
    """

    setting: Setting
    delta: float

    @abstractmethod
    def attempt(self, randomizer: LocalRandomizer, epsilon: float) -> Trial[str]:
        """Try to prove (epsilon, delta)-DP; the proof is the name of the bound.

        Only a proof needs a certificate; what an estimate shows to be hopeless is not tried. It is
        an estimate of our bound, and no published one is below that.
        """

    def excess(self, randomizer: LocalRandomizer, epsilon: float) -> float:
        """Return by which part of itself the certified epsilon is above this one, if it matters."""
        return 0.0

    @abstractmethod
    def least_epsilon(self, randomizer: LocalRandomizer) -> tuple[float, str] | None:
        """Return the smallest epsilon that is proved, and by which bound."""


class Guarantee(Analysis):
    """The bound of :class:`shuffledp.ShuffleAccountant`.

    >>> from shuffledp import KRR
    >>> Guarantee(Setting(n=10_000), 1e-6).attempt(KRR(k=10, epsilon0=2.0), 0.08).proof
    'guarantee'
    """

    bound: ClassVar[Bound] = DEFAULT_BOUND

    def attempt(self, randomizer: LocalRandomizer, epsilon: float) -> Trial[str]:
        """Compare the certified delta."""
        gap = self._target(epsilon).gap(randomizer, self._n)
        return Trial("guarantee" if gap <= 0 else None, gap)

    def excess(self, randomizer: LocalRandomizer, epsilon: float) -> float:
        """Compare the certified epsilon."""
        return self._target(epsilon).excess(randomizer, self._n)

    @property
    def _n(self) -> int:
        return self.setting.crowd.n

    def _target(self, epsilon: float) -> Target:
        return Target(epsilon, self.delta, replace(self.setting, bound=self.bound))

    def least_epsilon(self, randomizer: LocalRandomizer) -> tuple[float, str] | None:
        """Return the certified epsilon."""
        with wide_is_enough():
            epsilon = self._target(0.0).asked(randomizer, self._n).get_epsilon(self.delta)
        return (epsilon, "guarantee") if epsilon < math.inf else None


class BlanketOnly(Guarantee):
    """The blanket bound alone: certified, too, and quick, but larger. Searches explore with it.

    >>> from shuffledp import KRR
    >>> BlanketOnly(Setting(n=10_000), 1e-6).attempt(KRR(k=10, epsilon0=2.0), 0.09).proof
    'guarantee'
    """

    bound: ClassVar[Bound] = "blanket"


class BestPublished(Analysis):
    """The best upper bound of those in :mod:`shuffledp.comparison.published` that is valid there.

    All of them are about the multiset, and so hold for the sum. They are asked about the users who
    are honest; none covers reports that are learned adaptively, or several rounds.

    The stronger clone counts for k-ary randomized response, where its reduction stands; elsewhere
    it was withdrawn, and its repair is part of this package, as is the restored generic bound.

    >>> from shuffledp import KRR, OUE
    >>> published = BestPublished(Setting(n=10_000), 1e-6)
    >>> published.attempt(KRR(k=10, epsilon0=2.0), 0.08).proof
    'stronger_clone'
    >>> published.attempt(OUE(epsilon0=2.0), 0.1).proof
    'blanket_bennett'
    """

    def attempt(self, randomizer: LocalRandomizer, epsilon: float) -> Trial[str]:
        """Ask the bounds until one is small enough."""
        if not self._is_covered:
            return Trial.of(None)
        honest = self.setting.crowd.honest
        hopeless = ShuffleAccountant(randomizer, honest).hopeless_gap(epsilon, self.delta)
        if hopeless > 0:
            return Trial(None, hopeless)
        least = math.inf
        for name in _names(randomizer):
            try:
                delta = BASELINES[name](randomizer, honest).get_delta(epsilon)
            except NoAnswerError:
                continue
            gap = math.log(delta / self.delta) if min(delta, self.delta) > 0 else math.inf
            if delta <= self.delta:
                return Trial(name, min(gap, 0.0))
            least = min(least, gap)
        return Trial(None, least)

    def least_epsilon(self, randomizer: LocalRandomizer) -> tuple[float, str] | None:
        """Return the smallest answer."""
        if not self._is_covered:
            return None
        answers, honest = [], self.setting.crowd.honest
        for name in _names(randomizer):
            try:
                answers.append((BASELINES[name](randomizer, honest).get_epsilon(self.delta), name))
            except NoAnswerError:
                continue
        return min(answers, default=None)

    @property
    def _is_covered(self) -> bool:
        return not self.setting.crowd.corrupted_adaptively and self.setting.rounds == 1


def _names(randomizer: LocalRandomizer) -> tuple[str, ...]:
    """Return the bounds to ask, the usually best ones first."""
    return ("stronger_clone", *_AS_PUBLISHED) if isinstance(randomizer, KRR) else _AS_PUBLISHED
