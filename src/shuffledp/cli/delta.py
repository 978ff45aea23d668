"""``shuffledp delta``: the failure probability at a given epsilon."""

from __future__ import annotations

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.report import Bound
from shuffledp.cli.answer import Answer
from shuffledp.cli.parameters import BOUND, EPSILON, MECHANISM, RTOL, USERS
from shuffledp.cli.question import question
from shuffledp.randomizers import LocalRandomizer
from shuffledp.rounding import plain
from shuffledp.wording import shorten


@question(MECHANISM, USERS, EPSILON, RTOL, BOUND)
def delta(mechanism: LocalRandomizer, n: int, epsilon: float, rtol: float, bound: Bound) -> Answer:
    """Find the delta of the shuffled reports at a given epsilon.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    text = shorten(str(mechanism))
    head = (("mechanism", text), ("users", f"{n:,}"), ("epsilon", plain(epsilon)))
    accountant = ShuffleAccountant(mechanism, n, rtol=rtol, bound=bound)
    return Answer(head=head, report=accountant.delta_report(epsilon))
