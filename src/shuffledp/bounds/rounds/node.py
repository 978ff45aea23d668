"""What is known of a profile at one ratio of likelihoods: a point above it and a point below it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shuffledp.basics.interval import Interval, exp_down, exp_up

_STEPS = 4  # doubles by which an exponential is moved outwards: it is good to two


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the plane, exactly: x = lambda - 1, and a value."""

    x: Fraction
    y: Fraction


@dataclass(frozen=True, slots=True)
class Node:
    r"""Two points around a profile :math:`H(\lambda)`, exact numbers and certified inequalities.

    H at ``above.x`` is at most ``above.y``, H at ``below.x`` is at least ``below.y``. The two x
    differ by the rounding of an exponential: nothing is assumed about H between them.
    """

    above: Point
    below: Point


#: Every profile is 1 at lambda = 0: nobody has to be convinced.
START = Node(Point(Fraction(-1), Fraction(1)), Point(Fraction(-1), Fraction(1)))


def node_at(epsilon: float, log_delta: Interval) -> Node:
    r"""Return the node at :math:`\lambda=e^\varepsilon`, epsilon at least 0.

    A profile falls, so its bound from above holds further right, that from below further left.

    >>> node = node_at(1.0, Interval(-3.0, -2.0))
    >>> node.below.x < node.above.x, node.below.y < node.above.y
    (True, True)
    """
    upper, lower = _ends(log_delta)
    if epsilon == 0:
        zero = Fraction(0)
        return Node(Point(zero, upper), Point(zero, lower))
    x = math.expm1(epsilon)
    return Node(Point(_moved(x, math.inf), upper), Point(_moved(x, 0.0), lower))


def reversed_node_at(epsilon: float, log_delta: Interval) -> Node:
    r"""Return the node at :math:`\lambda=e^{-\varepsilon}`, epsilon above 0.

    ``log_delta`` is that of the exchanged pair at epsilon: taking complements of events,
    :math:`H(\lambda)=1-\lambda+\lambda H_{rev}(1/\lambda)`, which is computed exactly.

    >>> node = reversed_node_at(1.0, Interval(-3.0, -2.0))
    >>> node.above.x < node.below.x < 0, float(node.below.y) > 1 - math.exp(-1.0)
    (True, True)
    """
    upper, lower = _ends(log_delta)
    if epsilon < 1:  # mutation: both formulas are rounded outwards
        x = math.expm1(-epsilon)
        low_x, high_x = _moved(x, -math.inf), _moved(x, 0.0)
    else:  # close to -1 doubles have few digits of lambda
        ratio = math.exp(-epsilon)
        low_x, high_x = _moved(ratio, 0.0) - 1, _moved(ratio, math.inf) - 1
    return Node(
        Point(low_x, -low_x + (1 + low_x) * upper),
        Point(high_x, -high_x + (1 + high_x) * lower),
    )


def _ends(log_delta: Interval) -> tuple[Fraction, Fraction]:
    return (
        Fraction(min(exp_up(log_delta.upper), 1.0)),
        Fraction(min(exp_down(log_delta.lower), 1.0)),
    )


def _moved(x: float, towards: float) -> Fraction:
    for _ in range(_STEPS):
        x = math.nextafter(x, towards)
    return Fraction(x)
