"""Rounds that are all alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.basics.errors import check_rounds
from shuffledp.mechanisms import LocalRandomizer


@dataclass(frozen=True)
class RoundKind:
    """Some rounds that are all alike.

    Attributes:
        accountant: one of them.
        times: how many there are.
    """

    accountant: ShuffleAccountant
    times: int

    @property
    def key(self) -> object:
        """What two kinds that are the same have in common."""
        one = self.accountant
        return type(one.randomizer), one.randomizer, one.crowd, one.bound, one.view

    def is_of(self, randomizer: LocalRandomizer) -> bool:
        """Whether users run this randomizer."""
        own = self.accountant.randomizer
        return type(own) is type(randomizer) and own == randomizer


def merge_kinds(rounds: Iterable[tuple[ShuffleAccountant, int]]) -> tuple[RoundKind, ...]:
    """Return the kinds of rounds, each once, in the order of their first appearance.

    >>> weekly = ShuffleAccountant("krr(k=10, epsilon0=2)", n=1000)
    >>> [kind.times for kind in merge_kinds([(weekly, 4), (weekly, 48)])]
    [52]
    """
    if not isinstance(rounds, Iterable):
        raise TypeError(f"rounds must be pairs of an accountant and a number, got {rounds!r}")
    kinds: dict[object, RoundKind] = {}
    for pair in rounds:
        try:
            accountant, times = pair
        except (TypeError, ValueError):
            raise TypeError(
                f"rounds must be pairs of an accountant and a number, got {pair!r}"
            ) from None
        if not isinstance(accountant, ShuffleAccountant):
            raise TypeError(f"rounds must name ShuffleAccountants, got {accountant!r}")
        kind = RoundKind(accountant, check_rounds(times, "the number of rounds"))
        if kind.key in kinds:
            kind = RoundKind(kinds[kind.key].accountant, kinds[kind.key].times + kind.times)
        kinds[kind.key] = kind
    if not kinds:
        raise ValueError("rounds must hold at least one round, got none")
    return tuple(kinds.values())
