"""Issuing certificates of several rounds: where one round is looked at, and what that proves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from flint import arb

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.basics.balls import lower_double, precision, upper_double
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import plain
from shuffledp.bounds.curve import Proof as Bound
from shuffledp.bounds.rounds.curve import ComposedCurve
from shuffledp.bounds.rounds.profile import RoundProfile
from shuffledp.certificates.certificate import Certificate, ProvedPoint
from shuffledp.certificates.issue import at_least, claim_about, next_double, write_certificate
from shuffledp.certificates.proof import CLAIMED, UP, Claim, Proof, double_below, prove_guarantee
from shuffledp.certificates.repeated import prove_rounds
from shuffledp.engine.progress import Progress

#: By which parts of itself an epsilon is raised until it is proved.
_NUDGES = (0.0, 1e-4, 1e-3, 1e-2)

#: Compositions are evaluated to 1e-6, and not alike on all machines.
_SLACK = Decimal("1.00001")

#: Relative width of the grid of one round: there is a proof at each of its points.
_GRID = 1e-2

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
