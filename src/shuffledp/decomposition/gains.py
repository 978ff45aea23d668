"""The values of the privacy amplification random variable, and their errors."""

from __future__ import annotations

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.arithmetic import finite_or_zero, two_sum
from shuffledp.decomposition.components import Components


def gains(parts: Components, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return :math:`a_j/c_j-e^\varepsilon b_j/c_j` of all components, and bounds on the errors.

    With :math:`\rho=\log(a_j/b_j)` it is
    :math:`(b_j/c_j)\,e^\varepsilon\,\mathrm{expm1}(\rho-\varepsilon)`, which keeps full relative
    accuracy where a and :math:`e^\varepsilon b` nearly cancel. A column of epsilons gives a row for
    each.
    """
    log0, log1 = parts.log_ratio0, parts.log_ratio1
    rho, rho_error = two_sum(log0, -log1)
    excess = rho - epsilon
    cost = np.exp(log1 + epsilon)
    far = excess > 40  # nothing cancels there, and expm1 might overflow
    near_value = cost * np.expm1(np.where(far, 0.0, excess))
    values = np.where(far, np.exp(log0) - cost, near_value)
    magnitude = np.exp(log0) + cost
    error = magnitude * np.expm1(parts.log_ratio_error + rho_error)
    logs = np.abs(finite_or_zero(log1 + epsilon)) + np.abs(finite_or_zero(log0)) * far
    # Two elementary functions to 4 units, two operations, and rounded exponents.
    error += UNIT * np.abs(values) * (12 + logs + np.clip(finite_or_zero(excess), 0.0, 40.0))
    return values, error
