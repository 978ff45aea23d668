"""The answer to one question about several rounds, with the question it answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shuffledp._version import __version__
from shuffledp.accounting.answered import Answered
from shuffledp.accounting.assumptions import (
    COUNTED,
    PLANNED,
    ROUNDS,
    limited,
    neighbours_in_rounds,
    particulars,
)
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import NOBODY, level_fields
from shuffledp.accounting.setting import Setting
from shuffledp.accounting.sum_view import view_in_words
from shuffledp.basics.interval import Interval
from shuffledp.basics.markup import facts
from shuffledp.basics.wording import counted, shorten
from shuffledp.mechanisms import Relation

if TYPE_CHECKING:
    from shuffledp.accounting.rounds.round_kind import RoundKind
    from shuffledp.accounting.rounds.rounds import Rounds


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundsReport(Answered):
    """A certified guarantee for several rounds beside what is certainly leaked.

    Attributes:
        rounds: what was asked about.
        quantity: what is asked for, "epsilon" or "delta".
        target: the other one of the two, which is given.
        guarantee: enclosure of the bound; its upper end is the guarantee.
        lower_bound: what the datasets below already reveal, rounded down.
        rtol_reached: whether the enclosure is as narrow as was asked for.
        datasets: for each kind of round the neighbouring datasets behind ``lower_bound``.
        log_guarantee: for delta, the enclosure of its logarithm, which does not underflow.
        log_lower_bound: for delta, the logarithm of the lower bound.

    >>> from shuffledp import ShuffleAccountant
    >>> year = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000).rounds(52)
    >>> print(year.epsilon_report(1e-6))
    epsilon <= 0.6609 at delta = 1e-6 for 52 rounds: 52 x krr(k=10, epsilon0=2.0), n = 10,000
    (no analysis can prove less than 0.6602)
    """

    rounds: Rounds
    datasets: tuple[Datasets | None, ...]

    @property
    def setting(self) -> Setting | None:
        """What was asked about; None if rounds are of several kinds."""
        return self.rounds.setting

    @property
    def rtol(self) -> float:
        """The relative width of epsilon that was asked for."""
        return self.rounds.rtol

    @cached_property
    def one_round(self) -> tuple[float, ...]:
        """The certified epsilon of one round of each kind, at the same delta; none for delta."""
        if self.quantity == "delta":
            return ()
        return tuple(k.accountant.get_epsilon(self.target) for k in self.rounds.kinds)

    @cached_property
    def naive(self) -> float | None:
        """What adding up epsilons and deltas would give; None for delta."""
        return None if self.quantity == "delta" else self.rounds.naive_epsilon(self.target)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers assume."""
        at_most = self.rounds.at_most
        accountants = [kind.accountant for kind in self.rounds.kinds]
        facts = [
            *corruption_in(self.rounds.kinds),
            *(fact for one in accountants for fact in particulars(one.randomizer, one.bound)),
        ]
        views = views_in(self.rounds.kinds)
        return (
            COUNTED,
            *views,
            *ROUNDS,
            self.neighbours,
            PLANNED,
            *dict.fromkeys(facts),
            *(() if at_most is None else (limited(at_most),)),
        )

    @property
    def relation(self) -> Relation | None:
        """How neighbouring datasets differ in every round; None if not in all rounds alike."""
        return self.rounds.relation

    @property
    def neighbours(self) -> str:
        """What neighbouring datasets do, in words."""
        return neighbours_in_rounds(kind.accountant.randomizer for kind in self.rounds.kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of JSON answers, which docs/json.md explains; None for infinity."""
        fields: dict[str, Any] = {
            "rounds": [
                {
                    "mechanism": str(kind.accountant.randomizer),
                    "relation": kind.accountant.relation.to_dict(),
                    **level_fields(kind.accountant.randomizer),
                    "n": kind.accountant.n,
                    "corrupted": kind.accountant.crowd.corrupted,
                    "corrupted_adaptively": kind.accountant.crowd.corrupted_adaptively,
                    "times": kind.times,
                    "bound": kind.accountant.bound,
                    "view": kind.accountant.view,
                    "datasets": self._in_words(kind, found),
                }
                for kind, found in zip(self.rounds.kinds, self.datasets, strict=True)
            ],
            "times": self.rounds.total,
            "relation": None if self.relation is None else self.relation.to_dict(),
            "at_most": self.rounds.at_most,
            "target_epsilon": self.target_epsilon,
            "target_delta": self.target_delta,
            "quantity": self.quantity,
            "guarantee": _ends(self.guarantee),
            "lower_bound": _finite(self.lower_bound),
            "one_round": [_finite(epsilon) for epsilon in self.one_round],
            "naive": None if self.naive is None else _finite(self.naive),
            "rtol": self.rtol,
            "rtol_reached": self.rtol_reached,
        }
        if self.log_guarantee is not None and self.log_lower_bound is not None:
            fields |= {
                "log_guarantee": _ends(self.log_guarantee),
                "log_lower_bound": _finite(self.log_lower_bound),
            }
        return fields | {"assumptions": list(self.assumptions), "version": __version__}

    @property
    def kinds_in_words(self) -> list[str]:
        """The kinds of rounds, one text each."""
        return [
            f"{kind.times:,} x {shorten(str(kind.accountant.randomizer))}, "
            f"n = {one.crowd.in_figures}{', only the sum' if one.view == 'sum' else ''}"
            for kind in self.rounds.kinds
            for one in [kind.accountant]
        ]

    @property
    def datasets_in_words(self) -> list[str]:
        """The datasets of each kind of rounds."""
        kinds = zip(self.rounds.kinds, self.datasets, strict=True)
        return [self._in_words(kind, found) for kind, found in kinds]

    def _in_words(self, kind: RoundKind, datasets: Datasets | None) -> str:
        if datasets is None:
            return "none are known" if kind.accountant.choice.pairs else NOBODY
        some = self.rounds.limit < self.rounds.total
        return f"{datasets}, in every round{' that is taken' if some else ''}"

    def __str__(self) -> str:
        """Return the guarantee with its question, and the lower bound if there is one."""
        line = f"{self.quantity} <= {self.at_most} at {self.given} for "
        line += f"{counted(self.rounds.total, 'round')}: {'; '.join(self.kinds_in_words)}"
        if self.rounds.at_most is not None:
            line += f"; at most {self.rounds.at_most:,} for each user"
        if self.relation is None or not self.relation.replaces_input:
            line += f"; {self.neighbours}"
        if not self.decimal_lower_bound:
            return line
        return f"{line}\n(no analysis can prove less than {self.at_least})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = {
            "rounds": "; ".join(self.kinds_in_words),
            "given": self.given,
            "guarantee": f"{self.quantity} <= {self.at_most}",
            "lower bound": f"{self.quantity} >= {self.at_least}",
            "datasets": "; ".join(self.datasets_in_words),
            "neighbours": self.neighbours,
        }
        return facts(rows)


def corruption_in(kinds: Sequence[RoundKind]) -> Iterator[str]:
    """Yield who is corrupted in each kind of round; of which mechanism, if there are several."""
    for one in (kind.accountant for kind in kinds):
        where = f" of {shorten(str(one.randomizer))}" if len(kinds) > 1 else ""
        yield from (f"in each round{where} {fact}" for fact in one.crowd.assumptions)


def views_in(kinds: Sequence[RoundKind]) -> Sequence[str]:
    """Return what the analyst sees in each kind of round; of which mechanism, if that is a sum."""
    views = []
    for one in (kind.accountant for kind in kinds):
        seen = f"the analyst sees {view_in_words(one.randomizer, one.view, one.crowd)}"
        several = len(kinds) > 1 and one.view == "sum"
        views.append(f"{seen} (of {shorten(str(one.randomizer))})" if several else seen)
    return list(dict.fromkeys(views))


def _ends(interval: Interval) -> dict[str, float | None]:
    return {"lower": _finite(interval.lower), "upper": _finite(interval.upper)}


def _finite(number: float) -> float | None:
    """Return the number; JSON has no infinity."""
    return number if math.isfinite(number) else None
