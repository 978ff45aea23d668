"""The answer to a question that was solved for something, for one round or for several."""

from __future__ import annotations

from shuffledp.accounting import Report, RoundsReport
from shuffledp.cli.answers.answer import Answer
from shuffledp.cli.answers.printable import Printable
from shuffledp.cli.answers.rounds_answer import RoundsAnswer


def solution(
    *,
    head: tuple[tuple[str, str], ...],
    report: Report | RoundsReport,
    met: float,
    family: str | None = None,
    epsilon0: float | None = None,
) -> Printable:
    """Return the answer that fits the report; the arguments are those of `Answer`."""
    from shuffledp.outputs.review.accuracy import accuracy

    setting = report.setting
    errors = () if setting is None else tuple(accuracy(setting.randomizer, setting.crowd))
    if isinstance(report, Report):
        return Answer(
            head=head, report=report, met=met, family=family, epsilon0=epsilon0, accuracy=errors
        )
    solved: dict[str, object] = {} if family is None else {"family": family, "epsilon0": epsilon0}
    return RoundsAnswer(head=head, report=report, met=met, solved=solved, accuracy=errors)
