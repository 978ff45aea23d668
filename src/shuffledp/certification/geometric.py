r"""Sums over how many users are examined in vain, in balls.

With M others, :math:`\gamma` the mass of the blanket and m the number of terms

.. math:: H(\ell)=\sum_{k<m}\gamma(1-\gamma)^ke^{(M-k)\ell}
          =\gamma e^{M\ell}\,\frac{1-q^m}{1-q},\qquad q=(1-\gamma)e^{-\ell},

in units of :math:`e^{M\cdot top}`. Arguments are :math:`\ell-top`.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import acb, arb


@dataclass(frozen=True)
class Spread:
    """What the average over who is examined can differ from its central term.

    Attributes:
        most: at most this.
        absolute: at most this per unit of the variance.
        relative: at most this per unit of the variance and of the bound on H.
    """

    most: arb
    absolute: arb
    relative: arb

    def at(self, variance: arb, height: arb) -> arb:
        """Return the smallest of the bounds, where ``height`` is one on H."""
        return min(self.most, variance * min(self.absolute, height * self.relative)).upper()


@dataclass(frozen=True)
class Examined:
    """The weights of how many users are examined in vain.

    Attributes:
        gamma: the mass of the blanket.
        rest: 1 - gamma, positive.
        others: M.
        terms: m, at most M + 1.
        top: an exact number.
    """

    gamma: arb
    rest: arb
    others: int
    terms: int
    top: arb

    def at(self, excess: acb) -> acb:
        """Return H."""
        power = self.gamma * (self.others * excess).exp()
        if self.terms == 1:
            return power
        ratio = self.rest * (-excess - self.top).exp()
        gap = 1 - ratio
        if gap.contains(0):
            radius = self._largest_sum(ratio.abs_upper())
            return power * acb(arb(0, radius), arb(0, radius))
        return power * (1 - ratio**self.terms) / gap

    def bound(self, excess: arb) -> arb:
        """Return an upper bound on the modulus of H where the real part is at most ``excess``.

        Every term grows with the real part, because k <= M.
        """
        excess = excess.upper()
        ratio = (self.rest * (-excess - self.top).exp()).upper()
        series = self._largest_sum(ratio)
        gap = 1 - ratio
        if gap > 0 or gap < 0:
            series = min(series, ((1 - ratio**self.terms) / gap).upper())
        return (self.gamma * (self.others * excess).exp() * series).upper()

    def spread(self, largest: arb, lowest: arb, square: arb) -> Spread:
        r"""Bound the error of replacing the average over K by its central term.

        With :math:`a_K=\sum_{J\notin K}L_J`, whose mean over K is :math:`(M-k)\ell` and whose
        variance is at most k times that of L, Taylor's formula gives

        .. math:: |\mathrm{avg}\,e^{a_K}-e^{(M-k)\ell}|\le\min(\tfrac k2\mathrm{Var}L,\,2)
                  \max_K|e^{a_K}| ,

        and :math:`\mathrm{Re}\,a_K` is at most both :math:`(M-k)\max\mathrm{Re}L` and
        :math:`M\,\mathrm{Re}\,\ell-k\min\mathrm{Re}L`. Then :math:`\sum_kkq^k\le q/(1-q)^2`.

        Args:
            largest: an upper bound on the real parts of all L.
            lowest: a lower bound on them.
            square: what the variance of L is measured in.
        """
        if self.terms == 1:
            return Spread(arb(0), arb(0), arb(0))
        height, half = self.bound(largest), (square / 2).upper()
        absolute = (height * (self.terms - 1) * half).upper()
        full = self.gamma * (self.others * largest.upper()).exp()
        absolute = min(absolute, (full * self._mean_terms(largest.upper()) * half).upper())
        return Spread(
            (2 * height).upper(), absolute, (self._mean_terms(lowest.lower()) * half).upper()
        )

    def _mean_terms(self, real: arb) -> arb:
        """Bound the sum of k q^k, infinite unless q < 1."""
        ratio = (self.rest * (-real - self.top).exp()).upper()
        return (ratio / (1 - ratio) ** 2).upper() if ratio < 1 else arb("inf")

    @property
    def tail(self) -> arb:
        """The probability that more users than counted are examined in vain, at most."""
        return arb(0) if self.terms > self.others else self.rest**self.terms

    def _largest_sum(self, modulus: arb) -> arb:
        """Bound the sum of the powers of a ratio."""
        largest = modulus.upper() ** (self.terms - 1) if modulus.upper() > 1 else arb(1)
        return (self.terms * largest).upper()
