r"""Rényi divergences of shuffled rounds, for ledgers that count in them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.given import as_rounds
from shuffledp.accounting.rounds.many_rounds import largest_sum
from shuffledp.accounting.rounds.rounds import Rounds
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.basics.arrays import UNIT
from shuffledp.basics.errors import MAX_EPSILON0, check_real, wide_is_enough
from shuffledp.basics.interval import Interval, exp_up
from shuffledp.bounds.rounds.dominating import dominating
from shuffledp.bounds.rounds.grid import epsilons, scale_of
from shuffledp.bounds.rounds.loss_law import LossLaw, enclose
from shuffledp.bounds.rounds.node import START, Node, Point, node_at, reversed_node_at
from shuffledp.mechanisms import LocalRandomizer

_LARGE = 500.0  # of an exponent: e to that power is still a double
_NOTHING = -746.0  # a log delta that is 0 in doubles, rounded to the nearest
_RTOL = 1e-3  # sets the width of cells; laws on any grid are valid


def renyi_divergence(collected: ShuffleAccountant | Rounds, order: float) -> float:
    r"""Return a certified bound on the Rényi divergence of neighbouring datasets.

    For an order :math:`\alpha>1` and any two datasets that differ as ``collected.relation`` says,
    in either order, :math:`D_\alpha(P\|Q)=\log E_Q[(dP/dQ)^\alpha]/(\alpha-1)` is at most this. It
    is a positive mixture of hockey sticks, so the law that dominates their profile dominates it;
    over rounds it adds up, also if datasets react to what was published.

    Args:
        collected: one round, or several.
        order: the order, above 1.

    Returns:
        The divergence, rounded up; infinite if the randomizer has no finite level.

    >>> weekly = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
    >>> print(f"{renyi_divergence(weekly, 2):.6f}")
    0.000498
    """
    rounds, alpha = as_rounds(collected), check_order(order)
    parts = [(_one_round(kind.accountant, alpha), kind.times) for kind in rounds.kinds]
    return largest_sum(parts, rounds.limit).upper


def check_order(order: object) -> float:
    """Return the order of a divergence; refuse one that is not above 1."""
    number = check_real("order", order)
    if number <= 1:
        raise ValueError(f"order must be greater than 1, got {order!r}")
    return number


def _one_round(accountant: ShuffleAccountant, order: float) -> float:
    with wide_is_enough():
        end = accountant.epsilon_interval(0.0).upper
        if end > MAX_EPSILON0:
            return math.inf
        a = accountant
        law = _law(a.randomizer, a.crowd, a.bound, a.view, end)
    return min(_divergence(law, order, end), end)


@lru_cache(maxsize=64)
def _law(
    randomizer: LocalRandomizer, crowd: Crowd, bound: Bound, view: View, end: float
) -> LossLaw:
    """Return the dominating law of values up to the end, where delta is 0."""
    accountant = ShuffleAccountant(
        randomizer,
        crowd.n,
        bound=bound,
        corrupted=crowd.corrupted,
        corrupted_adaptively=crowd.corrupted_adaptively,
        view=view,
    )
    values = {0.0: accountant.proved_log_delta(0.0)[0]}
    for epsilon in epsilons(scale_of(exp_up(values[0.0])), _RTOL, 0, end):
        if epsilon not in values:
            values[epsilon] = accountant.proved_log_delta(epsilon)[0]
        if values[epsilon] < _NOTHING:
            break
    values[end] = -math.inf
    known = {e: Interval(-math.inf, value) for e, value in values.items()}
    left = [reversed_node_at(e, known[e]).above for e in sorted(known, reverse=True) if e > 0]
    right = [node_at(e, known[e]).above for e in sorted(known)]
    return dominating([START, *map(_upper, [*left, *right])])


def _upper(above: Point) -> Node:
    return Node(above, above)


def _divergence(law: LossLaw, order: float, end: float) -> float:
    r"""Return a bound on the divergence of laws below this one that have no loss above ``end``.

    With :math:`f(t)=t^\alpha-1-\alpha(t-1)\ge0` it is :math:`E_Q[t^\alpha]-1=E_Q[f(t)]+
    \alpha(E_Q[t]-1)`, and the last term is at most 0. No terms of the sum cancel. What is at
    infinity here, say m, is somewhere up to the end there: beyond lambda = 1 it adds m to the
    profile, so at most :math:`m\int\alpha(\alpha-1)\lambda^{\alpha-2}d\lambda\le
    m\,\alpha\,e^{(\alpha-1)end}`.
    """
    weights = [mass / ratio for mass, ratio in zip(law.masses, law.ratios, strict=True)]
    rest = max(1 - sum(weights, Fraction(0)), Fraction(0))  # where P is 0: f(0) = order - 1
    try:
        terms = [_term(*pair, order) for pair in zip(weights, law.ratios, strict=True)]
        terms.append(enclose(rest).upper * (order - 1))
        if law.infinite:
            terms.append(_large(law.infinite, (order - 1) * end) * order)
    except OverflowError:
        return math.inf
    # Terms are rounded a few times, the sum once. The exponent of a large one is below 710: its
    # rounding, at most one unit of that, is far the largest error.
    total = math.fsum(terms) * (1 + 1024 * UNIT)
    return math.log1p(total) / (order - 1) * (1 + 16 * UNIT)


def _term(weight: Fraction, ratio: Fraction, order: float) -> float:
    """Return an upper bound on weight times f, whose two parts cancel next to ratio 1."""
    x = float(ratio - 1)
    power = order * (math.log1p(x) if 2 * ratio > 1 else math.log(float(ratio)))
    if power > _LARGE:
        return _large(weight, power)
    raised = math.expm1(power)
    # The argument has relative errors of 16 units, which the exponential multiplies by its value.
    error = 16 * UNIT * (abs(power) * (raised + 1) + abs(raised) + order * abs(x))
    return enclose(weight).upper * max(raised - order * x + error, 0.0)


def _large(weight: Fraction, power: float) -> float:
    """Return an upper bound on a weight below 1 times an exponential that might overflow."""
    return math.exp(power * (1 + 64 * UNIT) + math.log(enclose(weight).upper) * (1 - 8 * UNIT))
