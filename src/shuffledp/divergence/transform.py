r"""What the engine may do with a law that is known up to an error of its transform.

Let M be the transform of the true law and :math:`M_Q` that of nodes, with
:math:`|M(z)-M_Q(z)|\le E(\theta,t)`, errors of the nodes' values included:
:math:`|e^{zg}-e^{zg'}|\le|z|\,|g-g'|\,e^{\theta\max(g,g')}`. Then

.. math:: |\log M(\theta)-\log M_Q(\theta)|\le\frac e{1-e},\qquad
          \Big|\frac{M(\theta+it)}{M(\theta)}-\frac{M_Q(\theta+it)}{M_Q(\theta)}\Big|
          \le\frac{E(\theta,t)+E(\theta,0)}{M_Q(\theta)(1-e)},\qquad
          e=\frac{E(\theta,0)}{M_Q(\theta)} .

Far out it is the continuous parts of the true law that vanish like 1/t, which needs no nodes.
So the error enters the enclosure where rounding does: that of :math:`\log M` in the common factor,
that of the characteristic function at every node and in the bound of every stretch that is skipped.
All other steps (smoothing, aliasing, truncation, the mass at 0) are statements on the true law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.transform import SmoothLaw

#: Where the error is tabulated, in units of 1/deviation of one summand; it grows in between.
TIMES: FloatArray = np.concatenate(
    [np.geomspace(1e-7, 1e-2, 9), np.geomspace(0.03, 40.0, 16), np.geomspace(60.0, 4000.0, 12)]
)
_MAX_LOG = 700.0

_GROUPS = 8  # of tilts at which the error is evaluated together

#: Relative error of M(theta) that is any use.
LARGEST = 0.5

#: For roundings of sums and exponents that make small numbers.
ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class TransformError:
    """Bounds for a law that is tilted.

    Attributes:
        law: the nodes.
        theta: the tilt.
        log_mgf: of the nodes.
        value_shift: bound on the mean error of the values under the tilted law.
        deviation: of one summand under it; any number gives valid bounds.
    """

    law: SmoothLaw
    theta: float
    log_mgf: float
    value_shift: float
    deviation: float

    def _relative(self, raw: FloatArray) -> FloatArray:
        """Return E(theta, t) over M(theta), but for errors of values that grow with t."""
        with np.errstate(invalid="ignore", over="ignore"):
            errors = raw * _exp(-self.log_mgf) * ROUND_UP + self.theta * self.value_shift
        # Infinite errors of a law that is beyond doubles.
        return np.where(np.isnan(errors), math.inf, errors)

    @cached_property
    def _at_0(self) -> float:
        e = float(self._relative(self.law.bound.errors_at_0(self.theta)))
        return e if e < LARGEST else math.inf

    @property
    def _room(self) -> float:
        return 1 / (1 - self._at_0) * ROUND_UP

    @property
    def log_mgf_error(self) -> float:
        """The bound on the error of log M."""
        return self._at_0 * self._room if self._at_0 < LARGEST else math.inf

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        """Increasing t, and the bound up to each of them, and one more for all t."""
        times = np.zeros(0)
        if self._at_0 == math.inf:
            return times, np.array([math.inf])
        if 0 < self.deviation < math.inf:
            times = TIMES / self.deviation
        raw = self.law.transform_errors(self.theta, np.append(times, math.inf))
        errors = self._relative(raw)
        return times, (errors + self._at_0) * self._room

    def at(self, t: FloatArray) -> FloatArray:
        """Bound the error of the characteristic function at every t >= 0; it grows with t."""
        times, errors = self._table
        bounds: FloatArray = errors[np.searchsorted(times, t)]
        return bounds + self.value_shift * self._room * t if self._at_0 < math.inf else bounds

    @cached_property
    def _decay(self) -> tuple[float, float]:
        """What atoms can add to the modulus; what all else adds is at most the second over t."""
        if self._at_0 == math.inf:
            return 1.0, 0.0
        law, theta = self.law, self.theta
        others = slice(law.nodes, None)
        slack = law.weight_error[others] + theta * law.value_error[others]
        still = law.weights[others] @ np.exp(theta * law.values[others] - self.log_mgf + slack)
        falling = float(law.bound.variation(theta)) * _exp(-self.log_mgf)
        return float(still) * self._room, falling * self._room

    def modulus(self, t: FloatArray) -> FloatArray:
        """Bound the modulus of the true characteristic function from some t > 0 on."""
        still, falling = self._decay
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds: FloatArray = still + falling / t
        return np.where(t > 0, bounds, 1.0)


def last_of_groups(size: int) -> IntArray:
    """Return the places of the last tilts of groups, of so many in increasing order."""
    places: IntArray = -(-np.arange(1, _GROUPS + 1) * size // _GROUPS) - 1
    return places


def log_mgf_errors(law: SmoothLaw, thetas: FloatArray, log_mgfs: FloatArray) -> FloatArray:
    """Bound the errors of K at several tilts.

    That of the quadrature grows with the tilt: the largest of neighbouring ones stands for all.
    """
    ordered = np.sort(thetas)
    last = ordered[last_of_groups(thetas.size)]
    errors = law.bound.errors_at_0(last)[np.searchsorted(last, thetas)]
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.multiply.outer(thetas, law.values + law.value_error) + np.log(law.weights)
        shift = np.exp(moved - log_mgfs[:, None]) @ law.value_error
        # Roundings of exponents below 700 and of sums: 1e-9 of the small numbers they make.
        total = (errors * np.exp(-log_mgfs) + thetas * shift) * ROUND_UP
        return np.where(total < LARGEST, total / (1 - total) * ROUND_UP, math.inf)


def _exp(x: float) -> float:
    return math.exp(x) if x < _MAX_LOG else math.inf
