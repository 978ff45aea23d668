"""All numbers of the document, computed before a word is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property

from shuffledp.accounting import Report, ShuffleAccountant
from shuffledp.accounting.operational import tradeoff_below
from shuffledp.accounting.sum_view import View
from shuffledp.basics.errors import MAX_EPSILON0, NoAnswerError, wide_is_enough
from shuffledp.basics.figures import Chart, Line
from shuffledp.comparison import Comparison, compare
from shuffledp.mechanisms import Relation
from shuffledp.mechanisms.composed.parts import without_limits
from shuffledp.mechanisms.finite.identity import foreign_classes, stated_by
from shuffledp.outputs.review.seen import SEEN, Seen

#: Of these shares of the users there are fewer, or so many work for the analyst.
_FEWER = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))
_COLLUDING = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))

#: How often the same users may be asked again: monthly, weekly, daily for a year.
_ROUNDS = (12, 52, 365)

#: False alarms at which the table tells how many true ones there are.
FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1, 0.5)

_PROFILE_STEPS, _ALONE_STEPS, _TRADEOFF_STEPS = 16, 12, 50


@dataclass(frozen=True)
class WhatIf:
    """A number of users or rounds other than assumed, and the certified epsilon there."""

    count: int
    epsilon: float


@dataclass(frozen=True)
class Findings:
    """What the document tells, computed when it is first asked for.

    Args:
        report: the guarantee that the document is about.

    Raises:
        NoAnswerError: if there is no finite guarantee to write about.
    """

    report: Report

    def __post_init__(self) -> None:
        """Refuse a report without a guarantee."""
        if self.epsilon == math.inf:
            raise NoAnswerError("there is no finite epsilon to write a document about")

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ: what the guarantee protects."""
        return self.report.relation

    @property
    def basis(self) -> str:
        """What the guarantee is: proved, unless a class of somebody else states the laws."""
        kinds = foreign_classes(self.report.randomizer)
        return f"computed from what is {stated_by(kinds)}, not proved," if kinds else "proved"

    @property
    def seen(self) -> Seen:
        """How to speak of what the analyst sees."""
        return SEEN[self.report.view]

    @property
    def epsilon(self) -> float:
        """The epsilon of the claim."""
        asked = self.report.quantity == "epsilon"
        return self.report.guarantee.upper if asked else self.report.target

    @property
    def delta(self) -> float:
        """The delta of the claim."""
        asked = self.report.quantity == "epsilon"
        return self.report.target if asked else self.report.guarantee.upper

    @cached_property
    def lower_bound(self) -> float:
        """An epsilon below which concrete datasets exceed the delta."""
        if self.report.quantity == "epsilon":
            return self.report.lower_bound
        return self.accountant.epsilon_lower_bound(self.delta)

    @property
    def has_attack(self) -> bool:
        """Whether a lower bound is known; of some sums there is none."""
        return self.report.datasets is not None or self.report.worst_pair is None

    @cached_property
    def accountant(self) -> ShuffleAccountant:
        """The accountant of the claim."""
        return self._asked(self.report.n, self.report.crowd.corrupted)

    @cached_property
    def local(self) -> float:
        """The epsilon of one report whose sender is known; at the delta, if it is not pure.

        It is that of the whole domain: all attributes may change, whatever the guarantee says.
        """
        with wide_is_enough():
            return self._level if self.is_pure else self._alone.get_epsilon(self.delta)

    @property
    def is_pure(self) -> bool:
        """Whether one report alone has an epsilon without any delta."""
        return math.isfinite(self._level)

    @cached_property
    def _level(self) -> float:
        randomizer = self.report.randomizer
        if any(field.name == "epsilon0" for field in fields(randomizer)):  # type: ignore[arg-type]
            return randomizer.domain_epsilon0  # as it was given, not computed
        with wide_is_enough():
            return self._alone.get_epsilon(0.0)

    @cached_property
    def shuffled(self) -> float | None:
        """The epsilon of the shuffled reports, where only their sum is to be seen."""
        if self.report.view == "multiset":
            return None
        with wide_is_enough():
            crowd = self.report.crowd
            asked = self._asked(crowd.n, crowd.corrupted, "multiset")
            return asked.get_epsilon(self.delta)

    @cached_property
    def fewer(self) -> Sequence[WhatIf]:
        """What holds with fewer users."""
        crowd = self.report.crowd
        counts = sorted({int(share * crowd.n) for share in _FEWER}, reverse=True)
        known = crowd.corrupted + crowd.corrupted_adaptively
        return [WhatIf(n, self._epsilon(n, crowd.corrupted)) for n in counts if n > known]

    @cached_property
    def colluding(self) -> Sequence[WhatIf]:
        """What holds if more users work for the analyst than assumed."""
        crowd = self.report.crowd
        counts = sorted({math.ceil(share * crowd.n) for share in _COLLUDING})
        most = crowd.n - 1 - crowd.corrupted_adaptively
        return [WhatIf(m, self._epsilon(crowd.n, m)) for m in counts if crowd.corrupted < m <= most]

    @cached_property
    def repeated(self) -> Sequence[WhatIf]:
        """What all rounds together reveal if the same users are asked again."""
        with wide_is_enough():
            return [WhatIf(k, self.accountant.rounds(k).get_epsilon(self.delta)) for k in _ROUNDS]

    @cached_property
    def advantage(self) -> float:
        """How much better than chance anyone can guess."""
        return self.accountant.advantage()

    @cached_property
    def hits(self) -> Sequence[tuple[float, float]]:
        """At each rate of false alarms, the largest rate of true ones."""
        return [
            (rate, _above_one_minus(tradeoff_below(self._deltas, rate))) for rate in FALSE_ALARMS
        ]

    @cached_property
    def comparison(self) -> Comparison:
        """What published analyses say about the same users."""
        report = self.report
        with wide_is_enough():
            return compare(
                report.randomizer,
                report.n,
                self.delta,
                rtol=report.rtol,
                view=report.view,
                corrupted=report.crowd.corrupted,
                corrupted_adaptively=report.crowd.corrupted_adaptively,
            )

    @cached_property
    def profile(self) -> Chart:
        """Delta at other epsilons, certified and attained."""
        x, upper = zip(*self._deltas, strict=True)
        lines = [Line("guarantee", x, upper, kind="upper", group="guarantee")]
        with wide_is_enough():
            lower = tuple(map(self.accountant.delta_lower_bound, x))
        if self.has_attack:
            lines.append(Line("attained by an attack", x, lower, kind="lower", group="guarantee"))
        return Chart("", "epsilon", "delta", tuple(lines), y_log=True)

    @cached_property
    def tradeoff(self) -> Chart:
        """The errors that every attacker makes, with the crowd and without it."""
        x = tuple(i / _TRADEOFF_STEPS for i in range(_TRADEOFF_STEPS + 1))
        end = min(self.local, MAX_EPSILON0)
        alone = [(0.0, self._alone.advantage()), *_deltas(self._alone, end, _ALONE_STEPS)]
        lines = {
            "guessing": tuple(1 - rate for rate in x),
            self.seen.attack: tuple(tradeoff_below(self._deltas, rate) for rate in x),
            "best attack, sender known": tuple(tradeoff_below(alone, rate) for rate in x),
        }
        return Chart(
            "",
            "false alarms",
            "missed",
            tuple(Line(name, x, y, kind="upper", group=name) for name, y in lines.items()),
        )

    @cached_property
    def _deltas(self) -> Sequence[tuple[float, float]]:
        """Certified deltas from epsilon 0 to twice that of the claim."""
        end = min(2 * self.epsilon or 1.0, MAX_EPSILON0)
        return [(0.0, self.advantage), *_deltas(self.accountant, end, _PROFILE_STEPS)]

    @cached_property
    def _alone(self) -> ShuffleAccountant:
        """One user without a crowd: what a broken shuffler leaves, whatever changes."""
        whole = without_limits(self.report.randomizer)
        return ShuffleAccountant(whole, 1, bound=self.report.setting.bound, rtol=self.report.rtol)

    def _epsilon(self, n: int, corrupted: int) -> float:
        with wide_is_enough():
            return self._asked(n, corrupted).get_epsilon(self.delta)

    def _asked(self, n: int, corrupted: int, view: View | None = None) -> ShuffleAccountant:
        return ShuffleAccountant(
            self.report.randomizer,
            n,
            rtol=self.report.rtol,
            bound=self.report.setting.bound,
            corrupted=corrupted,
            corrupted_adaptively=self.report.crowd.corrupted_adaptively,
            view=view or self.report.view,
        )


def _deltas(accountant: ShuffleAccountant, end: float, steps: int) -> Sequence[tuple[float, float]]:
    """Return certified deltas at epsilons above 0, closer to each other near it."""
    epsilons = [end * (i / steps) ** 1.5 for i in range(1, steps + 1)]
    with wide_is_enough():
        return [(epsilon, accountant.get_delta(epsilon)) for epsilon in epsilons]


def _above_one_minus(rate: float) -> float:
    """Return 1 - rate, rounded up."""
    found = 1 - rate
    return found if Fraction(found) >= 1 - Fraction(rate) else math.nextafter(found, 1.0)
