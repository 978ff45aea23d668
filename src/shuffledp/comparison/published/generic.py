"""The bound that depends on epsilon0 alone."""

from __future__ import annotations

from typing import ClassVar

from shuffledp.comparison.published.numeric import NumericBaseline
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import AnyPureLDP


class RestoredGeneric(NumericBaseline):
    r"""The generic bound of Feldman, McMillan and Talwar (SODA 2023), restored.

    *Stronger Privacy Amplification by Shuffling for Rényi and Approximate Differential Privacy*
    claimed that, for every :math:`\varepsilon_0`-LDP randomizer, the shuffled reports are at least
    as private as those of binary randomized response, which has clones with probability
    :math:`2/(E+1)`, :math:`E=e^{\varepsilon_0}`, instead of the :math:`1/E` of the standard clone.
    The proof mixed up left-over laws and the general claim was withdrawn; the claim itself is true
    by convex order (see :class:`shuffledp.AnyPureLDP`).

    .. math:: G\in\{E-e^\varepsilon,\ 1-Ee^\varepsilon\}\ \text{with probability}\
              \tfrac1{E+1}\ \text{each},\ \text{else}\ 0.

    Regime: every pure LDP level, also adaptively chosen randomizers. It is the best bound that
    knows :math:`\varepsilon_0` alone and goes through the blanket.

    >>> from shuffledp import KRR
    >>> round(RestoredGeneric(KRR(k=10, epsilon0=2.0), n=10_000).get_epsilon(1e-6), 4)
    0.1144
    """

    title: ClassVar[str] = "Feldman et al. 2023, generic bound, restored"

    def decomposition(self) -> Decomposition:
        """Return the blanket of binary randomized response of the same level."""
        generic = AnyPureLDP(epsilon0=self._level())
        (pair,) = generic.neighbours()
        return generic.decomposition(pair)
