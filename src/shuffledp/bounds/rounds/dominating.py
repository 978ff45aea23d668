r"""The upper loss law: a profile above all that is known."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.bounds.rounds.hull import lower_hull
from shuffledp.bounds.rounds.loss_law import LossLaw
from shuffledp.bounds.rounds.node import Node, Point


def dominating(nodes: Sequence[Node]) -> LossLaw:
    r"""Return the law of a profile that is nowhere below H, for nodes around H.

    H is convex, so the lower hull of points on or above it is nowhere below it, and beyond the last
    point H falls: the hull goes on at its last value. As a convex and falling function that is 1 at
    0 and nowhere below :math:`1-\lambda`, it is the profile of a pair of laws (Zhu, Dong and Wang
    2022), and what one pair dominates in one round, its product dominates in many.

    Args:
        nodes: in order, beginning at lambda = 0.
    """
    points: list[Point] = []
    for node in nodes:
        point = node.above
        lowest = min(point.y, points[-1].y) if points else point.y
        points.append(Point(point.x, lowest))
    return LossLaw.of(lower_hull(points)).without_faint(moved_to_infinity=True)
