"""A privacy target, and what it means that a mechanism keeps it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.sum_view import View
from shuffledp.errors import AccuracyWarning
from shuffledp.randomizers import LocalRandomizer


@dataclass(frozen=True)
class Target:
    """An epsilon and a delta that the reports of n users shall have, as an analyst sees them.

    A mechanism keeps it if an accountant of default accuracy, whoever makes it, gives both answers:
    ``get_delta(epsilon) <= delta`` and ``get_epsilon(delta) <= epsilon``. Either is a proof by
    itself. As both are bounds of some width, both are asked for.

    >>> from shuffledp import KRR
    >>> target = Target(epsilon=0.08, delta=1e-6)
    >>> target.is_met(KRR(k=10, epsilon0=2.0), 10_000), target.excess(KRR(10, 2.0), 10_000)
    (True, 0.0)
    """

    epsilon: float
    delta: float
    view: View = "multiset"

    def is_met(self, randomizer: LocalRandomizer, n: int) -> bool:
        """Whether ``get_delta(epsilon) <= delta``; not tried where an estimate is far above."""
        if self.delta == 1:
            return True
        accountant = ShuffleAccountant(randomizer, n, view=self.view)
        if accountant.is_hopeless(self.epsilon, self.delta):
            return False
        with _wide_is_enough():
            return accountant.get_delta(self.epsilon) <= self.delta

    def excess(self, randomizer: LocalRandomizer, n: int) -> float:
        """Return by which part of itself ``get_epsilon(delta)`` is above epsilon, or 0."""
        with _wide_is_enough():
            epsilon = ShuffleAccountant(randomizer, n, view=self.view).get_epsilon(self.delta)
        return 0.0 if epsilon <= self.epsilon else 1 - self.epsilon / epsilon


@contextmanager
def _wide_is_enough() -> Iterator[None]:
    """Ignore that an enclosure is wide: the comparison with its safe end is certified anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield
