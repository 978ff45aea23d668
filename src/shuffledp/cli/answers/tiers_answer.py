"""The answer for users of different levels, as text for people and as JSON for programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from shuffledp.accounting import MixedAccountant, Setting, Tier, TierCalibration
from shuffledp.accounting.assumptions import assumptions_of, noteworthy
from shuffledp.accounting.report import level_fields
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import plain, round_down, round_up
from shuffledp.basics.wording import fill, shorten
from shuffledp.cli.answers.shown import envelope

_WIDEST = 56  # characters of a mechanism in the table: tiers must be told apart

_TIER = "which tier a user is in does not depend on the data"
_DUMMIES = "dummies are drawn from the common blanket law by somebody whom the users trust"


@dataclass(frozen=True)
class TiersAnswer:
    """What holds for each tier.

    Attributes:
        accountant: who answered.
        found: the answers, one for each tier.
        quantity: what was asked for.
        given: the value of the other one.
        solved: the level that was looked for, if any.
    """

    accountant: MixedAccountant
    found: tuple[Tier, ...]
    quantity: Literal["epsilon", "delta"]
    given: float
    solved: TierCalibration | None = None

    @property
    def setting(self) -> Setting:
        """What it is the answer for."""
        asked = self.accountant
        return Setting(groups=asked.groups, dummies=asked.dummies, corrupted=asked.crowd.corrupted)

    def to_text(self) -> str:
        """Return a table and what it means."""
        rows: list[tuple[str, ...]] = [
            ("mechanism", "users", self.quantity, "lower bound", "hidden among")
        ]
        for tier in self.found:
            rows.append(
                (
                    shorten(str(tier.group.randomizer), _WIDEST),
                    f"{tier.group.n:,}",
                    round_up(tier.guarantee.upper),
                    round_down(tier.lower_bound) if tier.lower_bound else "none",
                    tier.among,
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        facts = noteworthy(group.randomizer for group in self.accountant.groups)
        paragraphs = (self._meaning, *(f"This assumes that {fact}." for fact in facts))
        if self.solved is not None:
            level = round_down(self.solved.epsilon0)
            lines = [
                f"epsilon0  {level}  (the largest safe common level, rounded down)",
                "",
                *lines,
            ]
        return "\n".join([*lines, "", *map(fill, paragraphs)])

    @property
    def _other(self) -> str:
        return "delta" if self.quantity == "epsilon" else "epsilon"

    @property
    def _meaning(self) -> str:
        crowd, dummies = f"{self.accountant.crowd}", self.accountant.dummies
        if dummies:
            crowd += f", and {dummies:,} dummies"
        worst = round_up(max(tier.guarantee.upper for tier in self.found))
        return (
            f"With {crowd}, the shuffled reports have {self.quantity} = {worst} at {self._other} = "
            f"{plain(self.given)} for everybody, and what the table says for each tier."
        )

    def to_json(self, command: str) -> str:
        """Return one JSON object; docs/json.md documents its fields."""
        asked, solved = self.accountant, self.solved
        fields: dict[str, object] = {
            "n": asked.n,
            "dummies": asked.dummies,
            "corrupted": asked.crowd.corrupted,
            "quantity": self.quantity,
            f"target_{self._other}": self.given,
            f"target_{self.quantity}": None if solved is None else solved.target_epsilon,
            "epsilon0": None if solved is None else solved.epsilon0,
            "tiers": [_tier_fields(tier) for tier in self.found],
        }
        facts = (
            *assumptions_of([group.randomizer for group in asked.groups]),
            _TIER,
            *asked.crowd.assumptions,
        )
        return envelope(command, fields, (*facts, _DUMMIES) if asked.dummies else facts)


def _tier_fields(tier: Tier) -> dict[str, object]:
    return {
        "mechanism": str(tier.group.randomizer),
        "relation": tier.relation.to_dict(),
        **level_fields(tier.group.randomizer),
        "n": tier.group.n,
        "guarantee": _finite_ends(tier.guarantee),
        "lower_bound": tier.lower_bound if math.isfinite(tier.lower_bound) else None,
        "among": tier.among,
        "datasets": None if tier.datasets is None else str(tier.datasets),
    }


def _finite_ends(guarantee: Interval) -> dict[str, float | None]:
    ends = {"lower": guarantee.lower, "upper": guarantee.upper}
    return {name: value if math.isfinite(value) else None for name, value in ends.items()}
