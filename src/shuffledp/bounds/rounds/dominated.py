r"""The lower loss law: a profile below all that is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from shuffledp.bounds.rounds.hull import lower_hull
from shuffledp.bounds.rounds.loss_law import LossLaw
from shuffledp.bounds.rounds.node import Node, Point

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class _Line:
    """A straight line through a point."""

    through: Point
    slope: Fraction

    def at(self, x: Fraction) -> Fraction:
        """Return its height."""
        return self.through.y + self.slope * (x - self.through.x)

    def crossing(self, other: _Line) -> Fraction | None:
        """Return where it crosses another line; None if they are parallel."""
        if self.slope == other.slope:
            return None
        return self.through.x + (other.at(self.through.x) - self.through.y) / (
            self.slope - other.slope
        )


def dominated(nodes: Sequence[Node], floor: Fraction = _ZERO) -> LossLaw:
    r"""Return the law of a profile that is nowhere above H, for nodes around H.

    H is convex. So right of node i it is above the line from the *upper* point i - 1 through the
    *lower* point i, and left of node i + 1 above the line from the upper point i + 2 through the
    lower point i + 1. Between nodes i and i + 1 both hold. Take any x there, and the lower one of
    both lines at x: the two chords from this point to the lower points of the nodes are each below
    one of the lines, hence below H, and so is the lower hull of all these points. The best x is
    where the lines cross; if that is outside, the chord between the nodes is below one line.

    Left of the second node H is above :math:`1-\lambda`, left of the last one above the lower
    value there, right of it above the floor and the line that leads there.

    Args:
        nodes: in order, beginning at lambda = 0, at least two.
        floor: H is nowhere below this.
    """
    # H falls, so a lower value holds also further left.
    lower = [node.below for node in nodes]
    for place in reversed(range(len(lower) - 1)):
        if lower[place].y < lower[place + 1].y:
            lower[place] = Point(lower[place].x, lower[place + 1].y)
    upper = [node.above for node in nodes]
    first = lower[0]  # mutation: the first node is one point
    from_left = [_Line(first, Fraction(-1))]
    from_left += [_Line(b, _slope(a, b, -math.inf)) for a, b in zip(upper, lower[1:], strict=False)]
    from_right = [_Line(b, _slope(b, a, math.inf)) for b, a in zip(lower, upper[1:], strict=False)]
    from_right.append(_Line(lower[-1], Fraction(0)))
    points = [*lower]
    for (before, after), left, right in zip(
        pairwise(lower), from_left, from_right[1:], strict=False
    ):
        exact = left.crossing(right)
        if exact is not None and before.x < exact < after.x:
            # Doubles next to -1 are far apart, and any x between the nodes is right; but that H(0)
            # is 1 shall not be given away.
            x = max(before.x, min(Fraction(float(exact)), after.x))
            if x == lower[0].x:
                x = exact
            points.append(Point(x, min(left.at(x), right.at(x))))
    points.append(_end(from_left[-1], floor))
    return LossLaw.of(_cut(lower_hull(points), floor)).without_faint(moved_to_infinity=False)


def _slope(first: Point, second: Point, towards: float) -> Fraction:
    """Return the slope from one point to another, rounded to one side, and at most 0."""
    exact = (second.y - first.y) / (second.x - first.x)
    nearest = float(exact)
    if (Fraction(nearest) > exact) if towards < 0 else (Fraction(nearest) < exact):
        nearest = math.nextafter(nearest, towards)
    return Fraction(min(nearest, 0.0))


def _end(line: _Line, floor: Fraction) -> Point:
    """Return where the last line reaches the floor, or a point further left."""
    last = line.through
    x = last.x
    if last.y > floor and line.slope < 0:
        with suppress(OverflowError):
            x = max(x, Fraction(float(last.x + (floor - last.y) / line.slope)))
        while line.at(x) < floor:
            x = Fraction(math.nextafter(float(x), -math.inf))
    return Point(max(x, last.x), min(floor, last.y))


def _cut(vertices: Sequence[Point], floor: Fraction) -> list[Point]:
    """Return a convex function of straight lines as far as it is above the floor, and falls."""
    kept = [vertices[0]]
    for before, after in pairwise(vertices):
        if after.y >= before.y or before.y <= floor:
            break
        if after.y < floor:
            x = before.x + (before.y - floor) * (after.x - before.x) / (before.y - after.y)
            kept.append(Point(x, floor))
            break
        kept.append(after)
    return kept
