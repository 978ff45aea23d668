r"""Stretches of nodes that the swap bound skips, whatever the others hold.

In units of the largest transform at the tilt, whose logarithm is *top*, a slot of type v has the
modulus :math:`e^{K_v-top}|\varphi_v|`. A background is a product of such slots, so its modulus is
at most the power of the largest of them: with :math:`B_v` a bound on :math:`|\varphi_v|^2` over a
stretch, that of :math:`\max_ve^{2(K_v-top)}B_v`. A type far below the largest one at the tilt does
not keep a stretch, however slowly its own :math:`\varphi_v` falls.

A stretch that one type keeps is kept. So those types that kept most are asked first, and the others
about the rest only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.rough_bound import bound_powers
from shuffledp.divergence.swap_integrand import SwapIntegrand
from shuffledp.divergence.tilt import TiltedLaw

_FEW = 5  # types that are asked all at once
_LEAST_SHIFT = -300.0  # whose exponentials, squared, are normal numbers


class SkippedStretches:
    """Bounds what stretches add, and remembers which types keep them.

    Args:
        integrand: the swap bound.
        types: the tilted laws of all types.
        others: M, all users but one.
        step: distance of the nodes.
    """

    def __init__(
        self, integrand: SwapIntegrand, types: Sequence[TiltedLaw], others: int, step: float
    ) -> None:
        self.integrand, self.others, self.step = integrand, others, step
        top = max(law.log_mgf for law in types)
        slots = [(law, _factor(law.log_mgf, top)) for law in types]
        slots.sort(key=lambda slot: slot[1], reverse=True)
        first = len(slots) if len(slots) <= _FEW else 1
        self._first, self._later = slots[:first], slots[first:]

    def bounds(self, starts: IntArray, sizes: IntArray, limit: float) -> FloatArray:
        """Bound what the nodes of each stretch add; a bound above the limit holds for some types.

        So it does not allow to skip the stretch.
        """
        square = self._squares(self._first, starts, sizes).max(axis=0)
        found = self.integrand.bounds(starts, sizes, square)
        (open_,) = np.nonzero(found <= limit)
        if open_.size and self._later:
            squares = self._squares(self._later, starts[open_], sizes[open_])
            largest = np.maximum(square[open_], squares.max(axis=0))
            found[open_] = self.integrand.bounds(starts[open_], sizes[open_], largest)
            keeping = np.argmax(squares[:, found[open_] > limit], axis=0)
            if keeping.size:
                self._first.append(self._later.pop(int(np.bincount(keeping).argmax())))
        return found

    def _squares(
        self, slots: Sequence[tuple[TiltedLaw, float]], starts: IntArray, sizes: IntArray
    ) -> FloatArray:
        """Bound the square of the modulus of each slot, in units of the largest one at the tilt."""
        laws = [law for law, _ in slots]
        bounds = bound_powers(laws, self.step, starts, sizes, self.others)
        factors = np.array([factor for _, factor in slots])
        squares: FloatArray = np.minimum(np.array(bounds) * factors[:, None], 1.0)
        return squares


def _factor(log_mgf: float, top: float) -> float:
    """Return the square of the modulus of a slot at the tilt.

    The difference, its double and the sums have a rounding each, all within the slack; the
    exponential is good to four units, and the product with a bound to one.
    """
    slack = 4 * UNIT * (abs(log_mgf) + abs(top))
    return math.exp(2 * max(log_mgf - top + slack, _LEAST_SHIFT) + 16 * UNIT)
