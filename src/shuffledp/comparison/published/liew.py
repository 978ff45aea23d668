"""Shuffled normal noise through its Rényi divergence."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from flint import arb

from shuffledp.basics.balls import precision, total, upper_double
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published.baseline import Baseline
from shuffledp.mechanisms.noise.gaussian import Gaussian

#: The largest order.
_MOST = 128


class LiewRenyi(Baseline):
    r"""Liew and Takahashi (2022), Rényi divergence of shuffled normal noise.

    *Shuffle Gaussian Mechanism for Differential Privacy* (arXiv 2206.09569). For integers
    :math:`\alpha\ge2` the divergence of a dataset of one 1 and n - 1 zeros from one of n zeros is

    .. math:: \rho_\alpha=\frac1{\alpha-1}\log\bigg(\frac{e^{-\alpha/2\sigma^2}}{n^\alpha}
              \sum_{k_1+\dots+k_n=\alpha}\binom\alpha{k_1,\dots,k_n}
              e^{\sum_ik_i^2/2\sigma^2}\bigg).

    The sum is :math:`\alpha!` times the coefficient of :math:`t^\alpha` in
    :math:`\big(\sum_ke^{k^2/2\sigma^2}t^k/k!\big)^n`, so no partitions are listed. Then
    :math:`\varepsilon=\rho_\alpha+\log\frac{\alpha-1}\alpha-\frac{\log\delta+\log\alpha}{\alpha-1}`
    for the best order up to 128 (Canonne, Kamath and Steinke 2020, proposition 12).

    Regime: normal noise.

    Known flaws: meant for many rounds; for one, Rényi divergences see the rare large ratios of
    normal noise too well, and the answer is many times too large.

    >>> round(LiewRenyi(Gaussian(sigma=1.0), n=10_000).get_epsilon(1e-6), 4)
    0.5886
    """

    title: ClassVar[str] = "Liew and Takahashi 2022, Rényi"
    knows_level_only: ClassVar[bool] = False

    def _epsilon(self, delta: float) -> float:
        divergences = self._divergences()
        if delta == 0:
            raise NoAnswerError("it needs delta above 0")
        with precision():
            log = arb(delta).log()
            found = (
                rho + (arb(a - 1) / a).log() - (log + arb(a).log()) / (a - 1)
                for a, rho in divergences
            )
            return max(min(map(upper_double, found)), 0.0)

    def _delta(self, epsilon: float) -> float:
        divergences = self._divergences()
        with precision():
            found = (
                ((a - 1) * (rho - epsilon + (arb(a - 1) / a).log()) - arb(a).log()).exp()
                for a, rho in divergences
            )
            return min(*map(upper_double, found), 1.0)

    def _divergences(self) -> tuple[tuple[int, arb], ...]:
        # Exactly this class: one derived from it may state another law.
        if type(self.randomizer) is not Gaussian:
            raise NoAnswerError("it is known for normal noise (gaussian) only")
        return _divergences(self.randomizer.sigma, self.n)


@lru_cache(maxsize=16)
def _divergences(sigma: float, n: int) -> tuple[tuple[int, arb], ...]:
    """Return every order and its divergence."""
    with precision():
        s = 1 / (2 * arb(sigma) ** 2)
        one = [(s * k * (k - 1)).exp() / arb.fac_ui(k) for k in range(_MOST + 1)]
        power = [arb(1)]  # f = one**n, from f' one = n one' f
        for m in range(1, _MOST + 1):
            terms = (((n + 1) * k - m) * one[k] * power[m - k] for k in range(1, m + 1))
            power.append(total(terms) / m)
        log_n = arb(n).log()
        return tuple(
            (a, ((power[a] * arb.fac_ui(a)).log() - a * log_n) / (a - 1))
            for a in range(2, _MOST + 1)
        )
