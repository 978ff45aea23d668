"""The state of a ledger, as text for people and as JSON for programs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.accounting.assumptions import ASSUMPTIONS, ROUNDS
from shuffledp.accounting.round_kind import RoundKind
from shuffledp.cli.document import envelope
from shuffledp.files import Ledger
from shuffledp.files.ledger import NO_FILTER
from shuffledp.rounding import plain, round_down, round_up
from shuffledp.wording import counted, fill, shorten


@dataclass(frozen=True)
class LedgerAnswer:
    """What was spent and what is left.

    Attributes:
        ledger: the ledger.
        epsilon: the epsilon spent at the budget's delta.
        delta: the delta spent at the budget's epsilon.
        fitting: a mechanism, a number of users, and how many such rounds still fit.
    """

    ledger: Ledger
    epsilon: float
    delta: float
    fitting: tuple[str, int, int] | None

    @classmethod
    def of(cls, ledger: Ledger, fitting: tuple[str, int, int] | None) -> LedgerAnswer:
        """Ask the ledger."""
        return cls(ledger, ledger.spent_epsilon(), ledger.spent_delta(), fitting)

    @property
    def _kinds(self) -> tuple[RoundKind, ...]:
        return () if self.ledger.rounds is None else self.ledger.rounds.kinds

    @property
    def _is_exceeded(self) -> bool:
        return self.epsilon > self.ledger.budget.epsilon

    def to_text(self) -> str:
        """Return aligned lines, one sentence of meaning, and what is assumed."""
        budget = self.ledger.budget
        target = f"epsilon = {plain(budget.epsilon)}, delta = {plain(budget.delta)}"
        rows = [("budget", target)]
        rows += [
            (
                "" if place else "rounds",
                f"{kind.times:,} of {shorten(str(kind.accountant.randomizer))} "
                f"with {counted(kind.accountant.n, 'user')}",
            )
            for place, kind in enumerate(self._kinds)
        ] or [("rounds", "none")]
        rows += [
            ("spent", f"epsilon = {_up(self.epsilon)} at delta = {plain(budget.delta)}"),
            ("", f"delta = {_up(self.delta)} at epsilon = {plain(budget.epsilon)}"),
            ("left", f"epsilon = {round_down(self.ledger.left_epsilon())}"),
        ]
        if self.fitting is not None:
            mechanism, n, times = self.fitting
            kind = f"{shorten(mechanism)} with {counted(n, 'user')}"
            rows.append(("still fit", f"{times:,} of {kind}"))
        lines = [label.ljust(_WIDTH) + value for label, value in rows]
        facts = [fill(fact, "- ", "  ") for fact in (*ROUNDS, NO_FILTER)]
        return "\n".join([*lines, "", fill(self._meaning), "", "This assumes:", *facts])

    @property
    def _meaning(self) -> str:
        delta = plain(self.ledger.budget.delta)
        if not self._kinds:
            return "No rounds were recorded yet."
        claim = (
            f"After {counted(self.ledger.times, 'round')} all shuffled reports together are "
            f"({_up(self.epsilon)}, {delta})-differentially private."
        )
        if not math.isfinite(self.epsilon):
            claim = f"No finite epsilon can be certified at delta = {delta}."
        return f"{claim} The budget is exceeded." if self._is_exceeded else claim

    def to_json(self, command: str) -> str:
        """Return one JSON object; docs/json.md documents its fields."""
        ledger, budget = self.ledger, self.ledger.budget
        fields: dict[str, object] = {
            "ledger": str(ledger.path),
            "budget": {"epsilon": budget.epsilon, "delta": budget.delta, "bound": budget.bound},
            "rounds": [
                {
                    "mechanism": str(kind.accountant.randomizer),
                    "n": kind.accountant.n,
                    "times": kind.times,
                }
                for kind in self._kinds
            ],
            "times": ledger.times,
            "spent": {
                "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
                "delta": self.delta,
            },
            "left": ledger.left_epsilon(),
            "exceeded": self._is_exceeded,
            "fitting": None,
            "checksum": ledger.checksum,
        }
        if self.fitting is not None:
            fields["fitting"] = dict(zip(("mechanism", "n", "times"), self.fitting, strict=True))
        return envelope(command, fields, (*ASSUMPTIONS, *ROUNDS, NO_FILTER))


_WIDTH = len("still fit") + 2


def _up(number: float) -> str:
    return round_up(number) if math.isfinite(number) else "infinity"
