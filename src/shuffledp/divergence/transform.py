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

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.decomposition.transform import SmoothLaw

# Where the error is tabulated, in units of 1/deviation of one summand; it grows in between.
_TIMES: FloatArray = np.concatenate(
    [np.geomspace(1e-7, 1e-2, 9), np.geomspace(0.03, 40.0, 16), np.geomspace(60.0, 4000.0, 12)]
)
_GROUPS = 8  # of tilts at which the error is evaluated together
_MAX_LOG = 700.0
_ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class TransformError:
    """A bound on the error of a characteristic function that grows with t.

    Attributes:
        times: increasing t.
        errors: the bound up to each of them, and one more for all t.
        slope: what errors of values add per unit of t.
        log_mgf: the bound on the error of log M.
        still: what atoms can add to the modulus of the characteristic function.
        falling: what all else adds is at most that over t.
    """

    times: FloatArray
    errors: FloatArray
    slope: float
    log_mgf: float
    still: float
    falling: float

    def modulus(self, t: FloatArray) -> FloatArray:
        """Bound the modulus of the true characteristic function from some t > 0 on."""
        with np.errstate(divide="ignore"):
            bounds: FloatArray = self.still + self.falling / t
        return bounds

    def at(self, t: FloatArray) -> FloatArray:
        """Bound the error at every t >= 0."""
        errors: FloatArray = self.errors[np.searchsorted(self.times, t)] + self.slope * t
        return errors


def transform_error(
    law: SmoothLaw, theta: float, log_mgf: float, value_shift: float, deviation: float
) -> TransformError:
    """Return the errors of a law that is tilted by theta.

    Args:
        law: the nodes.
        theta: the tilt.
        log_mgf: of the nodes.
        value_shift: bound on the mean error of the values under the tilted law.
        deviation: of one summand under it; any number gives valid bounds.
    """
    times = _TIMES / deviation if 0 < deviation < math.inf else np.zeros(0)
    raw = law.transform_errors(theta, np.concatenate([[0.0], times, [math.inf]]))
    with np.errstate(invalid="ignore", over="ignore"):
        errors = raw * _exp(-log_mgf) * _ROUND_UP + theta * value_shift
    errors[np.isnan(errors)] = math.inf  # infinite errors of a law that is beyond doubles
    e = float(errors[0])
    if not e < 0.5:
        return TransformError(np.zeros(0), np.array([math.inf]), 0.0, math.inf, 1.0, 0.0)
    room = 1 / (1 - e) * _ROUND_UP
    atoms = theta * law.values[law.nodes :] - log_mgf
    slack = law.weight_error[law.nodes :] + theta * law.value_error[law.nodes :]
    still = float(law.weights[law.nodes :] @ np.exp(atoms + slack))
    return TransformError(
        times=times,
        errors=(errors[1:] + e) * room,
        slope=value_shift * room,
        log_mgf=e * room,
        still=still * room,
        falling=law.bound.variation(theta) * _exp(-log_mgf) * room,
    )


def log_mgf_errors(law: SmoothLaw, thetas: FloatArray, log_mgfs: FloatArray) -> FloatArray:
    """Bound the errors of K at several tilts.

    That of the quadrature grows with the tilt: the largest of neighbouring ones stands for all.
    """
    order = np.argsort(thetas)
    errors = np.empty(thetas.size)
    for group in np.array_split(order, _GROUPS):
        if group.size:
            largest = float(thetas[group[-1]])
            errors[group] = law.transform_errors(largest, np.zeros(1))[0]
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.multiply.outer(thetas, law.values + law.value_error) + np.log(law.weights)
        shift = np.exp(moved - log_mgfs[:, None]) @ law.value_error
        # Roundings of exponents below 700 and of sums: 1e-9 of the small numbers they make.
        total = (errors * np.exp(-log_mgfs) + thetas * shift) * _ROUND_UP
        return np.where(total < 0.5, total / (1 - total) * _ROUND_UP, math.inf)


def _exp(x: float) -> float:
    return math.exp(x) if x < _MAX_LOG else math.inf
