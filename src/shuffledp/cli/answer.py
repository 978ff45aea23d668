"""The answer to a question about privacy, as text for people and as JSON for programs."""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeGuard

from shuffledp import __version__, wording
from shuffledp.accounting import Report
from shuffledp.cli.facts import ASSUMPTIONS
from shuffledp.interval import Interval
from shuffledp.randomizers import LocalRandomizer
from shuffledp.rounding import (
    DIGITS,
    decade,
    exp_above,
    exp_below,
    gap,
    plain,
    round_down,
    round_up,
)

WIDTH = 88
_MAX_TEXT = 72
_SMALLEST_LOG = -690.0  # below 1e-299 doubles lose digits


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A certified guarantee and lower bound, with the question they answer.

    Attributes:
        quantity: what ``report`` bounds; the other one of epsilon and delta is given.
        head: labelled lines with the question and, where something was solved for, the solution.
        randomizer: what each user runs.
        n: number of users.
        target_epsilon: the epsilon that was given, if any.
        target_delta: the delta that was given, if any.
        rtol: the relative width that was asked for.
        report: the guarantee, the lower bound and where they are attained.
        family: the text that was calibrated, if any.
        epsilon0: what calibration found for the parameter of that name, if it was asked.
    """

    quantity: Literal["epsilon", "delta"]
    head: tuple[tuple[str, str], ...]
    randomizer: LocalRandomizer
    n: int
    target_epsilon: float | None = None
    target_delta: float | None = None
    rtol: float
    report: Report
    family: str | None = None
    epsilon0: float | None = None

    def to_text(self) -> str:
        """Return aligned lines and one sentence of meaning."""
        report, name = self.report, self.quantity
        rows = [
            *self.head,
            (
                "guarantee",
                f"{name} = {self._guarantee}  (worst pair: {report.worst_pair}; {report.pairs})",
            ),
            ("lower bound", f"{name} = {self._bound}  (datasets: {report.datasets})"),
            ("gap", gap(self._upper, self._lower)),
        ]
        width = max(len(label) for label, _ in rows) + 2
        lines = [label.ljust(width) + value for label, value in rows]
        paragraphs = [self._meaning, *self._notes]
        return "\n".join([*lines, "", *(textwrap.fill(p, WIDTH) for p in paragraphs)])

    def to_json(self, command: str) -> str:
        """Return one JSON object; README.md documents its fields."""
        fields: dict[str, object] = {"command": command}
        if self.family is not None:
            fields |= {"family": self.family, "epsilon0": self.epsilon0}
        pure = math.isfinite(self.randomizer.epsilon0)
        fields |= {
            "mechanism": str(self.randomizer),
            "ldp_level": self.randomizer.epsilon0 if pure else None,
            "ldp_level_reason": None if pure else "the mechanism is not pure LDP",
            "n": self.n,
            "target_epsilon": self.target_epsilon,
            "target_delta": self.target_delta,
            "quantity": self.quantity,
            "guarantee": ends(self.report.guarantee),
            "lower_bound": self.report.lower_bound,
            "worst_pair": self.report.worst_pair,
            "pairs": self.report.pairs,
            "datasets": self.report.datasets,
            "rtol": self.rtol,
            "rtol_reached": self.report.rtol_reached,
        }
        log, leak = self.report.log_guarantee, self.report.log_lower_bound
        if log is not None and leak is not None:
            zero = "delta may be 0, without logarithm"
            fields |= {
                "log_guarantee": ends(log),
                "log_guarantee_reason": zero if None in ends(log).values() else None,
                "log_lower_bound": leak if math.isfinite(leak) else None,
            }
        fields |= {"assumptions": ASSUMPTIONS, "version": __version__}
        return json.dumps(fields, indent=2, allow_nan=False)

    @property
    def _digits(self) -> int:
        """As many digits as the asked accuracy makes meaningful."""
        return max(DIGITS, -decade(self.rtol))

    @property
    def _upper(self) -> Decimal:
        """The guarantee; from its logarithm where doubles lose digits."""
        log = self.report.log_guarantee
        if log is not None and _is_tiny(log.upper):
            return exp_above(log.upper)
        return Decimal(self.report.guarantee.upper)

    @property
    def _lower(self) -> Decimal:
        """The lower bound; from its logarithm where doubles lose digits."""
        log = self.report.log_lower_bound
        return exp_below(log) if _is_tiny(log) else Decimal(self.report.lower_bound)

    @property
    def _targets(self) -> dict[str, float | None]:
        return {"epsilon": self.target_epsilon, "delta": self.target_delta}

    @property
    def _guarantee(self) -> str:
        """The guarantee in few digits, rounded up; the target, if that takes it there or beyond."""
        rounded, target = round_up(self._upper, self._digits), self._targets[self.quantity]
        if target is None or self._upper > target or Decimal(rounded) < Decimal(plain(target)):
            return rounded
        return plain(target)

    @property
    def _bound(self) -> str:
        return round_down(self._lower, self._digits)

    @property
    def _meaning(self) -> str:
        shown = {name: plain(value) for name, value in self._targets.items() if value is not None}
        shown[self.quantity] = self._guarantee
        claim = (
            f"With {wording.counted(self.n, 'user')} the shuffled reports are "
            f"({shown['epsilon']}, {shown['delta']})-differentially private"
        )
        if self._lower == 0:
            return f"{claim}."
        return f"{claim}; no analysis can prove less than {self.quantity} = {self._bound}."

    @property
    def _notes(self) -> list[str]:
        if self.report.rtol_reached:
            return []
        log = self.report.log_guarantee
        start = Decimal(self.report.guarantee.lower)
        if log is not None and _is_tiny(log.lower):
            start = exp_below(log.lower)
        lower = round_down(start, self._digits + 2)
        upper = round_up(self._upper, self._digits + 2)
        return [
            f"Note: the guarantee is certified, but known less precisely than asked: its enclosure "
            f"[{lower}, {upper}] is wider than rtol = {plain(self.rtol)}."
        ]


def _is_tiny(log: float | None) -> TypeGuard[float]:
    """Whether this is the logarithm of a number for which doubles have too few digits."""
    return log is not None and -math.inf < log < _SMALLEST_LOG


def shorten(text: str) -> str:
    """Return ``text``, cut where it would fill several lines (a matrix written out)."""
    return wording.shorten(text, _MAX_TEXT)


def ends(interval: Interval) -> dict[str, float | None]:
    """Return the ends of an interval; JSON has no infinity."""
    return {
        name: end if math.isfinite(end) else None
        for name, end in (("lower", interval.lower), ("upper", interval.upper))
    }
