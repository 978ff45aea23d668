r"""Five types of background that stand for all mechanisms of one level, in balls.

With :math:`c=(R(x_1)+R(x_1'))/(2E)` the ratios of slot 0 add up to 2E, each is between
:math:`2E/(E+1)` and E times that, and has the mean E: half of the mass is spread to either end. The
ratios (a, b) of any other slot lie in the hexagon :math:`1/E\le a,b,a/b\le E` and have the mean
(1, 1). They are spread to its corners, and a law on the corners with that mean is a mixture of
five: on the three diagonals, and on the two triangles of every second corner.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from shuffledp.basics.balls import ball, precision, total
from shuffledp.decomposition.decomposition import Component, Decomposition


def ldp_types(epsilon0: float) -> tuple[Decomposition, tuple[Decomposition, ...]]:
    """Return the law of slot 0, and the types.

    >>> blanket, types = ldp_types(1.0)
    >>> round(float(blanket.mass), 6), [round(float(x.mass), 6) for x in types]
    (0.367879, [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    with precision():
        level, zero, one = ball(epsilon0), arb(0), arb(1)
        small, minus = (-level).exp(), -level
        types = (
            _law([(level, zero, small), (minus, zero, one)]),
            _law([(zero, level, small), (zero, minus, one)]),
            _law([(level, level, small), (minus, minus, one)]),
            _law([(level, zero, small), (zero, level, small), (minus, minus, one)]),
            _law([(level, level, small), (minus, zero, one), (zero, minus, one)]),
        )
        low = (2 / (1 + small)).log()
        corners = [(level + low, low), (low, level + low)]
        first = tuple(Component(*corner, small / 2) for corner in corners)
        return Decomposition(first, 1 - small), types


def _law(corners: Sequence[tuple[arb, arb, arb]]) -> Decomposition:
    """Return the law on corners with these logarithms and relative weights."""
    whole = total(weight for _, _, weight in corners)
    return Decomposition(
        tuple(Component(log0, log1, weight / whole) for log0, log1, weight in corners), arb(0)
    )
