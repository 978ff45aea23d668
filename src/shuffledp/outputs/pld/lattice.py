r"""A loss law whose losses are multiples of a given width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from shuffledp.basics.arrays import UNIT
from shuffledp.basics.interval import Interval, exp_up
from shuffledp.bounds.rounds.dominating import dominating
from shuffledp.bounds.rounds.grid import epsilons, scale_of
from shuffledp.bounds.rounds.loss_law import enclose
from shuffledp.bounds.rounds.node import START, Node, Point, node_at, reversed_node_at

_RTOL = 1e-3  # sets the width of cells; laws on any lattice are valid
_REACH = -55.0  # log delta beyond which all is counted as infinite loss
_END = 700.0  # e to this is a double
_MOST = 2**22  # points on one side: dp_accounting keeps all multiples in between

_INWARDS = 1 - 32 * UNIT  # more than rounding moves an epsilon


@dataclass(frozen=True)
class LatticeLaw:
    """The law of a privacy loss, rounded to the unsafe side nowhere.

    Attributes:
        masses: probabilities, rounded up, of the loss ``k * width`` for each k.
        infinite: the probability of an infinite loss, rounded up.
        scale: the standard deviation of the loss, roughly.
    """

    masses: dict[int, float]
    infinite: float
    scale: float


def lattice_law(log_delta: Callable[[float], float], end: float, width: float) -> LatticeLaw:
    r"""Return a law whose profile is nowhere below that of all neighbours.

    As in :func:`shuffledp.bounds.rounds.dominating.dominating`, of values at multiples of the
    width. Every vertex is put at a ratio of at most :math:`e^{k\,width}`, so a loss of ``k *
    width`` is none too small; what has a larger loss with the same probability reveals more, in any
    composition.

    Args:
        log_delta: an upper bound on log delta, over neighbours in both orders, at any epsilon of at
            least 0.
        end: delta is 0 from here on; infinite if there is no such epsilon.
        width: losses are multiples of it.
    """
    at_0 = log_delta(0.0)
    scale = scale_of(exp_up(at_0))
    place_of: dict[Fraction, int] = {}
    left: list[Node] = []
    right = [_node(node_at(0.0, _below(at_0)).above, 0, place_of)]
    for place in _places(scale, end, width):
        epsilon = place * width
        # Delta falls: a bound at a slightly smaller epsilon is one at this epsilon, too.
        value = log_delta(epsilon * _INWARDS)
        # The exponential moves a point by 6 units in the last place outwards, a relative 12 units
        # of rounding of lambda - 1 and at most as much of log lambda. The product is rounded, too:
        # so both ratios are below the exact multiple, as sums of losses are multiples of the width.
        right.append(_node(node_at(epsilon * _INWARDS, _below(value)).above, place, place_of))
        left.append(
            _node(reversed_node_at(epsilon / _INWARDS, _below(value)).above, -place, place_of)
        )
        if value <= _REACH:
            break
    law = dominating([START, *reversed(left), *right])
    masses = {
        place_of[ratio]: enclose(mass).upper
        for ratio, mass in zip(law.ratios, law.masses, strict=True)
    }
    return LatticeLaw(masses, law.infinite_ends.upper, scale)


def _places(scale: float, end: float, width: float) -> Iterator[int]:
    """Yield increasing multiples, about as far apart as cells should be."""
    last, most = 0, min(end, _END, _MOST * width)
    for epsilon in epsilons(scale, _RTOL, 0, most):
        place = round(epsilon / width)
        if place > last:
            yield place
            last = place
    if most == end:
        yield last + 1  # beyond the end, where delta is 0


def _below(log_delta: float) -> Interval:
    return Interval(float("-inf"), log_delta)


def _node(above: Point, place: int, place_of: dict[Fraction, int]) -> Node:
    place_of[1 + above.x] = place
    return Node(above, above)
