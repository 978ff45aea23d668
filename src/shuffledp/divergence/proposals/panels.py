"""How far to follow a continuous law, and how fine its panels should be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from shuffledp.decomposition import Law, Smooth, SmoothLaw
from shuffledp.decomposition.smooth import Quadrature
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.enclosure import BEYOND_DOUBLES
from shuffledp.divergence.proposals.estimate import estimate_unbounded
from shuffledp.divergence.proposals.jumps import JumpPlan, choose_jumps
from shuffledp.divergence.proposals.size import below, estimate_saddle, largest_log_mean
from shuffledp.divergence.proposals.smoothing import USEFUL_TAU
from shuffledp.divergence.smooth_jumps import JumpRule
from shuffledp.errors import MAX_EPSILON0

_FEWEST, _FEWEST_WITH_JUMPS = 8, 40  # summands, below which cells do as well
_SHARE_OF_TAIL = 0.1  # of the tolerance
_SHARE_OF_PANELS = 0.02
_STEP = 0.125  # of the end, so that few rules are made
_HALVINGS = 5
_PANEL_FACTOR, _CLASS_FACTOR = 0.5, 1.0  # logarithms of ratios within a panel, and a class
_WAVES = 8 / 20  # waves that matter, over the deviation of the rest, and those a panel can follow
_FEWEST_PANELS, _MOST_PANELS = 3, 64  # of a class
_LOWER = 4.0  # the level of a second plan
_FAR_BELOW = 0.5  # a guess of log delta
_FEW, _VERY_FEW = 1000, 64
_MOST_CLASSES, _FEWER_CLASSES = 9, 6  # of so few users; cells are quicker where there are more
_ROUNDING = 64  # of the mantissa of epsilon, so that neighbouring ones share a rule
_SHARE_OF_WAVES = 0.05  # of the tolerance: errors of the transform where waves are short
_RATIO, _MOST_TIMES = 1.5, 64  # of neighbouring times at which these are looked at
_CAUTION = 1.5
_NEGLIGIBLE = -16.0  # logarithm of a power of a modulus
_SHARE_OF_NOISE, _CUT = 0.2, 6.0  # of the tolerance, and where noise ends the integral
_MAX_KURTOSIS = 8.0  # of the tilted sum
_EASY, _EASY_FOR_MANY = 1.0, 0.85  # the same of what never jumps
_AGREES = 1.2  # by how much a saddle point may exceed the estimate before jumps rule


@dataclass(frozen=True)
class Fineness:
    """Where a rule ends, and how often its panels are halved."""

    end: float
    halvings: int

    def rule(self, smooth: Smooth) -> Quadrature:
        """Return the rule for a law; one that is bounded ends where it does."""
        end = smooth.length if smooth.is_bounded else min(self.end, smooth.length)
        return smooth.quadrature(end, smooth.panel / 2**self.halvings)


def choose_quadrature(smooth: Smooth, n: int, epsilon: float, rtol: float) -> Quadrature | None:
    """Choose the coarsest rule that is good enough; None where large jumps or few users rule."""
    fineness = choose_fineness(smooth, n, epsilon, rtol)
    return None if fineness is None else fineness.rule(smooth)


def choose_fineness(smooth: Smooth, n: int, epsilon: float, rtol: float) -> Fineness | None:
    """Choose how fine a rule must be; None where large jumps or few users rule."""
    if n < _FEWEST or epsilon >= smooth.max_epsilon:
        return None
    rounded = _rounded_up(epsilon)
    return _choose(smooth, n, rounded if rounded < smooth.max_epsilon else epsilon, rtol)


def choose_jump_rule(
    smooth: Smooth,
    n: int,
    epsilon: float,
    rtol: float,
    found: tuple[float, float] | None = None,
    *,
    for_many: bool = False,
    least_end: float = 0.0,
) -> JumpRule | None:
    """Choose rules and which panels are jumps; None if there are none, or cells are quicker.

    The rules end at ``least_end`` or further out. Plans for many sums are more careful, since a
    second one for those that need it would cost more.

    Where the ends of log delta that a first plan has ``found`` are too far apart, the second one
    follows the law further out if the first ended too soon, else takes smaller values for jumps,
    and more of them.
    """
    growing = [piece for piece in smooth.pieces if piece.rate0 > 0]
    if n < _FEWEST_WITH_JUMPS or smooth.is_bounded or len(growing) != 1:
        return None
    try:
        plan, guess = _plan(smooth, n, epsilon, rtol, for_many=for_many)
    except BEYOND_DOUBLES:
        return None
    if not 0 < plan.level < math.inf:
        return None
    if found is not None:
        lower, upper = found
        if lower > -math.inf and upper < guess - _FAR_BELOW:
            guess = lower
        else:
            plan = JumpPlan(plan.level / _LOWER, plan.orders + 1, plan.log_mean)
    end = _end(smooth, math.log(_SHARE_OF_TAIL * rtol) + guess - max(epsilon, 0.0))
    end = max(end, least_end)
    rate = growing[0].rate0
    width = min(smooth.panel / 4, _PANEL_FACTOR / rate)
    rule = smooth.quadrature(end, width / 1.6 if n < _FEW else width)
    edges = rule.panels.edges.tolist()
    first = int(np.searchsorted(edges, math.log(plan.level + math.exp(epsilon)) / rate))
    if not 0 < first < rule.panels.count:
        return None
    rest = below(plan.level, _plain(rule.law(epsilon)))
    # Losses beyond the level are negligible at the tilts that matter.
    usual = np.where(rest.values < -plan.level, 0.0, rest.values)
    wave = _WAVES / math.sqrt(n * float(rest.weights @ usual**2))
    fine, cuts = edges[:first], []
    classes = max(round((end - edges[first]) * rate / _CLASS_FACTOR), 1)
    most = _MOST_CLASSES if n >= _VERY_FEW else _FEWER_CLASSES
    if n < _FEW and classes > most + (found is not None):
        return None
    for left, right in pairwise(np.linspace(edges[first], end, classes + 1).tolist()):
        range_of_g = math.exp(rate * right) - math.exp(rate * left)
        panels = min(max(math.ceil(wave * range_of_g), _FEWEST_PANELS), _MOST_PANELS)
        cuts.append(len(fine))
        # Between values of equal distance, or nearly so.
        span = np.linspace(math.exp(rate * left), math.exp(rate * right), panels + 1)[1:-1]
        fine += [left, *(np.log(span) / rate).tolist()]
    cuts.append(len(fine))
    return JumpRule(rule, first, smooth.rule([*fine, edges[-1]]), tuple(cuts), plan.orders)


def _plain(nodes: SmoothLaw) -> Law:
    return Law(nodes.values, nodes.weights, nodes.value_error, nodes.weight_error)


@lru_cache(maxsize=128)
def _plan(
    smooth: Smooth, n: int, epsilon: float, rtol: float, *, for_many: bool = False
) -> tuple[JumpPlan, float]:
    """Return what to take for jumps, in units of G, and an estimate of log delta."""
    law = smooth.sketch.at(epsilon).lower
    scale = max(float(np.abs(law.values).max()), 1.0)
    law = law.scaled(1 / scale)
    log_mean = min(estimate_unbounded(law, n).log_mean, largest_log_mean(law, n))
    easy = _EASY_FOR_MANY if for_many else _EASY
    plan = choose_jumps(BlockSum.of((law, n)), rtol, log_mean, easy)
    log_delta = log_mean - math.log(n) + math.log(scale)
    return JumpPlan(plan.level * scale, plan.orders, log_mean), log_delta


def _rounded_up(epsilon: float) -> float:
    """Return an epsilon a little larger: many share it, and delta is a little smaller there."""
    mantissa, exponent = math.frexp(epsilon)
    rounded = math.ldexp(math.ceil(mantissa * _ROUNDING) / _ROUNDING, exponent)
    return min(rounded, MAX_EPSILON0)


@lru_cache(maxsize=128)
def _choose(smooth: Smooth, n: int, epsilon: float, rtol: float) -> Fineness | None:
    try:
        return _coarsest(smooth, n, epsilon, rtol)
    except BEYOND_DOUBLES:
        return None


def _coarsest(smooth: Smooth, n: int, epsilon: float, rtol: float) -> Fineness | None:
    guess = math.inf if smooth.is_bounded else _plan(smooth, n, epsilon, rtol)[1]
    end = _end(smooth, math.log(_SHARE_OF_TAIL * rtol) + guess - max(epsilon, 0.0))
    nodes = Fineness(end, 0).rule(smooth).law(epsilon)
    estimate = estimate_saddle(BlockSum.of((_plain(nodes), n)))
    if estimate.kurtosis > _MAX_KURTOSIS or estimate.log_mean - math.log(n) > guess + _AGREES:
        return None
    for halving in range(_HALVINGS):
        if halving:
            nodes = Fineness(end, halving).rule(smooth).law(epsilon)
        near = float(nodes.bound.errors_at_0(estimate.theta))
        if n * near > _SHARE_OF_PANELS * rtol:
            continue
        if _error_of_waves(nodes, estimate.theta, n, rtol) <= _SHARE_OF_WAVES * rtol:
            return Fineness(end, halving)
    return None


def _error_of_waves(nodes: SmoothLaw, theta: float, n: int, rtol: float) -> float:
    """Estimate what errors of the transform add to the bounds on E[S_+], as a part of it.

    They matter from the deviation of the sum on, to where continuous parts are negligible or noise
    ends the integral: that of :class:`shuffledp.divergence.proposals.smoothing.Smoothing`, about.
    """
    tilted = nodes.weights * np.exp(theta * nodes.values)
    mass = float(tilted.sum())
    tilted /= mass
    variance = float(tilted @ (nodes.values - tilted @ nodes.values) ** 2)
    spread = math.hypot(math.sqrt(n * variance), math.sqrt(2) / theta)
    still, falling = float(tilted[nodes.nodes :].sum()), float(nodes.bound.variation(theta)) / mass
    noise = min(_SHARE_OF_NOISE * rtol / theta**2, USEFUL_TAU**2 * variance)
    end = _CUT / math.sqrt(noise)
    if (room := math.exp(_NEGLIGIBLE / n) - still) > 0:
        end = min(end, falling / room)
    count = math.ceil(math.log(max(end * spread, _RATIO)) / math.log(_RATIO))
    t = np.exp(math.log(_RATIO) * np.arange(min(count, _MOST_TIMES))) / spread
    # The table of errors has steps of its own, and moduli are larger between these times.
    errors = _CAUTION * nodes.transform_errors(theta, _RATIO**2 * t) / mass
    matter = n * errors > _SHARE_OF_PANELS * rtol
    t, errors = t[matter], errors[matter]
    moduli = np.abs(np.exp(1j * np.multiply.outer(t, nodes.values)) @ tilted)
    moduli = np.minimum(np.maximum.accumulate(moduli[::-1])[::-1], 1.0)
    most = np.minimum(np.minimum(moduli + errors, still + falling / t), 1.0)
    excess = np.maximum(most**n - moduli**n, 0.0)
    weights = (1 / (theta**2 + t**2) + noise) * np.exp(-noise * t**2 / 2)
    added = float((t * weights) @ excess) * math.log(_RATIO) / math.pi
    return added * theta**2 * math.sqrt(2 * math.pi) * spread


def _end(smooth: Smooth, log_mass: float) -> float:
    """Return where to end so that no more than this mass lies beyond."""
    if smooth.is_bounded:
        return smooth.length
    low, high = 1, math.ceil(smooth.length / _STEP)
    while low < high:
        middle = (low + high) // 2
        if smooth.exposed(middle * _STEP) <= math.exp(log_mass):
            high = middle
        else:
            low = middle + 1
    return min(low * _STEP, smooth.length)
