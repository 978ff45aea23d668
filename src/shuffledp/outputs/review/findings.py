"""All numbers of the document, computed before a word is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

from shuffledp.accounting import Report, Rounds, RoundsReport, Setting, ShuffleAccountant
from shuffledp.accounting.answered import OneMechanism
from shuffledp.accounting.operational import tradeoff_below
from shuffledp.accounting.setting import DEFAULT_RTOL
from shuffledp.basics.errors import MAX_EPSILON0, MAX_ROUNDS, NoAnswerError, wide_is_enough
from shuffledp.basics.figures import Chart, Line
from shuffledp.comparison import Comparison, compare
from shuffledp.mechanisms import Relation
from shuffledp.mechanisms.composed.parts import without_limits
from shuffledp.mechanisms.finite.identity import foreign_classes, stated_by
from shuffledp.outputs.review.seen import SEEN, Seen

#: Who answers about one round, or about several.
Asked = ShuffleAccountant | Rounds

#: Of these shares of the users there are fewer, or so many work for the analyst.
_FEWER = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))
_COLLUDING = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))

#: How often the same users may be asked: monthly, weekly, daily for a year.
_ROUNDS = (12, 52, 365)

#: How many times as long a collection of several rounds may go on.
_LONGER = (2, 10)

#: False alarms at which the table tells how many true ones there are.
FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1, 0.5)

_PROFILE_STEPS, _ALONE_STEPS, _TRADEOFF_STEPS = 16, 12, 50


@dataclass(frozen=True)
class WhatIf:
    """A number of users or rounds other than assumed, and the certified epsilon there."""

    count: int
    epsilon: float


@dataclass(frozen=True)
class Findings(OneMechanism):
    """What the document tells, computed when it is first asked for.

    Args:
        report: the guarantee that the document is about, of one round or of several.

    Raises:
        NoAnswerError: if there is no finite guarantee to write about.
        ValueError: if rounds are of several kinds.
    """

    report: Report | RoundsReport

    def __post_init__(self) -> None:
        """Refuse a report without a guarantee, or without a single setting."""
        if self.report.setting is None:
            raise ValueError("a document is about rounds that are all alike, got several kinds")
        if self.epsilon == math.inf:
            raise NoAnswerError("there is no finite epsilon to write a document about")

    @property
    def setting(self) -> Setting:
        """What was asked about."""
        return cast("Setting", self.report.setting)

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return self.setting.rounds

    @property
    def limit(self) -> int:
        """In how many rounds a user takes part, at most."""
        return min(self.setting.at_most or self.rounds, self.rounds)

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ, in each round: what the guarantee protects."""
        return self.randomizer.relation

    @property
    def neighbours(self) -> str:
        """What neighbouring datasets do, in words."""
        return str(self.relation) if self.rounds == 1 else self.relation.in_rounds

    @property
    def basis(self) -> str:
        """What the guarantee is: proved, unless a class of somebody else states the laws."""
        kinds = foreign_classes(self.randomizer)
        return f"computed from what is {stated_by(kinds)}, not proved," if kinds else "proved"

    @property
    def seen(self) -> Seen:
        """How to speak of what the analyst sees."""
        return SEEN[self.setting.view]

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
        return "none are known" not in self.report.datasets_in_words

    @cached_property
    def accountant(self) -> Asked:
        """The accountant of the claim."""
        return self._asked()

    @cached_property
    def local(self) -> float:
        """The epsilon of one report whose sender is known; at the delta, if it is not pure.

        It is that of the whole domain: all attributes may change, whatever the guarantee says.
        """
        with wide_is_enough():
            return self._level if self.is_pure else self._one_alone.get_epsilon(self.delta)

    @cached_property
    def all_local(self) -> float:
        """The epsilon of all reports of a user whose sender is known, at the delta."""
        with wide_is_enough():
            return self._alone.get_epsilon(self.delta)

    @property
    def is_pure(self) -> bool:
        """Whether one report alone has an epsilon without any delta."""
        return math.isfinite(self._level)

    @cached_property
    def _level(self) -> float:
        if any(field.name == "epsilon0" for field in fields(self.randomizer)):  # type: ignore[arg-type]
            return self.randomizer.domain_epsilon0  # as it was given, not computed
        with wide_is_enough():
            return self._one_alone.get_epsilon(0.0)

    @cached_property
    def shuffled(self) -> float | None:
        """The epsilon of the shuffled reports, where only their sum is to be seen."""
        return None if self.setting.view == "multiset" else self._epsilon(view="multiset")

    @cached_property
    def one_round(self) -> float | None:
        """The epsilon of one round alone, where there are several."""
        return None if self.rounds == 1 else self._epsilon(rounds=1, at_most=None)

    @cached_property
    def fewer(self) -> Sequence[WhatIf]:
        """What holds with fewer users."""
        crowd = self.crowd
        counts = sorted({int(share * crowd.n) for share in _FEWER}, reverse=True)
        known = crowd.corrupted + crowd.corrupted_adaptively
        return [WhatIf(n, self._epsilon(n=n)) for n in counts if n > known]

    @cached_property
    def colluding(self) -> Sequence[WhatIf]:
        """What holds if more users work for the analyst than assumed."""
        crowd = self.crowd
        counts = sorted({math.ceil(share * crowd.n) for share in _COLLUDING})
        most = crowd.n - 1 - crowd.corrupted_adaptively
        wanted = [m for m in counts if crowd.corrupted < m <= most]
        return [WhatIf(m, self._epsilon(corrupted=m)) for m in wanted]

    @cached_property
    def repeated(self) -> Sequence[WhatIf]:
        """What holds if there are more rounds."""
        counts: Sequence[int] = _ROUNDS
        if self.rounds > 1:
            counts = [k * self.rounds for k in _LONGER if k * self.rounds <= MAX_ROUNDS]
        if self.limit < self.rounds:
            return []  # a user takes part in no more of them
        return [WhatIf(k, self._epsilon(rounds=k, at_most=None)) for k in counts]

    @cached_property
    def always(self) -> WhatIf | None:
        """What holds if users take part in all rounds, where fewer are assumed."""
        if self.limit == self.rounds:
            return None
        return WhatIf(self.rounds, self._epsilon(at_most=None))

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
        """What published analyses say about the same users, in one round."""
        with wide_is_enough():
            return compare(
                self.randomizer,
                self.crowd.n,
                self.delta,
                rtol=self.report.rtol if self.rounds == 1 else DEFAULT_RTOL,
                view=self.setting.view,
                corrupted=self.crowd.corrupted,
                corrupted_adaptively=self.crowd.corrupted_adaptively,
            )

    @cached_property
    def profile(self) -> Chart:
        """Delta at other epsilons, certified and attained."""
        x, upper = zip(*self._deltas, strict=True)
        lines = [Line("guarantee", x, upper, kind="upper", group="guarantee")]
        if self.has_attack:
            with wide_is_enough():
                lower = tuple(map(self.accountant.delta_lower_bound, x))
            lines.append(Line("reached by an attack", x, lower, kind="lower", group="guarantee"))
        return Chart("", "epsilon", "delta", tuple(lines), y_log=True)

    @cached_property
    def tradeoff(self) -> Chart:
        """The errors that every attacker makes, with the crowd and without it."""
        x = tuple(i / _TRADEOFF_STEPS for i in range(_TRADEOFF_STEPS + 1))
        end = min(self.local if self.rounds == 1 else self.all_local, MAX_EPSILON0)
        alone = [(0.0, self._alone.advantage()), *_deltas(self._alone, end, _ALONE_STEPS)]
        lines = {
            "guessing": tuple(1 - rate for rate in x),
            self.seen.attack: tuple(tradeoff_below(self._deltas, rate) for rate in x),
            "best attack, sender known": tuple(tradeoff_below(alone, rate) for rate in x),
        }
        return Chart(
            "",
            "false-alarm rate",
            "rate of missed cases",
            tuple(Line(name, x, y, kind="upper", group=name) for name, y in lines.items()),
        )

    @cached_property
    def _deltas(self) -> Sequence[tuple[float, float]]:
        """Certified deltas from epsilon 0 to twice that of the claim."""
        end = min(2 * self.epsilon or 1.0, MAX_EPSILON0)
        return [(0.0, self.advantage), *_deltas(self.accountant, end, _PROFILE_STEPS)]

    @cached_property
    def _alone(self) -> Asked:
        """One user without a crowd, in all rounds: what a broken shuffler leaves."""
        return self._asked(**self._nobody_else)

    @cached_property
    def _one_alone(self) -> Asked:
        return self._asked(**self._nobody_else, rounds=1, at_most=None)

    @property
    def _nobody_else(self) -> dict[str, Any]:
        whole = without_limits(self.randomizer)  # whatever changes
        usual = {"corrupted": 0, "corrupted_adaptively": 0, "view": "multiset"}
        return {"mechanism": whole, "n": 1, **usual}

    def _epsilon(self, **changes: Any) -> float:
        with wide_is_enough():
            return self._asked(**changes).get_epsilon(self.delta)

    def _asked(self, **changes: Any) -> Asked:
        """Return who answers about the same setting but for some changes."""
        crowd = self.crowd  # numbers, where the setting may have shares
        known = {
            "corrupted": crowd.corrupted,
            "corrupted_adaptively": crowd.corrupted_adaptively,
        }
        setting = replace(self.setting, **{**known, **changes})
        rtol = self.report.rtol if (setting.rounds > 1) == (self.rounds > 1) else None
        return cast("Asked", setting.accountant(rtol))  # there are no groups


def _deltas(accountant: Asked, end: float, steps: int) -> Sequence[tuple[float, float]]:
    """Return certified deltas at epsilons above 0, closer to each other near it."""
    epsilons = [end * (i / steps) ** 1.5 for i in range(1, steps + 1)]
    with wide_is_enough():
        return [(epsilon, accountant.get_delta(epsilon)) for epsilon in epsilons]


def _above_one_minus(rate: float) -> float:
    """Return 1 - rate, rounded up."""
    found = 1 - rate
    return found if Fraction(found) >= 1 - Fraction(rate) else math.nextafter(found, 1.0)
