"""The first amplification theorem."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import ClassVar

from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.rounding import plain
from shuffledp.comparison.published.baseline import Baseline
from shuffledp.comparison.published.decimals import float_up, precise

_MAX_LEVEL = 0.5
_MIN_USERS = 1000
_MAX_DELTA = Decimal("0.01")


class Erlingsson(Baseline):
    r"""Erlingsson, Feldman, Mironov, Raghunathan, Talwar and Thakurta (SODA 2019), closed form.

    *Amplification by Shuffling: From Local to Central Differential Privacy via Anonymity.* For
    every :math:`\varepsilon_0`-LDP randomizer, also adaptively chosen ones,

    .. math:: \varepsilon = 12\,\varepsilon_0\sqrt{\log(1/\delta)/n}.

    Regime: :math:`0<\varepsilon_0<1/2`, :math:`n\ge1000`, :math:`0<\delta<1/100`.

    Known flaws: the constant makes it vacuous (above :math:`\varepsilon_0`) until n exceeds
    144 log(1/delta), about 2000 users at delta = 1e-6, and it says nothing about
    :math:`\varepsilon_0\ge1/2`, where most deployments are. It is reported as the theorem states
    it, also where it exceeds :math:`\varepsilon_0`.

    >>> from shuffledp import KRR
    >>> round(Erlingsson(KRR(k=10, epsilon0=0.1), n=10_000).get_epsilon(1e-6), 6)
    0.044603
    """

    title: ClassVar[str] = "Erlingsson et al. 2019"

    def _epsilon(self, delta: float) -> float:
        level = self._checked_level()
        if not 0 < Decimal(delta) < _MAX_DELTA:
            raise NoAnswerError(f"it needs delta above 0 and below 1/100, got {plain(delta)}")
        with precise():
            return float_up(12 * level * (-Decimal(delta).ln() / self.n).sqrt())

    def _delta(self, epsilon: float) -> float:
        level = self._checked_level()
        with precise():
            delta = (-self.n * (Decimal(epsilon) / (12 * level)) ** 2).exp()
        result = max(float_up(delta), math.ulp(0.0))  # even decimals underflow at last
        if not Decimal(result) < _MAX_DELTA:
            raise NoAnswerError(
                f"it needs delta below 1/100, which its formula does not give at epsilon = "
                f"{plain(epsilon)}"
            )
        return result

    def _checked_level(self) -> Decimal:
        level = self._level()
        if not level < _MAX_LEVEL:
            raise NoAnswerError(f"it needs epsilon0 below 1/2, got {plain(level)}")
        if self.n < _MIN_USERS:
            raise NoAnswerError(f"it needs at least {_MIN_USERS:,} users, got {self.n:,}")
        return Decimal(level)
