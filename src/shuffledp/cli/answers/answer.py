"""The answer to a question about privacy, as text for people and as JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting import Report, Setting
from shuffledp.accounting.assumptions import particulars
from shuffledp.accounting.report import in_words
from shuffledp.basics.rounding import below, gap, plain, round_down, round_up
from shuffledp.basics.wording import fill
from shuffledp.cli.answers.shown import envelope, is_private, shown_guarantee, what_is_seen


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A report for people and programs.

    Attributes:
        head: labelled lines with the question and, where something was solved for, the solution.
        report: the question and its answer.
        met: where something was solved for, the value of ``report.quantity`` that had to be met.
        family: the text that was calibrated, if any.
        epsilon0: what calibration found for the parameter of that name, if it was asked.
        accuracy: how far estimates are from the truth then, in sentences of the JSON.
    """

    head: tuple[tuple[str, str], ...]
    report: Report
    met: float | None = None
    family: str | None = None
    epsilon0: float | None = None
    accuracy: tuple[str, ...] = ()

    @property
    def setting(self) -> Setting:
        """What it is the answer for."""
        return self.report.setting

    def to_text(self) -> str:
        """Return aligned lines and one sentence of meaning."""
        report, name = self.report, self.report.quantity
        worst = f"worst pair: {in_words(report.worst_pair)}; {report.pairs}"
        if report.setting.bound == "best":
            worst += f"; {report.bound} bound"
        rows = [
            *self.head,
            ("guarantee", f"{name} = {self._guarantee}  ({worst})"),
            ("lower bound", f"{name} = {self._bound}  (datasets: {report.datasets_in_words})"),
            ("gap", gap(report.decimal_guarantee, report.decimal_lower_bound)),
        ]
        width = max(len(label) for label, _ in rows) + 2
        lines = [label.ljust(width) + value for label, value in rows]
        paragraphs = [self._meaning, *self._notes]
        if report.view == "sum":
            paragraphs.append(f"The analyst sees {report.view_in_words}.")
        return "\n".join([*lines, "", *(fill(p) for p in paragraphs)])

    def to_json(self, command: str) -> str:
        """Return one JSON object; docs/json.md documents its fields."""
        fields: dict[str, object] = {}
        if self.family is not None:
            fields |= {"family": self.family, "epsilon0": self.epsilon0}
        fields |= self.report.to_dict()
        if self.met is not None:
            fields |= {f"target_{self.report.quantity}": self.met, "accuracy": self.accuracy}
        return envelope(command, fields, self.report.assumptions)

    @property
    def _guarantee(self) -> str:
        upper = self.report.decimal_guarantee
        return shown_guarantee(upper, round_up(upper, self.report.digits), self.met)

    @property
    def _bound(self) -> str:
        return round_down(self.report.decimal_lower_bound, self.report.digits)

    @property
    def _meaning(self) -> str:
        report, target = self.report, plain(self.report.target)
        asked_epsilon = report.quantity == "epsilon"
        epsilon = self._guarantee if asked_epsilon else target
        delta = target if asked_epsilon else self._guarantee
        what = what_is_seen(report.view)
        comma = "," if report.crowd.assumptions else ""
        private = is_private(epsilon, delta, str(report.relation))
        claim = f"With {report.crowd}{comma} {what} {private}"
        if report.decimal_lower_bound == 0:
            return f"{claim}."
        return f"{claim}; no analysis can prove less than {report.quantity} = {self._bound}."

    @property
    def _notes(self) -> list[str]:
        report = self.report
        own = particulars(report.randomizer, report.bound)
        notes = [f"This assumes that {fact}." for fact in own]
        if report.bound_reason is not None:
            notes.append(f"Note: the blanket bound stands, because {report.bound_reason}.")
        if report.rtol_reached:
            return notes
        log = report.log_guarantee
        start = below(report.guarantee.lower, None if log is None else log.lower)
        lower = round_down(start, report.digits + 2)
        upper = round_up(report.decimal_guarantee, report.digits + 2)
        return [
            *notes,
            f"Note: the guarantee is certified, but known less precisely than asked: its enclosure "
            f"[{lower}, {upper}] is wider than rtol = {plain(report.rtol)}.",
        ]
