"""The state of a ledger, as text for people and as JSON for programs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.accounting import Setting
from shuffledp.accounting.assumptions import (
    COUNTED,
    PLANNED,
    ROUNDS,
    SEEN,
    neighbours_in_rounds,
    particulars,
)
from shuffledp.accounting.rounds.round_kind import RoundKind
from shuffledp.accounting.rounds.rounds_report import corruption_in, views_in
from shuffledp.basics.rounding import plain, round_down, round_up
from shuffledp.basics.wording import counted, fill, shorten
from shuffledp.cli.answers.shown import BY_ROUND, envelope, is_private
from shuffledp.deployment.files import Ledger
from shuffledp.deployment.ledger.ledger import FILTER, NO_FILTER
from shuffledp.mechanisms import Relation


@dataclass(frozen=True)
class LedgerAnswer:
    """What was spent and what is left.

    Attributes:
        ledger: the ledger.
        spent: the epsilon spent at the budget's delta, and the delta at its epsilon; None for an
            adaptive ledger, of which only the whole budget is a guarantee.
        fitting: a setting of one round, and how many such rounds still fit.
    """

    ledger: Ledger
    spent: tuple[float, float] | None
    fitting: tuple[Setting, int] | None

    @property
    def setting(self) -> None:
        """A ledger is of many settings."""
        return None

    @classmethod
    def of(cls, ledger: Ledger, fitting: tuple[Setting, int] | None) -> LedgerAnswer:
        """Ask the ledger."""
        planned = ledger.budget.filter is None
        spent = (ledger.spent_epsilon(), ledger.spent_delta()) if planned else None
        return cls(ledger, spent, fitting)

    @property
    def _kinds(self) -> tuple[RoundKind, ...]:
        return () if self.ledger.rounds is None else self.ledger.rounds.kinds

    @property
    def _assumptions(self) -> tuple[str, ...]:
        budget, accountants = self.ledger.budget, [kind.accountant for kind in self._kinds]
        own = [fact for one in accountants for fact in particulars(one.randomizer, one.bound)]
        planned = (PLANNED, NO_FILTER) if budget.filter is None else (FILTER,)
        neighbours = neighbours_in_rounds(one.randomizer for one in accountants)
        who = dict.fromkeys((*corruption_in(self._kinds), *own))
        return (*ROUNDS, neighbours, *planned, *who)

    @property
    def _relation(self) -> Relation | None:
        """How neighbouring datasets differ in every round; None if not in all rounds alike."""
        return Relation() if self.ledger.rounds is None else self.ledger.rounds.relation

    def to_text(self) -> str:
        """Return aligned lines, one sentence of meaning, and what is assumed."""
        budget = self.ledger.budget
        target = f"epsilon = {plain(budget.epsilon)}, delta = {plain(budget.delta)}"
        rows = [("budget", target)]
        rows += [
            (
                "" if place else "rounds",
                f"{kind.times:,} of {shorten(str(kind.accountant.randomizer))} "
                f"with {kind.accountant.crowd}"
                f"{', only the sum' if kind.accountant.view == 'sum' else ''}",
            )
            for place, kind in enumerate(self._kinds)
        ] or [("rounds", "none")]
        if budget.filter is not None:
            spent, allowed = self.ledger.spent_divergence(), budget.filter.allowed
            order = f"of order {plain(budget.filter.order)}"
            rows.append(("spent", f"Rényi divergence {round_up(spent)} {order}"))
            rows.append(("", f"{round_down(max(allowed, 0.0))} is allowed"))
        if self.spent is not None:
            rows += [
                ("spent", f"epsilon = {round_up(self.spent[0])} at delta = {plain(budget.delta)}"),
                ("", f"delta = {round_up(self.spent[1])} at epsilon = {plain(budget.epsilon)}"),
            ]
        rows.append(("left", f"epsilon = {round_down(self.ledger.left_epsilon())}"))
        if self.fitting is not None:
            asked, times = self.fitting
            kind = f"{shorten(str(asked.randomizer))} with {asked.crowd}"
            rows.append(("still fit", f"{times:,} of {kind}"))
        lines = [label.ljust(_WIDTH) + value for label, value in rows]
        facts = [fill(fact, "- ", "  ") for fact in self._assumptions]
        return "\n".join([*lines, "", fill(self._meaning), "", "This assumes:", *facts])

    @property
    def _meaning(self) -> str:
        delta = plain(self.ledger.budget.delta)
        if not self._kinds:
            return "No rounds were recorded yet."
        if self.spent is None:
            if self.ledger.is_exceeded:
                return "The budget is exceeded."
            epsilon = plain(self.ledger.budget.epsilon)
            return (
                "All rounds of this ledger together, those to come included, are "
                f"{is_private(epsilon, delta, BY_ROUND)}."
            )
        relation = self._relation
        neighbours = BY_ROUND if relation is None else relation.in_rounds
        claim = (
            f"After {counted(self.ledger.times, 'round')} {self._seen} "
            f"{is_private(round_up(self.spent[0]), delta, neighbours)}."
        )
        if not math.isfinite(self.spent[0]):
            claim = f"No finite epsilon can be certified at delta = {delta}."
        return f"{claim} The budget is exceeded." if self.ledger.is_exceeded else claim

    @property
    def _seen(self) -> str:
        views = {kind.accountant.view for kind in self._kinds}
        if views == {"multiset"}:
            return "all shuffled reports together are"
        return "all sums together are" if views == {"sum"} else "all that is seen is"

    def to_json(self, command: str) -> str:
        """Return one JSON object; docs/json.md documents its fields."""
        ledger, budget = self.ledger, self.ledger.budget
        fields: dict[str, object] = {
            "ledger": str(ledger.path),
            "budget": {"epsilon": budget.epsilon, "delta": budget.delta, "bound": budget.bound},
            "rounds": [
                {
                    "mechanism": str(kind.accountant.randomizer),
                    "relation": kind.accountant.relation.to_dict(),
                    "n": kind.accountant.n,
                    "corrupted": kind.accountant.crowd.corrupted,
                    "corrupted_adaptively": kind.accountant.crowd.corrupted_adaptively,
                    "view": kind.accountant.view,
                    "times": kind.times,
                }
                for kind in self._kinds
            ],
            "times": ledger.times,
            "relation": None if self._relation is None else self._relation.to_dict(),
            "spent": None
            if self.spent is None
            else {
                "epsilon": self.spent[0] if math.isfinite(self.spent[0]) else None,
                "delta": self.spent[1],
            },
            "left": ledger.left_epsilon(),
            "exceeded": ledger.is_exceeded,
            "renyi": None,
            "fitting": None,
            "checksum": ledger.checksum,
        }
        if budget.filter is not None:
            spent = ledger.spent_divergence()
            fields["renyi"] = {
                "order": budget.filter.order,
                "spent": spent if math.isfinite(spent) else None,
                "allowed": budget.filter.allowed,
            }
        if self.fitting is not None:
            asked, times = self.fitting
            fields["fitting"] = {
                "mechanism": str(asked.randomizer),
                "n": asked.crowd.n,
                "corrupted": asked.crowd.corrupted,
                "corrupted_adaptively": asked.crowd.corrupted_adaptively,
                "view": asked.view,
                "times": times,
            }
        seen = views_in(self._kinds) or (SEEN["multiset"],)
        return envelope(command, fields, (COUNTED, *seen, *self._assumptions))


_WIDTH = len("still fit") + 2
