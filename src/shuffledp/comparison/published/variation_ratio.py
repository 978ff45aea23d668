"""The variation-ratio reduction, which is no upper bound."""

from __future__ import annotations

from typing import ClassVar

from flint import arb

from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published.numeric import NumericBaseline
from shuffledp.decomposition import Component, Decomposition
from shuffledp.mechanisms.finite.masses import working_digits
from shuffledp.mechanisms.support.krr import KRR
from shuffledp.mechanisms.support.local_hash import BinaryLocalHash, LocalHash
from shuffledp.mechanisms.support.support import SupportRandomizer


class VariationRatio(NumericBaseline):
    r"""Wang et al. (VLDB 2024), the variation-ratio reduction: not a bound.

    *Privacy Amplification via Shuffling: Unified, Simplified, and Tightened* (arXiv 2304.05007).
    With :math:`E=e^{\varepsilon_0}` and the total variation :math:`\beta` between two inputs let
    :math:`a=\beta/(E-1)`. Every other user adds 1 to one of two counts, each with probability a,
    or to none; the user in question does so with probabilities Ea and a, or the other way round.
    Delta is claimed to be the divergence of the two pairs of counts. Their likelihood ratios are
    means over all n users, so it is the bound of the decomposition

    .. math:: (Ea,\,a,\,1-a-Ea),\quad(a,\,Ea,\,1-a-Ea),\quad c=(a,\,a,\,1-2a).

    Regime: the support mechanisms, for which :math:`\beta` is published or follows from its
    definition. Local hashing has the published one, that of hash values that differ.

    Known flaws: unsound. Whoever adds to none of the counts is taken to hide among all others who
    do so, but their reports have other laws; here c exceeds what the others have in common. Two
    datasets reveal more than the answer, also in ordinary settings:

    >>> from shuffledp import KRR, ShuffleAccountant
    >>> mechanism = KRR(k=10, epsilon0=4.0)
    >>> print(f"{VariationRatio(mechanism, n=1000, rtol=1e-6).get_epsilon(1e-6):.5f}")
    1.52239
    >>> attack = ShuffleAccountant(mechanism, n=1000, rtol=1e-6).epsilon_lower_bound(1e-6)
    >>> print(f"{attack:.5f}")
    1.52685
    """

    title: ClassVar[str] = "Wang et al. 2024, variation ratio"
    sound: ClassVar[bool] = False
    knows_level_only: ClassVar[bool] = False

    def decomposition(self) -> Decomposition:
        """Return that of the two pairs of counts."""
        mechanism = self.randomizer
        if not isinstance(mechanism, SupportRandomizer):
            raise NoAnswerError("it is available for support mechanisms such as krr and oue only")
        differing: SupportRandomizer = mechanism
        if isinstance(mechanism, BinaryLocalHash | LocalHash):
            differing = KRR(mechanism.hash_buckets, mechanism.epsilon0)
        with working_digits(mechanism.digits):
            E, own = mechanism.ratio, differing.support_mass(1, 2)
            high, low, others = mechanism.log_ratio, arb(0), 1 - 2 * own
            counted = Component(high, low, own), Component(low, high, own)
            missed = 1 - own - E * own
            if not missed > 0:  # two values: whoever adds to none of them is one of the others
                return Decomposition(counted, others)
            hidden = (missed / others).log()
            return Decomposition((*counted, Component(hidden, hidden, others)), arb(0))
