"""The profile of one round: certified values on a grid, and the loss laws around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from shuffledp.basics.errors import MAX_EPSILON0
from shuffledp.basics.interval import Interval, exp_up
from shuffledp.bounds.rounds.dominated import dominated
from shuffledp.bounds.rounds.dominating import dominating
from shuffledp.bounds.rounds.grid import epsilons, scale_of
from shuffledp.bounds.rounds.loss_law import LossLaw, Side
from shuffledp.bounds.rounds.node import START, Node, node_at, reversed_node_at

#: How far to the right the grid goes: until log delta of one round is at most this.
REACHES = (-30.0, -60.0, -120.0, -340.0, -680.0)


#: However wide single values are, grids are no coarser than for this.
_WIDEST = 0.02


@dataclass(frozen=True)
class Fineness:
    """How the grid of a law is chosen: an index of `REACHES`, and how often cells are halved."""

    reach: int
    halvings: int


class RoundProfile:
    """One round: its certified deltas, evaluated where laws need them and once only.

    Args:
        forward: encloses log delta at an epsilon of at least 0.
        backward: the same with the two laws exchanged; ``forward`` itself if it is the largest over
            pairs in both orders.
        end: delta is 0 from this epsilon on; infinite if there is none.
        rtol: relative width that the epsilon of many rounds shall have.
        floor: delta is at least this at every epsilon, in this order of the laws.
    """

    def __init__(
        self,
        forward: Callable[[float], Interval],
        backward: Callable[[float], Interval],
        end: float,
        rtol: float,
        floor: float = 0.0,
    ) -> None:
        self.forward, self.backward, self.asked = forward, backward, rtol
        self.floor = Fraction(floor)
        self.end = min(end, MAX_EPSILON0)
        self._values: dict[tuple[bool, float], Interval] = {}
        self._grids: dict[Fineness, tuple[float, ...]] = {}
        self._laws: dict[tuple[Side, tuple[float, ...]], LossLaw] = {}

    def law(self, side: Side, fineness: Fineness) -> LossLaw:
        """Return the law above or below the profile."""
        key = side, self.grid(fineness)
        if key not in self._laws:
            nodes = self.nodes(fineness)
            upper = side == "upper"
            self._laws[key] = dominating(nodes) if upper else dominated(nodes, self.floor)
        return self._laws[key]

    def nodes(self, fineness: Fineness) -> list[Node]:
        """Return what is known on a grid, in order, on both sides of epsilon = 0."""
        grid = self.grid(fineness)
        left = [reversed_node_at(e, self._value(False, e)) for e in reversed(grid) if e > 0]
        return [START, *left, *(node_at(e, self._value(True, e)) for e in grid)]

    def grid(self, fineness: Fineness) -> tuple[float, ...]:
        """Return the epsilons at which the profile is evaluated."""
        if fineness not in self._grids:
            self._grids[fineness] = tuple(self._choose(fineness))
        return self._grids[fineness]

    def _choose(self, fineness: Fineness) -> Iterator[float]:
        for epsilon in epsilons(self._scale, self.rtol, fineness.halvings, self.end):
            yield epsilon
            if self.log_delta(epsilon) <= REACHES[fineness.reach]:
                break

    @cached_property
    def rtol(self) -> float:
        """What grids aim for: what was asked for, unless single values are wider than that."""
        width = self._value(True, min(self._scale, self.end / 2)).width
        return max(self.asked, min(width, _WIDEST)) if width < math.inf else self.asked

    @cached_property
    def _scale(self) -> float:
        return scale_of(exp_up(self.log_delta(0.0)))

    def forward_value(self, epsilon: float) -> Interval:
        """Enclose log delta of the laws in their order."""
        return self._value(True, epsilon)

    def log_delta(self, epsilon: float) -> float:
        """Return the upper bound on log delta, the larger one of both orders."""
        return max(self._value(way, epsilon).upper for way in (True, False))

    def _value(self, forward: bool, epsilon: float) -> Interval:
        forward = forward or self.backward is self.forward
        key = forward, epsilon
        if key not in self._values:
            self._values[key] = (self.forward if forward else self.backward)(epsilon)
        return self._values[key]


def largest_profile(profiles: Sequence[RoundProfile]) -> RoundProfile:
    """Return the pointwise largest of profiles each of which is its own reverse.

    It is convex and falls, as they are, so it is the profile of a round, too.
    """
    if len(profiles) == 1:
        return profiles[0]

    def largest(epsilon: float) -> Interval:
        values = [profile.forward_value(epsilon) for profile in profiles]
        return Interval(max(v.lower for v in values), max(v.upper for v in values))

    end = max(profile.end for profile in profiles)
    return RoundProfile(largest, largest, end, min(profile.asked for profile in profiles))


def reach_for(log_share: float) -> int:
    """Return the least reach at which log delta of one round is at most this, or the last.

    >>> reach_for(-30.0), reach_for(-41.0), reach_for(-1000.0)
    (0, 1, 4)
    """
    last = len(REACHES) - 1
    return next((place for place, reach in enumerate(REACHES) if reach <= log_share), last)
