"""The answer to a question about several rounds, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shuffledp.accounting import RoundsReport, Setting
from shuffledp.accounting.assumptions import ASSUMPTIONS
from shuffledp.basics.rounding import gap, plain, round_up
from shuffledp.basics.wording import counted, fill
from shuffledp.cli.answers.shown import BY_ROUND, envelope, is_private, shown_guarantee


@dataclass(frozen=True, kw_only=True)
class RoundsAnswer:
    """A report about several rounds for people and programs.

    Attributes:
        head: labelled lines with the question and, where something was solved for, the solution.
        report: the question and its answer.
        met: where something was solved for, the epsilon that had to be met.
        solved: more fields of the JSON object.
        accuracy: how far estimates of one round are from the truth then, in sentences of the JSON.
    """

    head: tuple[tuple[str, str], ...]
    report: RoundsReport
    met: float | None = None
    solved: Mapping[str, object] = field(default_factory=dict)
    accuracy: tuple[str, ...] = ()

    @property
    def setting(self) -> Setting | None:
        """What it is the answer for; None for several kinds of rounds."""
        return self.report.setting

    def to_text(self) -> str:
        """Return aligned lines, one sentence of meaning, and what is assumed."""
        report, name = self.report, self.report.quantity
        rows = [
            *self.head,
            ("guarantee", f"{name} = {self._guarantee}"),
            ("lower bound", f"{name} = {report.at_least}"),
            *((_datasets_label(i), text) for i, text in enumerate(report.datasets_in_words)),
            ("gap", gap(report.decimal_guarantee, report.decimal_lower_bound)),
        ]
        if report.naive is not None:
            single = ", ".join(round_up(epsilon) for epsilon in report.one_round)
            rows += [
                ("one round", f"epsilon = {single}"),
                ("added up", f"epsilon = {round_up(report.naive)}  (a share of delta each)"),
            ]
        width = max(len(label) for label, _ in rows) + 2
        lines = [label.ljust(width) + value for label, value in rows]
        # Every help text holds the others.
        more = [fact for fact in report.assumptions if fact not in ASSUMPTIONS]
        facts = [fill(fact, "- ", "  ") for fact in more]
        paragraphs = [self._meaning, *self._notes]
        return "\n".join([*lines, "", *(fill(p) for p in paragraphs), "", "This assumes:", *facts])

    def to_json(self, command: str) -> str:
        """Return one JSON object; docs/json.md documents its fields."""
        fields = {**self.solved, **self.report.to_dict()}
        if self.met is not None:
            fields |= {f"target_{self.report.quantity}": self.met, "accuracy": self.accuracy}
        return envelope(command, fields, self.report.assumptions)

    @property
    def _guarantee(self) -> str:
        return shown_guarantee(self.report.decimal_guarantee, self.report.at_most, self.met)

    @property
    def _meaning(self) -> str:
        report, target = self.report, plain(self.report.target)
        asked_epsilon = report.quantity == "epsilon"
        epsilon = self._guarantee if asked_epsilon else target
        delta = target if asked_epsilon else self._guarantee
        claim = (
            f"After {counted(report.rounds.total, 'round')} {self._seen} "
            f"{is_private(epsilon, delta, self._neighbours)}"
        )
        if report.decimal_lower_bound == 0:
            return f"{claim}."
        return f"{claim}; no analysis can prove less than {report.quantity} = {report.at_least}."

    @property
    def _neighbours(self) -> str:
        relation = self.report.relation
        return BY_ROUND if relation is None else relation.in_rounds

    @property
    def _seen(self) -> str:
        views = {kind.accountant.view for kind in self.report.rounds.kinds}
        if views == {"multiset"}:
            return "all shuffled reports together are"
        return "all sums together are" if views == {"sum"} else "all that is seen is"

    @property
    def _notes(self) -> list[str]:
        report = self.report
        if report.rtol_reached:
            return []
        return [
            "Note: the guarantee is certified, but known less precisely than asked: its enclosure "
            f"is wider than rtol = {plain(report.rounds.rtol)}."
        ]


def _datasets_label(place: int) -> str:
    return "" if place else "datasets"
