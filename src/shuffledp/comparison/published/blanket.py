r"""The privacy blanket with Hoeffding's and with Bennett's inequality.

Balle, Bell, Gascón and Nissim, *The Privacy Blanket of the Shuffle Model* (CRYPTO 2019),
lemma 5.3: with the blanket :math:`\gamma\omega=\inf_xR(x)` and the privacy amplification random
variable :math:`L=(R(x)-e^\varepsilon R(x'))/\omega` of an output drawn from :math:`\omega`,

.. math:: \delta\le\frac1{\gamma n}\sum_{m=1}^n\binom nm\gamma^m(1-\gamma)^{n-m}\,
          E\Big[\Big(\sum_{i\le m}L_i\Big)_+\Big],\qquad E[L]=-a,\quad a=e^\varepsilon-1.

A concentration inequality bounds the expectation by :math:`Kq^m`, and the sum over m is
:math:`K\,((1-\gamma+\gamma q)^n-(1-\gamma)^n)`: the term m = 0 is 0 in the lemma, so it is left
out. (The printed corollary for Hoeffding's inequality keeps it, which matters only where hardly
anybody is expected to report from the blanket.)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar

from shuffledp.basics.errors import MAX_EPSILON0, NoAnswerError
from shuffledp.basics.rounding import plain, round_down
from shuffledp.comparison.published.baseline import Baseline
from shuffledp.comparison.published.blanket_moments import Assumed, Measured, Moments, View
from shuffledp.comparison.published.decimals import float_up, power_down, power_up, precise
from shuffledp.mechanisms import LocalRandomizer, pairs_to_compare

_STEP = 0.8  # from one epsilon of the coarse search to the next
_MAX_STEPS = 400  # to 1e-39 of where delta vanishes
_RTOL = 1e-10
_SMALL = Decimal("1e-10")
_ZERO, _ONE = Decimal(0), Decimal(1)


class _Inequality(Baseline):
    """A bound K q^m on the mean positive part of a sum of m copies of L."""

    @abstractmethod
    def _factors(self, moments: Moments) -> tuple[Decimal, Decimal]:
        """Return K and 1 - q, for a positive drift and a positive largest value."""

    @abstractmethod
    def _views(self) -> Iterator[View]:
        """Yield what there is to know of L, for every pair of inputs."""

    def _delta(self, epsilon: float) -> float:
        bounds = (self._bound(view, epsilon) for view in self._views())
        return min(float_up(max(bounds, default=_ZERO)), 1.0)

    def _epsilon(self, delta: float) -> float:
        """Return an epsilon at which the bound of every pair has been at most delta.

        A pair is searched only if it is not safe at the largest epsilon found so far: the exact
        delta falls with epsilon, so what is safe below stays safe.
        """
        target, result, end = Decimal(delta), 0.0, 0.0
        for view in self._views():
            end = max(end, view.end)
            if self._bound(view, result) > target:
                result = self._search(view, target)
        if 0 < end <= result:
            raise NoAnswerError(
                f"its bound exceeds delta = {plain(delta)} at every epsilon below "
                f"{round_down(end)}, where delta is 0 even without a shuffler"
            )
        return result

    def _search(self, view: View, target: Decimal) -> float:
        """Return the smallest safe epsilon: steps down from the end, then bisection.

        The formulas need not fall with epsilon everywhere, so all steps are looked at, down to
        where the formula exceeds 1 for good.
        """
        safe, unsafe, useful = math.inf, 0.0, False
        epsilon = min(view.end, MAX_EPSILON0)
        for _ in range(_MAX_STEPS):
            bound = self._bound(view, epsilon)
            if bound <= target:
                safe, unsafe = epsilon, 0.0
            elif unsafe == 0:
                unsafe = epsilon
            useful |= 0 < bound < 1
            if useful and bound >= 1:
                break
            epsilon *= _STEP
        if safe == math.inf:
            raise NoAnswerError(f"its bound exceeds delta = {float(target)!r} at every epsilon")
        while safe - unsafe > _RTOL * safe:
            middle = 0.5 * (safe + unsafe)
            if self._bound(view, middle) <= target:
                safe = middle
            else:
                unsafe = middle
        return safe

    def _bound(self, view: View, epsilon: float) -> Decimal:
        """Return an upper bound on delta for one pair."""
        if epsilon >= view.end:
            return _ZERO  # L is never positive
        moments = view.at(epsilon)
        with precise():
            if moments.largest <= 0:
                return moments.singular
            if moments.drift <= 0:
                return _ONE
            K, gap = self._factors(moments)
            low, high, n = moments.gamma_low, moments.gamma_high, Decimal(self.n)
            most, least = 1 - low * gap, max(1 - high, _ZERO)
            mixture = power_up(most, self.n) - power_down(least, self.n)
            return min(K * mixture / (low * n) + moments.singular, _ONE)


class _Hoeffding(_Inequality):
    def _factors(self, moments: Moments) -> tuple[Decimal, Decimal]:
        """Return K = b^2/(4a) and 1 - q, q = exp(-2 a^2/b^2), b the range of L."""
        a, b = moments.drift, moments.largest - moments.smallest
        return b**2 / (4 * a), _one_minus_exp(2 * (a / b) ** 2)


class _Bennett(_Inequality):
    def _factors(self, moments: Moments) -> tuple[Decimal, Decimal]:
        """Return K = b/log(1+u) and 1 - q, q = exp(-(c/b^2) phi(u)), u = ab/c, b the top of L."""
        a, b, c = moments.drift, moments.largest, moments.square
        u = a * b / c
        if u < _SMALL:  # log and phi are at least their first two terms
            log, phi = u - u**2 / 2, u**2 / 2 - u**3 / 6
        else:
            log = (1 + u).ln()
            phi = (1 + u) * log - u
        return b / log, _one_minus_exp(c / b**2 * phi)


def _one_minus_exp(x: Decimal) -> Decimal:
    """Return 1 - e^-x for x >= 0; for small x the lower bound of two terms."""
    return x - x**2 / 2 if x < _SMALL else 1 - (-x).exp()


class _Specific(_Inequality):
    """Takes gamma, range and second moment from the decomposition of the randomizer."""

    knows_level_only: ClassVar[bool] = False

    def _views(self) -> Iterator[View]:
        return iter(_measure(self.randomizer))


@lru_cache(maxsize=4)
def _measure(randomizer: LocalRandomizer) -> tuple[Measured, ...]:
    """Return L for every pair of inputs; both inequalities use it, and blankets can take long."""
    views = []
    for pair in pairs_to_compare(randomizer):
        blanket = randomizer.decomposition(pair)
        cut = len(blanket.upper.singular) > len(blanket.singular)
        if cut and randomizer.epsilon0 == math.inf:  # tails had to be cut off
            raise NoAnswerError(
                "it needs outputs whose ratios to the blanket are bounded, and those of this "
                "mechanism are not"
            )
        views.append(Measured(blanket))
    return tuple(views)


class _Generic(_Inequality):
    """Takes gamma, range and second moment from epsilon0 alone."""

    def _views(self) -> Iterator[View]:
        yield Assumed(self._level())


class BlanketHoeffding(_Hoeffding, _Specific):
    r"""Balle et al. 2019 with Hoeffding's inequality, for the randomizer at hand.

    With b the range of L,

    .. math:: E\Big[\Big(\sum_{i\le m}L_i\Big)_+\Big]\le\frac{b^2}{4a}e^{-2ma^2/b^2},
              \qquad \delta\le\frac1{\gamma n}\,\frac{b^2}{4a}\,
              \left(1-\gamma\left(1-e^{-2a^2/b^2}\right)\right)^n.

    :math:`\gamma` and b come from the blanket decomposition, so every randomizer has them,
    compositions included; all pairs of inputs are compared.

    Regime: every mechanism whose L is bounded, which excludes Gaussian noise. Outputs that only
    some inputs can produce add their whole divergence to delta.

    Known flaws: the range ignores how rarely L is large. The authors' program never answers a
    delta below 1e-11.

    >>> from shuffledp import KRR
    >>> round(BlanketHoeffding(KRR(k=10, epsilon0=2.0), n=10_000).get_epsilon(1e-6), 4)
    0.218
    """

    title: ClassVar[str] = "Balle et al. 2019, blanket with Hoeffding"


class BlanketBennett(_Bennett, _Specific):
    r"""Balle et al. 2019 with Bennett's inequality, for the randomizer at hand.

    With :math:`b_+` the largest value of L, :math:`c=E[L^2]` (not centred) and
    :math:`\phi(u)=(1+u)\log(1+u)-u`,

    .. math:: E\Big[\Big(\sum_{i\le m}L_i\Big)_+\Big]\le\frac{b_+}{\log(1+ab_+/c)}
              \exp\left(-m\frac c{b_+^2}\,\phi\left(\frac{ab_+}c\right)\right).

    :math:`\gamma`, :math:`b_+` and c come from the blanket decomposition, so every randomizer has
    them, compositions included; all pairs of inputs are compared. The sum over m is done in closed
    form.

    Regime: that of :class:`BlanketHoeffding`.

    Known flaws: the authors' program cuts the sum over m off, never answers a delta below 1e-11,
    and where rounding makes :math:`\phi` negative replaces it by u^2 instead of u^2/2, which
    reports too small a delta.

    >>> from shuffledp import KRR
    >>> round(BlanketBennett(KRR(k=10, epsilon0=2.0), n=10_000).get_epsilon(1e-6), 4)
    0.095
    """

    title: ClassVar[str] = "Balle et al. 2019, blanket with Bennett"


class GenericHoeffding(_Hoeffding, _Generic):
    r"""Balle et al. 2019 with Hoeffding's inequality, for any randomizer of the same level.

    As :class:`BlanketHoeffding` with :math:`\gamma=e^{-\varepsilon_0}` and
    :math:`b=(E-1)(e^\varepsilon+1)`, :math:`E=e^{\varepsilon_0}`: the range of Property 2 of the
    decomposition paper. The published range, :math:`(E-1/E)(e^\varepsilon+1)`, is wider.

    Regime: every pure LDP level.

    Known flaws: it combines the smallest :math:`\gamma` with the range at the largest one, which no
    randomizer has both; often it stays above :math:`\delta` up to epsilon0.

    >>> from shuffledp import KRR
    >>> round(GenericHoeffding(KRR(k=10, epsilon0=0.5), n=10_000).get_epsilon(1e-6), 4)
    0.0326
    """

    title: ClassVar[str] = "Balle et al. 2019, generic with Hoeffding"


class GenericBennett(_Bennett, _Generic):
    r"""Balle et al. 2019 with Bennett's inequality, for any randomizer of the same level.

    As :class:`BlanketBennett` with :math:`\gamma=e^{-\varepsilon_0}`,
    :math:`b_+=E-e^\varepsilon` and :math:`c=E(1+e^{2\varepsilon})-2e^\varepsilon`,
    :math:`E=e^{\varepsilon_0}`. The published constants, :math:`E-e^\varepsilon/E` and
    :math:`E(1+e^{2\varepsilon})-2e^{\varepsilon-3\varepsilon_0}`, are larger.

    Regime: every pure LDP level.

    Known flaws: those of :class:`GenericHoeffding`; :class:`RestoredGeneric`
    needs the same knowledge and is tighter.

    >>> from shuffledp import KRR
    >>> round(GenericBennett(KRR(k=10, epsilon0=0.5), n=10_000).get_epsilon(1e-6), 4)
    0.0597
    """

    title: ClassVar[str] = "Balle et al. 2019, generic with Bennett"
