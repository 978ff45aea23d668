"""``shuffledp users``: the smallest crowd that is enough."""

from __future__ import annotations

from fractions import Fraction

from shuffledp.accounting import required_users
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.basics.errors import MAX_USERS
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import shorten
from shuffledp.cli.accountant import crowd_asked
from shuffledp.cli.answers.question import Printable, question
from shuffledp.cli.answers.solution import solution
from shuffledp.cli.parameters import (
    BOUND,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    DELTA,
    EPSILON,
    MECHANISM,
    TIMES,
    VIEW,
)
from shuffledp.mechanisms import LocalRandomizer


@question(MECHANISM, EPSILON, DELTA, TIMES, BOUND, CORRUPTED, CORRUPTED_ADAPTIVELY, VIEW)
def users(
    mechanism: LocalRandomizer,
    epsilon: float,
    delta: float,
    times: int,
    bound: Bound,
    corrupted: int | Fraction,
    corrupted_adaptively: int | Fraction,
    view: View,
) -> Printable:
    """Find the smallest n that meets epsilon and delta.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    crowd_asked(MAX_USERS, corrupted, corrupted_adaptively)
    found = required_users(
        mechanism,
        target_epsilon=epsilon,
        target_delta=delta,
        rounds=times,
        bound=bound,
        view=view,
        corrupted=corrupted,
        corrupted_adaptively=corrupted_adaptively,
    )
    crowd = crowd_asked(found.n, corrupted, corrupted_adaptively)
    return solution(
        head=(
            ("mechanism", shorten(str(mechanism))),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("users", f"{crowd.in_figures}  (the smallest safe number)"),
        ),
        report=found.report,
        met=epsilon,
    )
