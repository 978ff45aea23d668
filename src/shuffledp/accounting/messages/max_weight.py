r"""Sums of bit vectors from which vectors with too many ones are rejected, as Prio does.

The mechanism that runs is another one than without rejection: a report is an output that is
"rejected" if it has more than ``max_weight`` ones. That is a function of the multiset, whose
guarantee holds, but not of the sum. With p the largest probability of rejection, no report of n
users is rejected with probability :math:`1-np` or more, and then both sums are the same. So all
laws are within np of those without rejection, and

.. math:: \delta\le\delta_{\text{sum}}(\varepsilon)+(1+e^\varepsilon)np.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.basics.balls import precision, total, upper_double
from shuffledp.basics.errors import NoAnswerError, check_delta, check_integer
from shuffledp.bounds.root import delta_above
from shuffledp.mechanisms import LocalRandomizer, as_randomizer
from shuffledp.mechanisms.aggregate import BitSums

#: Which share of delta rejection may take.
_SHARE = 1 / 8


class MaxWeightSums:
    """Certified privacy of sums of one-hot vectors with randomized bits, heavy ones rejected.

    Args:
        randomizer: ``rappor``, ``oue`` or ``unary`` with a ``domain_size``, or its text.
        n: number of users.
        max_weight: how many ones a report may have.
        corrupted: how many users the analyst controls.

    >>> sums = MaxWeightSums("rappor(epsilon0=14, domain_size=100)", 100_000, max_weight=11)
    >>> round(sums.get_epsilon(1e-9), 2)
    0.96
    """

    def __init__(
        self,
        randomizer: LocalRandomizer | str,
        n: int,
        *,
        max_weight: int,
        corrupted: float | Fraction = 0,
    ) -> None:
        self.sums = ShuffleAccountant(randomizer, n, view="sum", corrupted=corrupted)
        self.max_weight = check_integer("max_weight", max_weight, 1)
        self.risk = rejection_risk(self.sums.randomizer, self.max_weight)

    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified delta."""
        log, _ = self.sums.proved_log_delta(target_epsilon)
        with precision():
            return min(upper_double(arb(delta_above(log)) + self._lost(target_epsilon)), 1.0)

    def _lost(self, epsilon: float) -> arb:
        """What rejection may add to delta."""
        return (1 + arb(epsilon).exp()) * self.sums.crowd.honest * self.risk

    def get_epsilon(self, target_delta: float) -> float:
        """Return a certified epsilon, an eighth of delta being set aside for rejection.

        Raises:
            NoAnswerError: if rejection takes more than that.
        """
        delta = check_delta(target_delta)
        with precision():
            is_hopeless = not self._lost(0.0) <= _SHARE * delta
        if not is_hopeless:
            epsilon = self.sums.get_epsilon(delta * (1 - _SHARE))
            if self.get_delta(epsilon) <= delta:
                return epsilon
        raise NoAnswerError(
            f"reports with more than max_weight = {self.max_weight} ones are too common for delta "
            f"= {delta:g}; allow more ones"
        )


def rejection_risk(randomizer: LocalRandomizer | str, max_weight: int) -> arb:
    """Bound the probability that a report has more ones: its own bit counts as one.

    >>> risk = rejection_risk("rappor(epsilon0=2, domain_size=3)", 2)
    >>> flipped = 1 / (1 + 2.718281828459045)
    >>> abs(float(risk) - flipped**2) < 1e-12
    True
    """
    made = as_randomizer(randomizer)
    seen = made.aggregate
    size = getattr(made, "domain_size", None)
    if not isinstance(seen, BitSums) or size is None:
        raise ValueError(
            "randomizer must be rappor, oue or unary with a domain_size, whose reports are vectors "
            f"of bits, got {made}"
        )
    one, zero = seen.other
    others = size - 1
    with precision():
        return total(
            arb.bin_uiui(others, j) * one**j * zero ** (others - j)
            for j in range(max_weight, others + 1)
        ).upper()
