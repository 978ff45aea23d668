"""``shuffledp epsilon``: the privacy level at a given delta."""

from __future__ import annotations

import math
from fractions import Fraction

from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.rounding import plain, round_down
from shuffledp.basics.wording import shorten
from shuffledp.cli.accountant import accountant
from shuffledp.cli.answers.answer import Answer
from shuffledp.cli.answers.question import question
from shuffledp.cli.parameters import (
    BOUND,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    DELTA,
    MECHANISM,
    RTOL,
    USERS,
    VIEW,
)
from shuffledp.mechanisms import LocalRandomizer


@question(MECHANISM, USERS, DELTA, RTOL, BOUND, CORRUPTED, CORRUPTED_ADAPTIVELY, VIEW)
def epsilon(
    mechanism: LocalRandomizer,
    n: int,
    delta: float,
    rtol: float,
    bound: Bound,
    corrupted: int | Fraction,
    corrupted_adaptively: int | Fraction,
    view: View,
) -> Answer:
    """Find the epsilon of the shuffled reports at a given delta.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    asked = accountant(mechanism, n, rtol, bound, corrupted, corrupted_adaptively, view)
    report = asked.epsilon_report(delta)
    text = shorten(str(mechanism))
    if report.guarantee.upper == math.inf:
        raise NoAnswerError(
            f"no finite epsilon can be certified at so small a delta as {plain(delta)} for "
            f"{asked.crowd} of {text}" + _leak(report.lower_bound)
        )
    head = (("mechanism", text), ("users", asked.crowd.in_figures), ("delta", plain(delta)))
    return Answer(head=head, report=report)


def _leak(lower_bound: float) -> str:
    if lower_bound == math.inf:
        return ": two neighbouring datasets have a larger delta at every epsilon"
    return f"; no analysis can prove less than epsilon = {round_down(lower_bound)}"
