"""``shuffledp calibrate``: the least local noise that is still safe."""

from __future__ import annotations

from shuffledp.accounting import ShuffleAccountant, calibrate_epsilon0
from shuffledp.cli.answer import Answer, shorten
from shuffledp.cli.parameters import DELTA, EPSILON, FAMILY, USERS
from shuffledp.cli.question import question, report_met_target
from shuffledp.cli.rounding import plain, round_down
from shuffledp.randomizers import LocalRandomizer, parse_family


@question(FAMILY, USERS, EPSILON, DELTA)
def calibrate(family: str, n: int, epsilon: float, delta: float) -> Answer:
    """Find the largest epsilon0 that meets epsilon and delta.

    FAMILY is a mechanism without epsilon0, for example "krr(k=10)"; see "shuffledp mechanisms" for
    all of them.
    """
    level = calibrate_epsilon0(family, n=n, target_epsilon=epsilon, target_delta=delta)
    randomizer = parse_family(family)(level)
    accountant = ShuffleAccountant(randomizer, n)
    return Answer(
        quantity="epsilon",
        head=(
            ("family", shorten(family)),
            ("users", f"{n:,}"),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("epsilon0", _largest(randomizer)),
            ("mechanism", str(randomizer)),
        ),
        randomizer=randomizer,
        n=n,
        target_epsilon=epsilon,
        target_delta=delta,
        rtol=accountant.rtol,
        report=report_met_target(accountant, epsilon, delta),
        family=family,
    )


def _largest(randomizer: LocalRandomizer) -> str:
    """Return the level in few digits, or in all where a smaller level can be less private."""
    if randomizer.monotone:
        return f"{round_down(randomizer.epsilon0)}  (the largest safe level, rounded down)"
    return f"{randomizer.epsilon0!r}  (the largest safe level found)"
