"""``shuffledp calibrate``: the least local noise that is still safe."""

from __future__ import annotations

from fractions import Fraction

from shuffledp.accounting import Calibration, calibrate_epsilon0
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.basics.rounding import plain, round_down
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
    FAMILY,
    TIMES,
    USERS,
    VIEW,
)


@question(FAMILY, USERS, EPSILON, DELTA, TIMES, BOUND, CORRUPTED, CORRUPTED_ADAPTIVELY, VIEW)
def calibrate(
    family: str,
    n: int,
    epsilon: float,
    delta: float,
    times: int,
    bound: Bound,
    corrupted: int | Fraction,
    corrupted_adaptively: int | Fraction,
    view: View,
) -> Printable:
    """Find the largest epsilon0 that meets epsilon and delta.

    FAMILY is a mechanism without epsilon0, for example "krr(k=10)"; see "shuffledp mechanisms" for
    all of them. In a composition every part without epsilon0 gets the same one.
    """
    crowd = crowd_asked(n, corrupted, corrupted_adaptively)
    found = calibrate_epsilon0(
        family,
        n=n,
        target_epsilon=epsilon,
        target_delta=delta,
        rounds=times,
        bound=bound,
        view=view,
        corrupted=corrupted,
        corrupted_adaptively=corrupted_adaptively,
    )
    return solution(
        head=(
            ("family", shorten(family)),
            ("users", crowd.in_figures),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("epsilon0", _show(found)),
            ("mechanism", str(found.mechanism)),
        ),
        report=found.report,
        met=epsilon,
        family=family,
        epsilon0=found.epsilon0,
    )


def _show(found: Calibration) -> str:
    """Return epsilon0 in few digits, or in all where a smaller one can be less private."""
    if found.mechanism.monotone:
        return f"{round_down(found.epsilon0)}  (the largest safe value, rounded down)"
    return f"{found.epsilon0!r}  (the largest safe value found)"
