r"""How far a shift by 1 moves a sum of n Laplace variables of scale :math:`1/\varepsilon_0`.

*From above.* An exponential variable is a geometric one on a grid plus an independent rest, so a
Laplace variable is a two-sided geometric one on the grid plus an independent rest: the sum reveals
at most what :mod:`shuffledp.divergence.geometric_shift` says, for every grid. The relative
difference shrinks like the square of the grid's width.

*From below.* For every threshold t, in units of the scale, and :math:`0<\theta<1`,

.. math:: \delta\ge g(t)=P(S>t-\varepsilon_0)-\lambda P(S>t)
   =\frac1{2\pi}\int\frac{e^{-zt}}{(1-z^2)^n}\,\frac{e^{z\varepsilon_0}-\lambda}z\,d\tau,
   \qquad z=\theta+i\tau,

summed with the step :math:`2\pi/L`, which counts :math:`\sum_me^{\theta mL}g(t+mL)`, up to a
node T. With :math:`v=1-\theta^2`, what is beyond T is at most
:math:`\frac{e^{\theta\varepsilon_0}+\lambda}{\pi T^2}\frac{v}{2(n-1)}(1+T^2/v)^{1-n}`, in units of
:math:`v^{-n}e^{-\theta t}`.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.few_laplace import MOST, few_laplace_log_shift
from shuffledp.divergence.geometric_shift import geometric_log_shift

_DEPTH = 60.0
_MAX_NODES = 1 << 17
_GRID = 14  # binary digits of the grid, in units of the scale
_COARSE_GRID = 6  # for few users, for whom the integrand falls slowly
_MAX_UNIT_ERROR = 0.02  # of the logarithm of the units, which bounds of aliases can bear
_TILTS = (0.01, 0.03, 0.1, 0.3, 0.6, 0.9)


def laplace_log_shift(n: int, epsilon0: float, epsilon: float) -> LogEnclosure:
    """Enclose log delta at epsilon.

    >>> found = laplace_log_shift(10, 1.0, 0.2)
    >>> found.lower <= math.log(0.0255168329989362) <= found.upper, found.width < 1e-4
    (True, True)
    """
    if epsilon >= epsilon0:
        return LogEnclosure(-math.inf, -math.inf)
    if n == 1:  # 1 - e^((eps - eps0)/2): the ratio has a plateau
        alone = math.log(-math.expm1((epsilon - epsilon0) / 2))
        return LogEnclosure(alone, alone).widen(16 * UNIT)
    if n <= MOST and (few := few_laplace_log_shift(n, epsilon0, epsilon)) is not None:
        return few
    digits = (_GRID if n > MOST else _COARSE_GRID) + max(math.frexp(epsilon0)[1], 0)
    rate = math.ldexp(epsilon0, -digits)
    above = geometric_log_shift(n, rate, 1 << digits, epsilon)
    if above.threshold is None:
        return above.log_delta
    lower = _lower(n, epsilon0, epsilon, rate * (above.threshold - 0.5))
    return LogEnclosure(lower, above.log_delta.upper)


def _lower(n: int, epsilon0: float, epsilon: float, t: float) -> float:
    """Return a bound on log delta from below: g(t)."""
    theta = _saddle(n, t)
    v = (1 - theta) * (1 + theta)
    farthest = theta + _TILTS[-1] * min(theta, 1 - theta)
    if 16 * UNIT * (n * farthest**2 / (1 - farthest**2) + theta * t) > _MAX_UNIT_ERROR:
        return -math.inf
    cumulant = -math.log1p(-theta * theta)
    log_unit = n * cumulant - theta * t
    period = max((_DEPTH + max(-log_unit, 0.0) + epsilon) / theta, 2 * _DEPTH / (1 - theta))
    step = 2 * math.pi / period
    reach = math.sqrt(v * math.expm1(min(_DEPTH / (n - 1), 300.0)))
    nodes = min(math.ceil(reach / step), _MAX_NODES)
    tau = step * np.arange(nodes + 1)
    x, y = tau**2 / v, 2 * theta * tau / v
    log_modulus = -0.5 * n * np.log1p(2 * x + x * x + y * y)
    phase = n * np.arctan2(y, 1 + x)
    exponent, growth = theta * epsilon0, math.expm1(epsilon)
    angle = tau * epsilon0
    swing = 2 * np.sin(angle / 2) ** 2
    tilted = math.exp(exponent)
    bracket = math.expm1(exponent) - growth - tilted * swing + 1j * tilted * np.sin(angle)
    size = math.expm1(exponent) + growth + tilted * (swing + np.abs(np.sin(angle)))
    bracket_error = UNIT * (16 * size + 4 * tilted * (angle + exponent))
    z = theta + 1j * tau
    modulus = np.exp(log_modulus)
    terms = modulus * (bracket / z * np.exp(1j * (phase - tau * t))).real
    rotation = UNIT * (48 + 40 * np.abs(log_modulus) + 24 * phase + 8 * tau * t)
    error = modulus / np.abs(z) * (np.abs(bracket) * rotation + bracket_error)
    weight = np.full(tau.size, 2 / period)
    weight[0] = 1 / period
    value = float(weight @ terms)
    slack = float(weight @ error) + UNIT * tau.size * float(weight @ np.abs(terms))
    last = float(tau[-1])
    largest = math.exp(exponent) + math.exp(epsilon)
    beyond = math.exp((1 - n) * math.log1p(last**2 / v)) * v / (2 * (n - 1))
    slack += largest / (math.pi * last**2) * beyond
    slack += _aliases(n, theta, t, period, epsilon0, epsilon, log_unit)
    least = value - slack * (1 + 1e-6)
    if least <= 0:
        return -math.inf
    error_of_unit = 16 * UNIT * (1 + n * (theta**2 / v + cumulant) + theta * t)
    return LogEnclosure(math.log(least) + log_unit, math.inf).widen(error_of_unit).lower


def _aliases(
    n: int, theta: float, t: float, period: float, epsilon0: float, epsilon: float, log_unit: float
) -> float:
    """Bound what the nodes count besides; the factor 2 covers geometric series and rounding."""
    after = math.inf
    for gap in (part * min(theta, 1 - theta) for part in _TILTS):
        if gap * period >= 1:
            s = theta + gap
            exponent = -n * math.log1p(-s * s) - s * t - log_unit - gap * period
            after = min(after, exponent + math.log(math.exp(s * epsilon0) + math.exp(epsilon)))
    before = epsilon - theta * period - log_unit
    return 2 * (math.exp(min(before, 700.0)) + math.exp(min(after, 700.0)))


def _saddle(n: int, t: float) -> float:
    """Return where n K' = t + 1/theta, about."""
    low, high = 0.0, 1.0
    for _ in range(100):
        theta = 0.5 * (low + high)
        if 2 * n * theta / (1 - theta**2) < t + 1 / theta:
            low = theta
        else:
            high = theta
    return min(0.5 * (low + high), 1 - 1e-12)
