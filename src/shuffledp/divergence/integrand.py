r"""What stands at the nodes of a contour: its values, its bounds, their errors.

In units of F(theta) the integrand at z = theta + it is

.. math:: \frac{\prod_b\varphi_b(t)^{n_b}\,e^{imt-\tau^2t^2/2+i\tau^2(2\theta+c)t/2}}{z(z+c)},

m the sum of all centres. Everything here holds for the nodes of one sum, whose step, smoothing and
mean are numbers, and for one sum for every node, where they are vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.characteristic import Characteristic, log_largest_modulus

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class NodeTerms:
    """What nodes add to the sums for E f(X) (``mean``) and the density of X at 0, and the errors.

    ``size`` is the modulus of what a node adds to the density.
    """

    mean: FloatArray
    density: FloatArray
    rounding_mean: FloatArray
    rounding_density: FloatArray
    size: FloatArray


@dataclass(frozen=True, eq=False)
class Integrand:
    """F(theta + it)/F(theta), of one sum or of one for every node.

    Attributes:
        theta: the tilt.
        curvature: that of the kernel.
        tau: deviation of the noise.
        step: distance of the nodes.
        times: the number of copies in each block.
        mean: sum of all centres, less the offset.
        mean_size: sum of the absolute values of all these.
    """

    theta: float
    curvature: float
    tau: float | FloatArray
    step: float | FloatArray
    times: Sequence[int | FloatArray]
    mean: float | FloatArray
    mean_size: float | FloatArray

    def kernel_size(self, t: FloatArray) -> FloatArray:
        """Return |z (z + c)|, z = theta + it; it grows with t."""
        square = t * t
        first = self.theta**2 + square
        if self.curvature == 0:
            return first
        return np.sqrt(first * ((self.theta + self.curvature) ** 2 + square))

    def bounds(
        self, starts: IntArray, sizes: IntArray, squares: Sequence[FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Bound what the nodes of each stretch add to the two sums.

        ``squares`` bound the square of the modulus of every characteristic function there.
        """
        left = np.multiply(self.step, starts)
        exponent = -0.5 * (self.tau * left) ** 2
        for square, times in zip(squares, self.times, strict=True):
            exponent += 0.5 * times * np.log(square)
        density = np.multiply(sizes * (self.step / math.pi), np.exp(exponent))
        return density / self.kernel_size(left), density

    def terms(
        self, k: IntArray, t: FloatArray, characteristics: Sequence[Characteristic]
    ) -> NodeTerms:
        """Return what the nodes k, at t, add, given the characteristic functions of all laws."""
        theta, tau2 = self.theta, self.tau**2
        # z (z + c) = theta (theta + c) - t^2 + it (2 theta + c), in the kernel and in the noise.
        twist = 2 * theta + self.curvature
        exponent = -0.5 * tau2 * t * t
        phase = (self.mean + 0.5 * tau2 * twist) * t
        size = 8 + (self.mean_size + 0.5 * tau2 * twist) * t + tau2 * t * t
        log_largest, log_limit, share = exponent.copy(), exponent.copy(), np.zeros(t.size)
        with np.errstate(invalid="ignore", divide="ignore"):
            for times, phi in zip(self.times, characteristics, strict=True):
                shrink, turn = times * phi.log_modulus, times * phi.argument
                exponent += shrink
                phase += turn
                size += np.abs(shrink) + np.abs(turn)
                modulus = np.exp(phi.log_modulus)
                largest = np.maximum(modulus, np.minimum(modulus + phi.error, 1.0))
                log_largest += times * np.maximum(phi.log_modulus, log_largest_modulus(phi))
                share += times * phi.error / np.maximum(largest, _TINY)
                if phi.limit is not None:
                    log_limit += times * np.log(phi.limit)
            amplitude = np.exp(exponent)
            # Parts of exponent and phase have 8 roundings and are added up, one for each law; a
            # node has 20 of its own, and pairwise sums have less than 44.
            wobble = (8 + len(characteristics)) * UNIT * size * amplitude
            wobble[amplitude == 0] = 0.0
        # The factors are replaced one after the other, each at most the larger of its two values:
        # |prod x - prod y| <= (prod max(|x|, |y|)) sum |x - y|/max(|x|, |y|); phi is at most 1.
        # It is also at most the sum of both products, of which one has a limit of its own.
        with np.errstate(invalid="ignore"):
            moved = np.fmin(np.exp(log_largest) * share, np.exp(log_limit) + amplitude)
        scale = (self.step / math.pi) * np.where(k == 0, 0.5, 1.0)
        norm = 1 / self.kernel_size(t)
        cosine, sine = np.cos(phase), np.sin(phase)
        modulus = scale * amplitude
        mean = modulus * norm**2
        mean *= (theta * (theta + self.curvature) - t * t) * cosine + twist * t * sine
        rounding = scale * (moved + wobble)
        return NodeTerms(mean, modulus * cosine, rounding * norm, rounding, modulus)
