"""The standard clone: exact numbers and the closed form."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from flint import arb

from shuffledp.basics.balls import precision
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.rounding import plain, round_down
from shuffledp.comparison.published.baseline import Baseline
from shuffledp.comparison.published.decimals import float_up, precise
from shuffledp.comparison.published.numeric import NumericBaseline
from shuffledp.decomposition import Component, Decomposition


class StandardClone(NumericBaseline):
    r"""Feldman, McMillan and Talwar (FOCS 2021), the reduction itself, evaluated exactly.

    *Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification by
    Shuffling*, theorem 3.2. With :math:`E=e^{\varepsilon_0}` every user other than the first
    reports, with probability 1/E, from one of two laws with equal chances, and the first one
    prefers one of them:

    .. math:: a=\left(\tfrac{E}{E+1},\tfrac1{E+1}\right),\quad
              b=\left(\tfrac1{E+1},\tfrac{E}{E+1}\right),\quad
              c=\left(\tfrac1{2E},\tfrac1{2E}\right),\quad \beta=1-\tfrac1E.

    Regime: every pure LDP level, also adaptively chosen randomizers.

    Known flaws: it knows nothing of the randomizer but :math:`\varepsilon_0`, and it counts half
    the clones that binary randomized response provides, so it is never below
    :class:`~shuffledp.comparison.published.RestoredGeneric`. The authors' program prints a message
    and returns epsilon0 outside the range of its search, and bisects a fixed number of times.

    >>> from shuffledp import KRR
    >>> round(StandardClone(KRR(k=10, epsilon0=2.0), n=10_000).get_epsilon(1e-6), 4)
    0.155
    """

    title: ClassVar[str] = "Feldman et al. 2021, standard clone, numeric"

    def decomposition(self) -> Decomposition:
        """Return the decomposition of the reduction, with ratios E s and s, s = 2E/(E+1)."""
        with precision():
            level = arb(self._level())
            low = -((-level).expm1() / 2).log1p()
            weight = (-level).exp() / 2
            components = Component(level + low, low, weight), Component(low, level + low, weight)
            return Decomposition(components, -(-level).expm1())


class StandardCloneClosedForm(Baseline):
    r"""Feldman, McMillan and Talwar (FOCS 2021), theorem 3.1: the closed form.

    .. math:: \varepsilon=\log\left(1+\frac{E-1}{E+1}
              \left(\frac{8\sqrt{E\log(4/\delta)}}{\sqrt n}+\frac{8E}{n}\right)\right),
              \qquad E=e^{\varepsilon_0}.

    Regime: :math:`\varepsilon_0\le\log(n/(16\log(2/\delta)))`, :math:`0<\delta\le1`. At a given
    epsilon the smallest delta that the condition admits bounds the answer from below.

    The condition is the printed one, which is enough; the authors' program asks for
    :math:`\log(4/\delta)`. Let c users be clones, :math:`A\sim\mathrm{Bin}(c,1/2)`, and let P, P'
    be the laws of (A+1, c-A) and (A, c-A+1), so :math:`P/P'=(A+1)/(c-A)` under P. Put
    :math:`L=\log(2/\delta)`, :math:`t=\sqrt{cL/2}`. As :math:`n\ge16EL>11`, c is below n/(2E) with
    probability at most :math:`e^{-(n-2)^2/(8E(n-1))}\le\delta/2` (Chernoff), and else A exceeds
    c/2+t with at most :math:`\delta/2` (Hoeffding), :math:`c\ge8L` and :math:`t\le c/4`. Otherwise
    :math:`P/P'-1\le(2t+1)/(c/2-t)\le(8t+4)/c\le x=8\sqrt{EL/n}+8E/n`. The laws to compare are
    :math:`a=(EP+P')/(E+1)` and :math:`b=(P+EP')/(E+1)`, and with :math:`\kappa=(E-1)/(E+1)`
    :math:`a-(1+\kappa x)b=\kappa(P-P'-xb)` is positive only in these two cases.

    Known flaws: constants several times those of the numbers behind it
    (:class:`StandardClone`); nothing for large :math:`\varepsilon_0` or small n.

    >>> from shuffledp import KRR
    >>> round(StandardCloneClosedForm(KRR(k=10, epsilon0=2.0), n=10_000).get_epsilon(1e-6), 4)
    0.5009
    """

    title: ClassVar[str] = "Feldman et al. 2021, standard clone, closed form"

    def _epsilon(self, delta: float) -> float:
        level = self._level()
        if delta == 0:
            raise NoAnswerError("it needs delta above 0")
        with precise():
            E, target = Decimal(level).exp(), Decimal(delta)
            if 16 * E * (2 / target).ln() > self.n:
                largest = (self.n / (16 * (2 / target).ln())).ln()
                raise NoAnswerError(
                    f"it needs epsilon0 of at most log(n/(16 log(2/delta))) = "
                    f"{round_down(largest)}, got {plain(level)}"
                )
            bracket = 8 * (E * (4 / target).ln() / self.n).sqrt() + 8 * E / self.n
            return float_up((1 + (E - 1) / (E + 1) * bracket).ln())

    def _delta(self, epsilon: float) -> float:
        level = self._level()
        with precise():
            E = Decimal(level).exp()
            smallest = 2 * (-self.n / (16 * E)).exp()
            rest = (Decimal(epsilon).exp() - 1) * (E + 1) / (E - 1) - 8 * E / self.n
            formula = 4 * (-(rest**2) * self.n / (64 * E)).exp() if rest > 0 else Decimal(4)
            delta = max(smallest, formula)
        if delta > 1:
            raise NoAnswerError(
                f"it gives no delta of at most 1 at epsilon = {plain(epsilon)} with epsilon0 = "
                f"{plain(level)}"
            )
        return float_up(delta)
