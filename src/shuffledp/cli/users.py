"""``shuffledp users``: the smallest crowd that is enough."""

from __future__ import annotations

from shuffledp.accounting import ShuffleAccountant, required_users
from shuffledp.cli.answer import Answer, shorten
from shuffledp.cli.parameters import DELTA, EPSILON, MECHANISM
from shuffledp.cli.question import question
from shuffledp.randomizers import LocalRandomizer
from shuffledp.rounding import plain


@question(MECHANISM, EPSILON, DELTA)
def users(mechanism: LocalRandomizer, epsilon: float, delta: float) -> Answer:
    """Find the smallest n that meets epsilon and delta.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    n = required_users(mechanism, target_epsilon=epsilon, target_delta=delta)
    accountant = ShuffleAccountant(mechanism, n)
    return Answer(
        quantity="epsilon",
        head=(
            ("mechanism", shorten(str(mechanism))),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("users", f"{n:,}  (the smallest safe number)"),
        ),
        randomizer=mechanism,
        n=n,
        target_epsilon=epsilon,
        target_delta=delta,
        rtol=accountant.rtol,
        report=accountant.epsilon_report(delta),
    )
