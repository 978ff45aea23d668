"""How many rounds fit into a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.rounds.rounds import Rounds
from shuffledp.accounting.rounds.rounds_report import RoundsReport
from shuffledp.basics.errors import (
    MAX_ROUNDS,
    NoAnswerError,
    check_delta,
    check_total_epsilon,
    check_type,
    wide_is_enough,
)
from shuffledp.basics.markup import facts
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import shorten

_FIRST_STEP = 2**-13  # of the rounds, to leave out if epsilon misses what delta met


@dataclass(frozen=True)
class AllowedRounds:
    """The largest number of rounds that is safe.

    Attributes:
        times: that number; ``int`` of the whole is the same.
        accountant: one of the rounds.
        target_epsilon: the epsilon that is met.
        target_delta: the delta that is met.
        rtol: the relative width of epsilon that was asked for.
    """

    times: int
    accountant: ShuffleAccountant
    target_epsilon: float
    target_delta: float
    rtol: float

    @cached_property
    def report(self) -> RoundsReport:
        """The epsilon of all of them at ``target_delta``, computed when first asked for."""
        return self.accountant.rounds(self.times, rtol=self.rtol).epsilon_report(self.target_delta)

    def __int__(self) -> int:
        """Return the number of rounds."""
        return self.times

    def __index__(self) -> int:
        """Return the number of rounds."""
        return self.times

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return facts(
            {
                "rounds that fit": f"{self.times:,}",
                "mechanism": shorten(str(self.accountant.randomizer)),
                "users": str(self.accountant.crowd),
                "budget": f"({plain(self.target_epsilon)}, {plain(self.target_delta)})",
            }
        )


def max_rounds(
    accountant: ShuffleAccountant,
    *,
    target_epsilon: float,
    target_delta: float,
    rtol: float = 1e-3,
) -> AllowedRounds:
    """Find the largest number of rounds that together are (target_epsilon, target_delta)-DP.

    More rounds reveal more, so it is found by bisection, and it keeps its word:
    ``accountant.rounds(times)`` has ``get_epsilon(target_delta) <= target_epsilon`` and
    ``get_delta(target_epsilon) <= target_delta``, exactly. It is the largest up to a relative 2
    ``rtol``, which the width of these bounds amounts to. No more than 1e9 are looked at.

    Args:
        accountant: one round.
        target_epsilon: the epsilon to be met by all rounds together.
        target_delta: the delta to be met by all rounds together.
        rtol: relative width of epsilon.

    Raises:
        NoAnswerError: if not even one round meets the target.

    >>> weekly = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
    >>> max_rounds(weekly, target_epsilon=1.0, target_delta=1e-6).times
    112
    """
    check_type("accountant", accountant, ShuffleAccountant)
    epsilon, delta = check_total_epsilon(target_epsilon), check_delta(target_delta)
    times = largest_times(lambda times: accountant.rounds(times, rtol=rtol), epsilon, delta)
    if times == 0:
        raise NoAnswerError(
            f"not even one round of {accountant.randomizer} with {accountant.crowd} meets "
            f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"
        )
    return AllowedRounds(times, accountant, epsilon, delta, rtol)


def largest_times(
    rounds_of: Callable[[int], Rounds], epsilon: float, delta: float, most: int = MAX_ROUNDS
) -> int:
    """Return the largest number, from 0 to ``most``, whose rounds meet epsilon and delta.

    Args:
        rounds_of: the rounds for a number of at least 1; a larger number reveals more.
        epsilon: the epsilon to be met.
        delta: the delta to be met.
        most: no more are looked at; at least 1.
    """

    def fit(times: int) -> bool:
        return rounds_of(times).meets(epsilon, delta)

    def keep_their_word(times: int) -> bool:
        rounds = rounds_of(times)
        with wide_is_enough():
            return rounds.get_epsilon(delta) <= epsilon and rounds.get_delta(epsilon) <= delta

    safe, unsafe = 0, 1
    while fit(unsafe):
        safe = unsafe
        if safe == most:
            break
        unsafe = min(4 * safe, most)
    while unsafe - safe > 1:
        middle = (safe + unsafe) // 2
        safe, unsafe = (middle, unsafe) if fit(middle) else (safe, middle)
    step = max(int(safe * _FIRST_STEP), 1)
    while safe > 0 and not keep_their_word(safe):
        safe, step = max(safe - step, 0), 2 * step
    return safe
