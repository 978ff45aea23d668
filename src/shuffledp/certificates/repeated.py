r"""Proofs of several rounds: deltas of one round, each proved, and the law that dominates them all.

H(lambda), the largest delta at :math:`e^\varepsilon=\lambda` over all pairs in both orders, is
convex and falls, and :math:`H(\lambda)=1-\lambda+\lambda H(1/\lambda)`. The lower hull of proved
points above it belongs to a law of the privacy loss; what one such pair dominates in one round, its
product dominates in several (Zhu, Dong and Wang 2022). Points are exact fractions, the composition
is evaluated in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from shuffledp.basics.balls import ball, precision, upper_double
from shuffledp.bounds.rounds.composition import Composition
from shuffledp.bounds.rounds.dominating import dominating
from shuffledp.bounds.rounds.loss_law import LossLaw
from shuffledp.bounds.rounds.node import START, Node, Point
from shuffledp.certificates.certificate import ProvedPoint
from shuffledp.certificates.proof import Proof, between

#: Relative width of one evaluation.
_EVALUATION = 1e-6


def law_above(points: Sequence[ProvedPoint]) -> LossLaw:
    """Return the law of one round that dominates whatever has these deltas at most."""
    nodes = [START]
    with precision():
        for point in sorted(points, key=lambda p: Decimal(p.epsilon)):
            delta, epsilon = Fraction(Decimal(point.delta)), ball(Decimal(point.epsilon))
            right = Fraction(upper_double(epsilon.expm1())) if epsilon != 0 else Fraction(0)
            nodes.append(_node(right, min(delta, Fraction(1))))
            if epsilon != 0:
                ratio = 1 / (1 + right)  # H falls, so delta bounds it at 1 + right, too
                nodes.append(_node(ratio - 1, 1 - ratio + ratio * min(delta, Fraction(1))))
    nodes.sort(key=lambda node: node.above.x)
    return dominating(nodes)


def _node(x: Fraction, y: Fraction) -> Node:
    return Node(Point(x, y), Point(x, y))


def prove_rounds(points: Sequence[ProvedPoint], times: int, epsilon: float) -> Proof:
    """Bound delta of several rounds with these deltas, each at most, at an epsilon."""
    composed = Composition([(law_above(points), times)], "upper")
    return between(-math.inf, min(composed.log_delta(epsilon, _EVALUATION), 0.0), None)
