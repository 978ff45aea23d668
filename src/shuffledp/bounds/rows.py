r"""Bounds on log delta for all ordered pairs of rows of a table at once, in doubles.

With :math:`c` the least probability of each output and ratios :math:`r_x=R(x)/c`, the gain of a
pair is :math:`G=r_x-e^\varepsilon r_{x'}` under c, and 0 on what c leaves over; outputs with c = 0
add :math:`\sum(R(x)-e^\varepsilon R(x'))_+` to delta. The bound holds for every tilt
:math:`\theta>0`; only its width depends on it.

*One tilt.* From :math:`x_+\le e^{\theta x}/(e\theta)` follows
:math:`\delta\le M^n/(e\,\theta\,n)`, and one product of matrices has all

.. math:: M-1=E(e^{\theta G}-1)=\sum cu_x-\sum cv_{x'}-\sum cu_xv_{x'},\qquad
          u_x=e^{\theta r_x}-1,\quad v_{x'}=1-e^{-\theta e^\varepsilon r_{x'}},

which keeps its digits however many users there are. So has M itself, which is better where the
exponents are large.

The slack for rounding is stated beforehand. With U = 2**-53, probabilities are good to 8U, so an
exponent y of either sign to 32U times :math:`|y|` before its two parts are subtracted, and an error
e in it moves :math:`e^y-1` by at most e times :math:`\max(1,e^y)`; sums of k terms add at most kU
times the sum of their sizes. Below, 64U(k+1) times the sum of all sizes covers this twice over.
Where a slack is not small, or exponents exceed 300, nothing is said: the bound is infinite.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray

#: Roundings of each term, generously.
_ROUNDINGS = 64 * UNIT

#: Beyond this exponent products of exponentials could leave the range of doubles.
_MAX_EXPONENT = 300.0

#: Logarithms of doubles are smaller than this.
_LARGEST_LOG = 800


class Rows:
    """The laws of a table's rows.

    Args:
        probabilities: a row for each law, good to eight units of round-off; a zero is exact.
    """

    def __init__(self, probabilities: FloatArray) -> None:
        least = probabilities.min(axis=0)
        covered = least > 0
        self.common = least[covered]
        self.ratios = probabilities[:, covered] / self.common
        self.outside = probabilities[:, ~covered]
        self.probabilities, self.count = probabilities, len(probabilities)
        self._slack = _ROUNDINGS * (self.common.size + 1)

    def gains(self, x: int | IntArray, y: int | IntArray, epsilon: float) -> FloatArray:
        """Return G of a pair, or of several, on each output with c > 0."""
        values: FloatArray = self.ratios[x] - math.exp(epsilon) * self.ratios[y]
        return values

    def leader(self) -> tuple[int, int]:
        """Return the pair of most mass outside c or most variance of r_x - r_x', likely worst."""
        if self.outside.any():
            gains = _hockey_sticks(self.outside, 0.0)
        else:
            scaled = self.ratios / self.ratios.max()  # so that squares stay finite
            squares = scaled**2 @ self.common
            gains = squares[:, None] + squares - 2 * (scaled * self.common) @ scaled.T
        np.fill_diagonal(gains, -math.inf)
        x, y = divmod(int(np.argmax(gains)), self.count)
        return x, y

    def by_tilt(self, n: int, epsilon: float, theta: float) -> FloatArray:
        """Return upper bounds on log delta by one tilt: a row for each x, a column for each x'."""
        rising, falling = theta * self.ratios, theta * math.exp(epsilon) * self.ratios
        if not rising.max(initial=0.0) <= _MAX_EXPONENT:
            return np.full((self.count, self.count), math.inf)
        slack = self._slack * (1 + float(rising.max(initial=0.0)))
        grown, fallen = np.expm1(rising) * self.common, -np.expm1(-falling)
        a, b, c = grown.sum(axis=1)[:, None], fallen @ self.common, grown @ fallen.T
        apart = (a - b - c) + slack * (a + b + c)
        slack = self._slack * (1 + float(rising.max(initial=0.0) + falling.max(initial=0.0)))
        left = max(1 - float(self.common.sum()), 0.0) + self._slack
        whole = (np.exp(rising) * self.common) @ np.exp(-falling).T * (1 + slack) + left
        with np.errstate(invalid="ignore", divide="ignore"):
            log_power = n * np.log1p(np.minimum(apart, whole - 1))
            bounds = log_power - (1 + math.log(theta) + math.log(n))
            bounds += _ROUNDINGS * (np.abs(log_power) + abs(math.log(theta)) + math.log(n) + 1)
        bounds = np.logaddexp(bounds, self._log_exposed(epsilon))
        return np.where(np.isnan(bounds), math.inf, bounds)

    def by_one(self, epsilon: float) -> FloatArray:
        """Return upper bounds on log delta, as if there were one user: more hide no less."""
        with np.errstate(divide="ignore"):
            bounds: FloatArray = np.log(_hockey_sticks(self.probabilities, epsilon))
        return bounds

    def _log_exposed(self, epsilon: float) -> FloatArray:
        with np.errstate(divide="ignore"):
            found: FloatArray = np.log(_hockey_sticks(self.outside, epsilon))
        return found


def _hockey_sticks(laws: FloatArray, epsilon: float) -> FloatArray:
    r"""Return upper bounds on :math:`\sum(a-e^\varepsilon b)_+` for all pairs of rows a and b.

    Twice the slack that the sums need, and more for their logarithms.
    """
    slack = 2 * _ROUNDINGS * (laws.shape[1] + 1)
    falling = math.exp(epsilon) * (1 - slack) * laws
    sums = [np.maximum(row * (1 + slack) - falling, 0).sum(axis=1) for row in laws]
    found: FloatArray = np.array(sums) * (1 + slack * _LARGEST_LOG)
    return found
