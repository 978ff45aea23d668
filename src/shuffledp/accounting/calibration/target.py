"""A privacy target, and what it means that a mechanism keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.report import Report
from shuffledp.accounting.rounds.rounds import Rounds
from shuffledp.accounting.rounds.rounds_report import RoundsReport
from shuffledp.accounting.setting import ROUNDS_RTOL, Setting
from shuffledp.basics.errors import wide_is_enough
from shuffledp.mechanisms import LocalRandomizer

_LITTLE = 2.0**-30  # relative: only says that delta is missed, not by how much
_ROUGH = 0.03  # relative width of epsilon, of rounds that may be far from the target
_FAR = 0.03  # of epsilon: more than rough laws are wrong


@dataclass(frozen=True)
class Target:
    """An epsilon and a delta that the reports of n users shall have in a setting.

    A mechanism keeps it if an accountant of the setting, whoever makes it, gives both answers:
    ``get_delta(epsilon) <= delta`` and ``get_epsilon(delta) <= epsilon``. Either is a proof by
    itself. As both are bounds of some width, both are asked for.

    >>> from shuffledp import KRR
    >>> target = Target(epsilon=0.08, delta=1e-6)
    >>> target.is_met(KRR(k=10, epsilon0=2.0), 10_000), target.excess(KRR(10, 2.0), 10_000)
    (True, 0.0)
    """

    epsilon: float
    delta: float
    setting: Setting = field(default_factory=Setting)

    def is_met(self, randomizer: LocalRandomizer, n: int) -> bool:
        """Whether ``get_delta(epsilon) <= delta``; not tried where an estimate is far above.

        Of several rounds it is what a first look shows: a yes is certified.
        """
        return self.gap(randomizer, n) <= 0

    def gap(self, randomizer: LocalRandomizer, n: int) -> float:
        """Return how far log delta is above its target, about; at most 0 exactly if ``is_met``."""
        accountant = self._accountant(randomizer, n)
        with wide_is_enough():
            gap = accountant.gap(self.epsilon, self.delta)
            # Too much in one round is too much in all of them: each user takes part in one.
            if self.setting.rounds == 1 or self.delta == 1 or gap > 0:
                return gap
            return self._gap_of_rounds(accountant)

    def _gap_of_rounds(self, accountant: ShuffleAccountant) -> float:
        """Return the gap of all rounds, from rough laws if the target is far away."""
        rough = self._rounds(accountant, _ROUGH)
        gap = rough.gap(self.epsilon, self.delta)
        beyond = self.epsilon * (1 + _FAR if gap > 0 else 1 - _FAR)
        if self.epsilon > 0 and (rough.gap(beyond, self.delta) > 0) == (gap > 0):
            return gap
        return self._rounds(accountant).gap(self.epsilon, self.delta)

    def excess(self, randomizer: LocalRandomizer, n: int) -> float:
        """Return by which part of itself ``get_epsilon(delta)`` is above epsilon, or 0.

        Of several rounds it is a little above 0, too, if ``get_delta(epsilon)`` is above delta.
        """
        asked = self.asked(randomizer, n)
        with wide_is_enough():
            epsilon = asked.get_epsilon(self.delta)
            if epsilon > self.epsilon:
                return 1 - self.epsilon / epsilon
            kept = self.setting.rounds == 1 or asked.get_delta(self.epsilon) <= self.delta
        return 0.0 if kept else _LITTLE

    def report(self, randomizer: LocalRandomizer, n: int) -> Report | RoundsReport:
        """Return the answer to "which epsilon at this delta?"."""
        return self.asked(randomizer, n).epsilon_report(self.delta)

    def asked(self, randomizer: LocalRandomizer, n: int) -> ShuffleAccountant | Rounds:
        """Return who answers for a mechanism and a number of users."""
        one = self._accountant(randomizer, n)
        return one if self.setting.rounds == 1 else self._rounds(one)

    def _rounds(self, one: ShuffleAccountant, rtol: float = ROUNDS_RTOL) -> Rounds:
        return Rounds([(one, self.setting.rounds)], at_most=self.setting.at_most, rtol=rtol)

    def _accountant(self, randomizer: LocalRandomizer, n: int) -> ShuffleAccountant:
        return ShuffleAccountant.of(self.setting.one_round.of(randomizer, n))
