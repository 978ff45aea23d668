"""``shuffledp delta``: the failure probability at a given epsilon."""

from __future__ import annotations

from fractions import Fraction

from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import shorten
from shuffledp.cli.accountant import accountant
from shuffledp.cli.answers.answer import Answer
from shuffledp.cli.answers.question import question
from shuffledp.cli.parameters import (
    BOUND,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    EPSILON,
    MECHANISM,
    RTOL,
    USERS,
    VIEW,
)
from shuffledp.mechanisms import LocalRandomizer


@question(MECHANISM, USERS, EPSILON, RTOL, BOUND, CORRUPTED, CORRUPTED_ADAPTIVELY, VIEW)
def delta(
    mechanism: LocalRandomizer,
    n: int,
    epsilon: float,
    rtol: float,
    bound: Bound,
    corrupted: int | Fraction,
    corrupted_adaptively: int | Fraction,
    view: View,
) -> Answer:
    """Find the delta of the shuffled reports at a given epsilon.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    text = shorten(str(mechanism))
    asked = accountant(mechanism, n, rtol, bound, corrupted, corrupted_adaptively, view)
    head = (("mechanism", text), ("users", asked.crowd.in_figures), ("epsilon", plain(epsilon)))
    return Answer(head=head, report=asked.delta_report(epsilon))
