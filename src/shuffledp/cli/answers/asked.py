"""Epsilon at a delta, or delta at an epsilon, in any setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import click

from shuffledp.accounting import MixedAccountant, Rounds, Setting, ShuffleAccountant
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.rounding import plain, round_down
from shuffledp.basics.wording import counted, shorten
from shuffledp.cli.answers.answer import Answer
from shuffledp.cli.answers.printable import Printable
from shuffledp.cli.answers.rounds_answer import RoundsAnswer
from shuffledp.cli.answers.tiers_answer import TiersAnswer


def epsilon_answer(setting: Setting, delta: float, rtol: float | None) -> Printable:
    """Return the epsilon of a setting at a delta."""
    asked = accountant(setting, rtol)
    if isinstance(asked, MixedAccountant):
        return TiersAnswer(asked, asked.epsilon_tiers(delta), "epsilon", delta)
    if isinstance(asked, Rounds):
        return epsilon_of_rounds(asked, delta)
    report, text = asked.epsilon_report(delta), shorten(str(asked.randomizer))
    if report.guarantee.upper == math.inf:
        raise NoAnswerError(
            f"no finite epsilon can be certified at so small a delta as {plain(delta)} for "
            f"{asked.crowd} of {text}" + _leak(report.lower_bound)
        )
    return Answer(head=(*_head(asked), ("delta", plain(delta))), report=report)


def delta_answer(setting: Setting, epsilon: float, rtol: float | None) -> Printable:
    """Return the delta of a setting at an epsilon."""
    asked = accountant(setting, rtol)
    if isinstance(asked, MixedAccountant):
        return TiersAnswer(asked, asked.delta_tiers(epsilon), "delta", epsilon)
    if isinstance(asked, Rounds):
        return delta_of_rounds(asked, epsilon)
    head = (*_head(asked), ("epsilon", plain(epsilon)))
    return Answer(head=head, report=asked.delta_report(epsilon))


def epsilon_of_rounds(asked: Rounds, delta: float) -> RoundsAnswer:
    """Return the epsilon of several rounds at a delta."""
    report = asked.epsilon_report(delta)
    if report.guarantee.upper == math.inf:
        raise NoAnswerError(
            f"no finite epsilon can be certified at so small a delta as {plain(delta)} for "
            f"{counted(asked.total, 'round')}"
        )
    return RoundsAnswer(head=(*_head_of_rounds(asked), ("delta", plain(delta))), report=report)


def delta_of_rounds(asked: Rounds, epsilon: float) -> RoundsAnswer:
    """Return the delta of several rounds at an epsilon."""
    head = (*_head_of_rounds(asked), ("epsilon", plain(epsilon)))
    return RoundsAnswer(head=head, report=asked.delta_report(epsilon))


def accountant(
    setting: Setting, rtol: float | None = None
) -> ShuffleAccountant | Rounds | MixedAccountant:
    """Return who answers; what does not fit together is an error of the command line."""
    try:
        return setting.accountant(rtol)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _head(asked: ShuffleAccountant) -> Sequence[tuple[str, str]]:
    text = shorten(str(asked.randomizer))
    return (("mechanism", text), ("users", asked.crowd.in_figures))


def _head_of_rounds(asked: Rounds) -> Sequence[tuple[str, str]]:
    head = [
        (
            "" if place else "rounds",
            f"{kind.times:,} of {shorten(str(kind.accountant.randomizer))} "
            f"with {kind.accountant.crowd}",
        )
        for place, kind in enumerate(asked.kinds)
    ]
    if asked.at_most is not None:
        head.append(("at most", f"{asked.at_most:,} of them for each user"))
    return head


def _leak(lower_bound: float) -> str:
    if lower_bound == math.inf:
        return ": two neighbouring datasets have a larger delta at every epsilon"
    return f"; no analysis can prove less than epsilon = {round_down(lower_bound)}"
