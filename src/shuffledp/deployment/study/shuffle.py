"""Reports that are shuffled together, and which of the users send them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.basics.arrays import IntArray
from shuffledp.basics.errors import check_real
from shuffledp.collection import shuffle
from shuffledp.mechanisms import Joint, LocalRandomizer, OneOf

#: Shares of the users are whole numbers of these.
PARTS = 10_000


@dataclass(frozen=True)
class Shuffle:
    """Reports that are shuffled together.

    Attributes:
        names: the attributes they are about.
        mechanism: what every person runs: for several attributes a composition that reads them in
            this order.
        share: the share of the users who send such a report; below 1 every user sends only one of
            all reports, and which one is public.
    """

    names: tuple[str, ...]
    mechanism: LocalRandomizer
    share: float = 1.0

    def __post_init__(self) -> None:
        """Check the share."""
        if isinstance(self.share, bool) or not 0 < check_real("share", self.share) <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share!r}")

    @property
    def parts(self) -> tuple[LocalRandomizer, ...]:
        """The mechanism of each attribute."""
        if isinstance(self.mechanism, Joint | OneOf):
            return self.mechanism.parts
        return (self.mechanism,)


def is_shared_out(shuffles: Sequence[Shuffle]) -> bool:
    """Whether every user sends one of the reports only."""
    return any(shuffle.share < 1 for shuffle in shuffles)


def users_of(shuffles: Sequence[Shuffle], n: int) -> tuple[int, ...]:
    """Return how many of n users send a report to each shuffle.

    Raises:
        ValueError: if the shares are neither all 1 nor sum to 1.
    """
    if not is_shared_out(shuffles):
        return (n,) * len(shuffles)
    return Assignment([shuffle.share for shuffle in shuffles]).sizes(n)


class Assignment:
    """Users in groups of given shares: the sizes are fixed by n, who is where is random.

    Rows are assigned by a fixed pattern of 10,000 places, in which every group comes as evenly as
    possible; within a batch of rows the pattern is shuffled. Neither looks at the answers, if the
    batches do not depend on them, and the size of a group is the same whatever chance decides.

    Args:
        shares: the share of each group in the users, in whole ten-thousandths; they sum to 1.

    >>> Assignment((0.5, 0.3, 0.2)).sizes(1001)
    (501, 300, 200)

    Raises:
        ValueError: if they do not.
    """

    def __init__(self, shares: Sequence[float]) -> None:
        counts = tuple(round(share * PARTS) for share in shares)
        exact = all(count / PARTS == share for count, share in zip(counts, shares, strict=True))
        if not exact or min(counts) < 1 or sum(counts) != PARTS:
            raise ValueError(
                f"shares of the users must be whole ten-thousandths that sum to 1, got {shares}"
            )
        self._counts, self._pattern = counts, _pattern(counts)

    def sizes(self, n: int) -> tuple[int, ...]:
        """Return how many of n users are in each group."""
        whole, rest = divmod(n, PARTS)
        further = np.bincount(self._pattern[:rest], minlength=len(self._counts))
        return tuple(
            whole * count + int(more) for count, more in zip(self._counts, further, strict=True)
        )

    def groups(self, first: int, count: int, rng: np.random.Generator | None) -> IntArray:
        """Return the groups of some rows, the first of which has the given number, from 0 on.

        Args:
            first: the number of the first row.
            count: how many rows.
            rng: a generator, for simulations that can be repeated; None for secure random bits.
        """
        places = (np.arange(count, dtype=np.int64) + first) % PARTS
        mixed: IntArray = shuffle(self._pattern[places], rng)
        return mixed


@lru_cache(maxsize=16)
def _pattern(counts: tuple[int, ...]) -> IntArray:
    """Return the group of each place: always the one that lags most behind its share."""
    due, wanted = np.zeros(len(counts), dtype=np.int64), np.array(counts, dtype=np.int64)
    pattern = np.empty(PARTS, dtype=np.int64)
    for place in range(PARTS):
        due += wanted
        chosen = int(due.argmax())
        due[chosen] -= PARTS
        pattern[place] = chosen
    pattern.flags.writeable = False
    return pattern
