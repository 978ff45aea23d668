"""The stronger clone as far as its corrected reduction goes."""

from __future__ import annotations

from typing import ClassVar

from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published.numeric import NumericBaseline
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.finite.masses import working_digits
from shuffledp.mechanisms.support.support import SupportRandomizer


class StrongerClone(NumericBaseline):
    r"""Feldman, McMillan and Talwar (SODA 2023), the stronger clone with a corrected reduction.

    *Stronger Privacy Amplification by Shuffling for Rényi and Approximate Differential Privacy.*
    With :math:`E=e^{\varepsilon_0}` the two laws of the first user are

    .. math:: R(x_1^0)=Ep\,Q_0+p\,Q_1+r\,Q,\qquad R(x_1^1)=p\,Q_0+Ep\,Q_1+r\,Q,

    and every other user reports from :math:`Q_0`, :math:`Q_1` with probability p each and from Q
    with probability q (section 3.3 of the decomposition paper). For a support mechanism p is the
    mass of outputs that support the one input only, :math:`r=1-(E+1)p`, and the largest valid q is
    r, or r/E if some outputs support both inputs but not all.

    Regime: here, the support mechanisms (k-RR, subset selection, local hashing, unary encodings,
    Hadamard response); :meth:`shuffledp.GeneralClone.stronger` does the same for a matrix.

    Known flaws: as published it took the left-over of the first user to be that of the others,
    which gives too small a delta (errata of 2023). What is corrected here is a decomposition, so it
    is valid and never below the blanket; it equals it where q = r, as for k-RR.

    >>> from shuffledp import OUE
    >>> round(StrongerClone(OUE(epsilon0=2.0), n=10_000).get_epsilon(1e-6), 4)
    0.079
    """

    title: ClassVar[str] = "Feldman et al. 2023, stronger clone, corrected"
    knows_level_only: ClassVar[bool] = False

    def decomposition(self) -> Decomposition:
        """Return the decomposition (p, p, q)."""
        mechanism = self.randomizer
        if not isinstance(mechanism, SupportRandomizer):
            raise NoAnswerError("it is available for support mechanisms such as krr and oue only")
        with working_digits(mechanism.digits):
            E, one = mechanism.ratio, mechanism.support_mass(1, 2)
            rest = E * mechanism.support_mass(2, 2) + mechanism.support_mass(0, 2)
            lag = int(mechanism.partial_support_mass(2) > 0)
            shared = rest / E**lag
            residual = (E - 1) * one + (rest - shared)
            masses = {(1, 0): one, (0, 1): one, (lag, lag): shared}
            return mechanism.decompose(masses, residual)
