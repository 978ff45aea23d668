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
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

from flint import arb

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.basics.balls import ball, lower_double, precision, upper_double
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import plain
from shuffledp.bounds.curve import Proof as Bound
from shuffledp.bounds.rounds.composition import Composition
from shuffledp.bounds.rounds.curve import ComposedCurve
from shuffledp.bounds.rounds.dominating import dominating
from shuffledp.bounds.rounds.loss_law import LossLaw
from shuffledp.bounds.rounds.node import START, Node, Point
from shuffledp.bounds.rounds.profile import RoundProfile
from shuffledp.certificates.certificate import Certificate, ProvedPoint
from shuffledp.certificates.proof import (
    CLAIMED,
    UP,
    Claim,
    Proof,
    between,
    double_below,
    prove_guarantee,
)
from shuffledp.certificates.words import (
    at_least,
    claim_about,
    next_double,
    write_certificate,
)
from shuffledp.engine.progress import Progress

#: By which parts of itself an epsilon is raised until it is proved.
_NUDGES = (0.0, 1e-4, 1e-3, 1e-2)

#: Compositions are evaluated to 1e-6, and not alike on all machines.
_SLACK = Decimal("1.00001")

#: Relative widths of one evaluation, and of the grid of one round: a proof at each of its points.
_EVALUATION, _GRID = 1e-6, 1e-2

#: Recorded deltas are larger than proved by more than proposals change between machines.
_ROOM = Decimal("1.000001")

#: The swap bound is not taken where it is farther than this above what the engine has proved.
_FAR = Decimal("1.02")


@dataclass(eq=False)
class PointsOfOneRound:
    """Proved deltas of one round, in the order in which a search asks for them.

    Attributes:
        one: the round.
        claim: what is claimed of it, but for epsilon, delta and bound.
        bounds: which bounds to try.
        progress: is told how many points are proved.
    """

    one: ShuffleAccountant
    claim: Claim
    bounds: Sequence[Bound]
    progress: Progress
    points: dict[Decimal, ProvedPoint] = field(default_factory=dict)

    @property
    def ordered(self) -> tuple[ProvedPoint, ...]:
        """What was proved, with increasing epsilon."""
        return tuple(self.points[place] for place in sorted(self.points))

    def log_delta(self, epsilon: float) -> Interval:
        """Prove delta at an epsilon, or a little below; only the upper end means anything."""
        place = Decimal(f"{epsilon:.6g}")
        if place > Decimal(epsilon):
            place = Decimal(f"{epsilon * (1 - 1e-5):.6g}")
        if place not in self.points:
            self.points[place] = self._prove(place)
            self.progress(f"{len(self.points)} deltas of one round", 0.0)
        delta = float(UP.multiply(Decimal(self.points[place].delta), _ROOM))
        return Interval(-math.inf, math.log(delta) if delta else -math.inf)

    def _prove(self, epsilon: Decimal) -> ProvedPoint:
        log, _ = self.one.proved_log_delta(double_below(epsilon))
        wanted = min(UP.multiply(Decimal(math.exp(log)), _ROOM), Decimal(1))
        found: list[tuple[Decimal, Bound]] = []
        for bound in self.bounds:
            claim = replace(self.claim, epsilon=epsilon, delta=wanted, bound=bound)
            try:
                proof = prove_guarantee(claim, self.progress, CLAIMED)
            except NoAnswerError:
                if bound == self.bounds[-1] and not found:
                    raise
                continue
            found.append((proof.upper, bound))
            if proof.upper <= wanted * _FAR:
                break
        delta, bound = min(found)
        rounded = min(UP.multiply(delta, _ROOM), Decimal(1)).normalize(UP)
        return ProvedPoint(str(epsilon), str(rounded), bound)


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


def find_epsilon(asked: PointsOfOneRound, rounds: Rounds, delta: float) -> float:
    """Return an epsilon at which several rounds seem to have this delta, by proved points."""
    curve = ComposedCurve([(_profile(asked), rounds.limit)], "upper", _GRID)
    with precision():
        target = arb(delta).log()
        return curve.epsilon(Interval(lower_double(target), upper_double(target)), 0)


def look_at(asked: PointsOfOneRound, rounds: Rounds, epsilon: float) -> None:
    """Prove the points of one round that the delta of several at an epsilon needs."""
    ComposedCurve([(_profile(asked), rounds.limit)], "upper", _GRID).log_delta(epsilon, 0)


def _profile(asked: PointsOfOneRound) -> RoundProfile:
    end = asked.one.choice.guarantee.end
    return RoundProfile(asked.log_delta, asked.log_delta, end.upper, _GRID)


def issue_rounds(
    rounds: Rounds, delta: float | None, epsilon: float | None, progress: Progress
) -> Certificate:
    """Prove the epsilon of several rounds at a delta, or their delta at an epsilon."""
    setting, one = rounds.setting, rounds.kinds[0].accountant
    if setting is None:
        raise NoAnswerError("certificates of several rounds are about rounds of one kind")
    bounds: tuple[Bound, ...] = ("swap", "blanket") if one.bound == "best" else ("blanket",)
    bounds = ("exact",) if one.view == "sum" else bounds
    claim = claim_about(one, Decimal(0), Decimal(1), "composition")
    asked = PointsOfOneRound(one, claim, bounds, progress)
    if delta is None:
        claim = replace(claim, epsilon=Decimal(repr(epsilon)))
        look_at(asked, rounds, claim.epsilons[0])
        found = _several(asked, rounds, claim)
        claim = replace(claim, delta=next_double(found.upper, math.inf))
        return write_certificate(setting, claim, found, None, asked.ordered)
    near = find_epsilon(asked, rounds, delta)
    for nudge in _NUDGES:
        if near == math.inf:
            break
        place = at_least(near * (1 + nudge))
        claim = replace(claim, epsilon=place, delta=Decimal(repr(delta)))
        found = _several(asked, rounds, claim)
        if found.upper <= claim.delta:
            return write_certificate(setting, claim, found, None, asked.ordered)
    raise NoAnswerError(
        f"no finite epsilon is proved at delta = {plain(delta)} for {rounds.total:,} rounds"
    )


def _several(asked: PointsOfOneRound, rounds: Rounds, claim: Claim) -> Proof:
    """Return what is proved, with room for what changes between machines."""
    found = prove_rounds(asked.ordered, rounds.limit, claim.epsilons[0])
    return replace(found, upper=min(UP.multiply(found.upper, _SLACK), Decimal(1)))
