"""How far to follow a continuous law, and how fine its panels should be."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.decomposition import Smooth, SmoothLaw
from shuffledp.decomposition.smooth import Quadrature
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.enclosure import BEYOND_DOUBLES
from shuffledp.divergence.proposals.jumps import choose_jumps
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.proposals.size import below
from shuffledp.divergence.tilt import tilt_sum

_FEWEST = 24  # summands, below which cells do as well
_SHARE_OF_TAIL = 0.02  # of the tolerance
_SHARE_OF_PANELS = 0.02
_STEP = 0.5  # of the end, so that few rules are made
_HALVINGS = 4
_FAR_OUT = 25.0  # in units of 1/deviation, where stretches shall be skipped in any case
_FAR_ERROR = 0.05
_SMALL = 0.8  # moduli of the characteristic function whose powers are negligible


def choose_quadrature(smooth: Smooth, n: int, epsilon: float, rtol: float) -> Quadrature | None:
    """Choose the coarsest rule that is good enough; None where large jumps or few users rule."""
    if n < _FEWEST:
        return None
    try:
        return _choose(smooth, n, epsilon, rtol)
    except BEYOND_DOUBLES:
        return None


def _choose(smooth: Smooth, n: int, epsilon: float, rtol: float) -> Quadrature | None:
    law = smooth.sketch.at(epsilon).lower
    if law.values.max() <= 0:
        return None
    scale = max(float(np.abs(law.values).max()), 1.0)
    law = law.scaled(1 / scale)
    plan = choose_jumps(BlockSum.of((law, n)), rtol)
    if plan.orders > 1:
        return None
    rest = BlockSum.of((below(plan.level, law), n))
    tilted = tilt_sum(rest, saddle_point(rest))
    spread = math.hypot(math.sqrt(tilted.variance), math.sqrt(2) / tilted.theta)
    delta = math.exp(tilted.log_mgf) / (tilted.theta**2 * spread * n) * scale
    end = _end(smooth, _SHARE_OF_TAIL * rtol * delta / (1 + math.exp(epsilon)))
    theta, deviation = tilted.theta / scale, tilted.deviation * scale
    for halving in range(_HALVINGS):
        rule = smooth.quadrature(end, smooth.panel / 2**halving)
        nodes = rule.law(epsilon)
        if halving == 0:
            far_out = _far_out(nodes, theta, deviation)
        near, far = nodes.transform_errors(theta, np.array([theta, far_out]))
        if n * near <= _SHARE_OF_PANELS * rtol and far <= _FAR_ERROR:
            return rule
    return None


def _far_out(nodes: SmoothLaw, theta: float, deviation: float) -> float:
    """Return up to which t nodes are needed: beyond, the continuous law vanishes."""
    tilted = np.exp(theta * nodes.values) * nodes.weights
    still = float(tilted[nodes.nodes :].sum() / tilted.sum())
    falling = nodes.bound.variation(theta) / float(tilted.sum())
    return min(falling / max(_SMALL - still, _SMALL / 8), _FAR_OUT / deviation)


def _end(smooth: Smooth, mass: float) -> float:
    """Return where to end so that no more than this mass lies beyond."""
    if smooth.is_bounded:
        return smooth.length
    low, high = 1, math.ceil(smooth.length / _STEP)
    while low < high:
        middle = (low + high) // 2
        if smooth.exposed(middle * _STEP) <= mass:
            high = middle
        else:
            low = middle + 1
    return min(low * _STEP, smooth.length)
