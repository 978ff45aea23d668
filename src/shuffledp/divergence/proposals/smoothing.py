"""How much normal noise to add, and how much each kind of error may cost."""

from __future__ import annotations

import math

from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.tilt import TiltedSum

_SQRT_2PI = math.sqrt(2 * math.pi)
_SMALLEST_VALUE = 1e-290

# Shares of the tolerance.
_SHARE_OF_SMOOTHING = 0.2
_SHARE_OF_GRID = 0.04
_SHARE_OF_SKIPPING = 0.02
_SHARE_OF_ALL = 0.5

# tau as a multiple of 1/theta, of the deviation of one summand, and of what it would be without.
_LARGEST_TAU = 0.3
USEFUL_TAU = 0.19
_SMALLEST_FACTOR = 1e-3

# Of the change of tau from one round to the next; of the value that was measured.
_LEAST_SHRINK = 0.12
_MOST_SHRINK = 0.85
_ROOT_ABOVE = 0.2  # smooth laws have an error like tau**2, laws with atoms at 0 one like tau
_LEAST_VALUE = 1e-3


class Smoothing:
    """The standard deviation ``tau`` of the noise, from a guess of the answer, then from answers.

    ``value`` is the answer as it is known so far, in units of F(theta).
    """

    def __init__(self, tilted: TiltedSum, rtol: float, kernel: Kernel = HINGE) -> None:
        theta, other = tilted.theta, tilted.theta + kernel.curvature
        self.rtol = rtol
        self.sigma = math.sqrt(tilted.variance)
        self.poles = theta * other  # of the kernel, at the saddle point
        value = 1 / (self.poles * _SQRT_2PI * math.hypot(self.sigma, 1 / theta, 1 / other))
        self.value = max(value, _SMALLEST_VALUE)
        self.tau = self._first_tau(tilted, min(_LARGEST_TAU / theta, 1 / other))

    def _first_tau(self, tilted: TiltedSum, tau: float) -> float:
        """Choose tau so that the predicted smoothing error is a fifth of the tolerance.

        The prediction takes the sum for normal; where it lies on a lattice the error is larger.
        """
        if self.sigma > 0:
            distance = min(tilted.mean / self.sigma, 1e100)
            log_density = -0.5 * distance**2 - math.log(_SQRT_2PI * self.sigma)
            log_density = min(log_density, math.log(2 * self.poles * self.value))
            log_tau2 = math.log(_SHARE_OF_SMOOTHING * self.rtol * self.value) - log_density
            if log_tau2 < 2 * math.log(tau):
                tau = math.exp(log_tau2 / 2)
        if tilted.theta * self.sigma > 1:
            # Below this scale far nodes are skipped anyway: less smoothing costs nothing.
            useful = USEFUL_TAU * tilted.deviation
            tau = min(tau, max(useful, _SMALLEST_FACTOR * tau))
        return tau

    @property
    def grid_allowance(self) -> float:
        """What aliases may add, and truncation."""
        return _SHARE_OF_GRID * self.rtol * self.value

    @property
    def skip_allowance(self) -> float:
        """What nodes that are skipped may add."""
        return _SHARE_OF_SKIPPING * self.rtol * self.value

    def improve(self, bias: float, other: float, measured: float) -> bool:
        """Choose the next tau; False if no choice helps because rounding dominates.

        Args:
            bias: the error of smoothing that came out.
            other: the errors of aliases, truncation and skipped nodes.
            measured: the value that came out.
        """
        self.value = min(self.value, max(measured, _LEAST_VALUE * self.value))
        target = _SHARE_OF_ALL * self.rtol * self.value
        if bias <= target and other <= target:
            return False
        if bias > target:
            shrink = min(max(target / bias, _LEAST_SHRINK), _MOST_SHRINK)
            self.tau *= math.sqrt(shrink) if shrink > _ROOT_ABOVE else shrink
        return True
