"""The lower convex hull of points, without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.bounds.rounds.node import Point


def lower_hull(points: Sequence[Point]) -> list[Point]:
    """Return the vertices of the largest convex function below the points, from left to right.

    Points are compared as whole numbers, after multiplication with the common denominators.

    >>> from fractions import Fraction
    >>> corners = [(0, 4), (1, 3), (2, 1), (3, 1), (4, 0)]
    >>> hull = lower_hull([Point(Fraction(x), Fraction(y)) for x, y in corners])
    >>> [int(point.x) for point in hull]
    [0, 2, 4]
    """
    columns = math.lcm(*(point.x.denominator for point in points))
    rows = math.lcm(*(point.y.denominator for point in points))
    scaled = sorted(
        (
            point.x.numerator * (columns // point.x.denominator),
            point.y.numerator * (rows // point.y.denominator),
            place,
        )
        for place, point in enumerate(points)
    )
    kept: list[tuple[int, int, int]] = []
    for x, y, place in scaled:
        if kept and kept[-1][0] == x:
            continue  # the first one of a column is the lowest
        while len(kept) > 1 and not _turns_up(kept[-2], kept[-1], (x, y, place)):
            kept.pop()
        kept.append((x, y, place))
    return [points[place] for _, _, place in kept]


def _turns_up(
    first: tuple[int, int, int], second: tuple[int, int, int], third: tuple[int, int, int]
) -> bool:
    """Whether the slope grows at the second of three points."""
    return (second[1] - first[1]) * (third[0] - second[0]) < (third[1] - second[1]) * (
        second[0] - first[0]
    )
