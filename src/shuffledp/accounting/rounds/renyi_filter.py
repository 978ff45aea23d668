"""A rule that stops in time, also if rounds are chosen after looking at results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.rounds.renyi import check_order, renyi_divergence
from shuffledp.accounting.rounds.rounds import Rounds
from shuffledp.basics.errors import check_delta, check_total_epsilon

_LEAST_EXCESS = 1e-9  # of the order above 1, where it has a pole
_DIGITS = 100  # of decimals: errors stay far below the slack
_SLACK = Decimal(10) ** -60  # far above the errors of a few operations, far below any double


@dataclass(frozen=True)
class RenyiFilter:
    r"""Rounds whose Rényi divergences of one order add up to no more than what is allowed.

    **Theorem.** Let every round be chosen from what was published before, with a certified bound
    :math:`\rho_t` on the divergence of order :math:`\alpha` of neighbouring datasets, and let the
    sum of all :math:`\rho_t` be at most B, whatever happens. Then the divergence of everything that
    is published is at most B.

    *Proof.* Let :math:`p_t,q_t` be the conditional densities of round t given what was published
    before, and :math:`X_t=\prod_{s\le t}(p_s/q_s)^\alpha e^{-(\alpha-1)\rho_s}`. Given the past,
    round t is a fixed mechanism on neighbouring datasets, so
    :math:`E_Q[(p_t/q_t)^\alpha\mid\text{past}]\le e^{(\alpha-1)\rho_t}`, and
    :math:`E_Q[X_t\mid\text{past}]\le X_{t-1}`. So :math:`E_Q[X_T]\le1` at the end, and as the sum
    of :math:`\rho` is at most B, :math:`E_Q[(P/Q)^\alpha]\le e^{(\alpha-1)B}`. ∎

    With :math:`c=(\alpha-1)^{\alpha-1}/\alpha^\alpha` and for every t,
    :math:`t-\lambda\le c\,t^\alpha\lambda^{1-\alpha}`, as the ratio of the two sides is largest at
    :math:`t=\lambda\alpha/(\alpha-1)`. So delta is at most
    :math:`c\,e^{(\alpha-1)(B-\varepsilon)}`, and what is allowed is the largest B for which that is
    the delta of the budget. The order is chosen in advance; any one is right. Filters of this kind
    were proposed by Feldman and Zrnic (2021) and by Lécuyer (2021).

    Attributes:
        order: the order, above 1.
        allowed: what the divergences may add up to, rounded down; it may be negative.

    >>> RenyiFilter.of(1.0, 1e-6, 29.0).allowed
    0.6619407938120629
    """

    order: float
    allowed: float

    @classmethod
    def of(cls, epsilon: float, delta: float, order: float) -> RenyiFilter:
        """Return the filter of a budget.

        Args:
            epsilon: the epsilon of the budget.
            delta: the delta of the budget, greater than 0.
            order: the order, above 1.
        """
        check_total_epsilon(epsilon, "epsilon")
        check_delta(delta, "delta")
        if delta == 0:
            raise ValueError("delta must be greater than 0 for a Rényi filter, got 0")
        check_order(order)
        with localcontext(prec=_DIGITS):
            alpha = Decimal(order)
            logs = [Decimal(delta).ln(), alpha * alpha.ln(), -(alpha - 1) * (alpha - 1).ln()]
            loss = sum(logs, Decimal(0)) / (alpha - 1)
            size = (sum(map(abs, logs), Decimal(0)) / (alpha - 1)) + Decimal(epsilon)
            exact = Fraction(Decimal(epsilon) + loss - _SLACK * size)
        allowed = float(exact)
        if Fraction(allowed) > exact:
            allowed = math.nextafter(allowed, -math.inf)
        return cls(order, allowed)

    def spent(self, rounds: Sequence[tuple[ShuffleAccountant, int]]) -> float:
        """Return the divergence of rounds, rounded up."""
        return renyi_divergence(Rounds(rounds), self.order) if rounds else 0.0

    def fitting(
        self, before: Sequence[tuple[ShuffleAccountant, int]], one: ShuffleAccountant, most: int
    ) -> int:
        """Return how many rounds of one kind still fit after others, up to ``most``."""
        spent, cost = self.spent(before), self.spent([(one, 1)])
        left = self.allowed - spent
        if left < 0 or cost == math.inf:
            return 0
        times = most if cost * most <= left else int(left / cost)
        while times and not self._fits(before, one, times):
            times -= 1
        return times

    def _fits(
        self, before: Sequence[tuple[ShuffleAccountant, int]], one: ShuffleAccountant, times: int
    ) -> bool:
        return self.spent([*before, (one, times)]) <= self.allowed


def natural_order(epsilon: float, delta: float) -> float:
    r"""Return an order at which rounds with nearly normal losses fit often; any order is right.

    If divergences are :math:`\alpha\rho` and :math:`B=\varepsilon-L/(\alpha-1)`, the best one is
    :math:`1+\sqrt L/(\sqrt{L+\varepsilon}-\sqrt L)`. L is about :math:`\log1/\delta-1-\log\alpha`.

    >>> round(natural_order(1.0, 1e-6), 1)
    20.0
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(
            "a budget for rounds that are chosen adaptively needs epsilon and delta greater than "
            f"0, and delta below 1, got {epsilon!r} and {delta!r}"
        )
    whole = -math.log(delta)
    less = whole - 1 - math.log(_order(whole, epsilon))
    return 1 + float(f"{max(_order(max(less, whole / 4), epsilon) - 1, _LEAST_EXCESS):.2g}")


def _order(log: float, epsilon: float) -> float:
    # The difference of the roots, without cancellation.
    return 1 + math.sqrt(log) * (math.sqrt(log + epsilon) + math.sqrt(log)) / epsilon
