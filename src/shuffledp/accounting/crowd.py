"""Who took part: how many users, and how many of them are not honest."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from fractions import Fraction

from shuffledp.basics.errors import MAX_USERS, check_exact, check_integer
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import counted


@dataclass(frozen=True)
class Crowd:
    """n users, some of whom may work for the analyst.

    Attributes:
        n: number of users, the one whose input changes included.
        corrupted: how many reports the analyst knows or sets; who these users are is fixed before
            the reports are drawn, though their inputs may decide it.
        corrupted_adaptively: of how many more users the analyst learns the reports, chosen one
            after the other once the shuffled reports are seen.

    >>> Crowd(1000, corrupted=50).honest
    950
    """

    n: int
    corrupted: int = 0
    corrupted_adaptively: int = 0

    @property
    def honest(self) -> int:
        """How many users are not corrupted before the reports are drawn."""
        return self.n - self.corrupted

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What these numbers mean, for every answer that depends on them."""
        return Corruption(self.corrupted, self.corrupted_adaptively).assumptions

    @property
    def in_figures(self) -> str:
        """The number of users, and of the corrupted ones if there are any."""
        return f"{self.n:,}{self._corruption}"

    def __str__(self) -> str:
        """Return the crowd in words."""
        return counted(self.n, "user") + self._corruption

    @property
    def _corruption(self) -> str:
        words = f", {self.corrupted:,} of them corrupted" if self.corrupted else ""
        if self.corrupted_adaptively:
            words += f", {self.corrupted_adaptively:,} corrupted adaptively"
        return words


@dataclass(frozen=True)
class Corruption:
    """How many users are not honest, whatever their number: some of them, or a share of all.

    Attributes:
        corrupted: as in :class:`Crowd`, a number or a share of the users.
        corrupted_adaptively: likewise.

    >>> Corruption(0.1).among(1001).corrupted, str(Corruption(0.1, 5))
    (101, '10% of the users corrupted, 5 adaptively')
    """

    corrupted: float | Fraction = 0
    corrupted_adaptively: float | Fraction = 0

    def among(self, n: int) -> Crowd:
        """Return the crowd of n users; refuse what leaves nobody honest."""
        return crowd_of(n, self.corrupted, self.corrupted_adaptively)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What these numbers mean, for every answer that depends on them."""
        facts = []
        if self.corrupted:
            facts.append(
                f"the analyst knows or sets the reports of {_whose(self.corrupted)}, fixed before "
                "the reports are drawn"
            )
        if self.corrupted_adaptively:
            facts.append(
                f"the analyst learns the reports of {_whose(self.corrupted_adaptively)}, chosen "
                "after seeing the shuffled reports"
            )
        return tuple(facts)

    def to_dict(self) -> dict[str, float]:
        """Return both as asked: numbers of users, or shares of them below 1."""
        return {
            "corrupted": _number(self.corrupted),
            "corrupted_adaptively": _number(self.corrupted_adaptively),
        }

    def __str__(self) -> str:
        """Return both in words; nothing if all users are honest."""
        fixed, adaptive = self.corrupted, self.corrupted_adaptively
        words = [f"{_whose(fixed)} corrupted"] if fixed else []
        if adaptive:
            amount = f"{_number(adaptive):,}" if adaptive >= 1 else _percent(adaptive)
            words.append(f"{amount if fixed else _whose(adaptive) + ' corrupted'} adaptively")
        return ", ".join(words)


def _whose(value: float | Fraction) -> str:
    return counted(int(value), "user") if value >= 1 else f"{_percent(value)} of the users"


def _percent(share: float | Fraction) -> str:
    return f"{plain(float(f'{float(100 * share):.12g}'))}%"


def _number(value: float | Fraction) -> float:
    return float(value) if 0 < value < 1 else int(value)


def crowd_of(n: int, corrupted: object = 0, corrupted_adaptively: object = 0) -> Crowd:
    """Return a crowd of n users whose corrupted ones are given as numbers or as shares of n.

    >>> crowd_of(1000, corrupted=0.05, corrupted_adaptively=3)
    Crowd(n=1000, corrupted=50, corrupted_adaptively=3)
    """
    fixed = count_of("corrupted", corrupted, n)
    adaptive = count_of("corrupted_adaptively", corrupted_adaptively, n)
    if fixed + adaptive >= n:
        raise ValueError(
            "corrupted and corrupted_adaptively must leave at least one of n = "
            f"{n} users honest, got {fixed} and {adaptive}"
        )
    return Crowd(n, fixed, adaptive)


def leaves_one_honest(n: int, corrupted: float | Fraction, adaptively: float | Fraction) -> bool:
    """Whether some of n users are not corrupted, for valid numbers or shares.

    >>> leaves_one_honest(10, 9, 0), leaves_one_honest(10, 0.9, 1)
    (True, False)
    """
    counts = (
        count_of(name, value, max(n, int(value) + 1))
        for name, value in (("corrupted", corrupted), ("corrupted_adaptively", adaptively))
    )
    return sum(counts) < n


def as_count(name: str, value: object) -> int | Fraction:
    """Return a number of users, or a share of them, as an exact number; refuse anything else.

    >>> as_count("corrupted", 0.1), as_count("corrupted", 7)
    (Fraction(1, 10), 7)
    """
    count = count_of(name, value, MAX_USERS + 1)
    share = check_exact(name, value)
    if not 0 < share < 1:
        return count
    return Fraction(repr(float(share))) if isinstance(value, float) else share


def count_of(name: str, value: object, n: int) -> int:
    """Return how many of n users a number or a share is; shares are rounded up.

    A share is a number strictly between 0 and 1. A double means its shortest decimal, so that 0.1
    of 1000 users are 100 and not 101; fractions are taken as they are.

    >>> count_of("corrupted", 0.1, 1000), count_of("corrupted", 0.1, 1001)
    (100, 101)
    """
    share = check_exact(name, value)
    if 0 < share < 1:
        return math.ceil((Fraction(repr(float(value))) if isinstance(value, float) else share) * n)
    if share == 1 and not isinstance(value, numbers.Integral):
        raise ValueError(
            f"{name} must be the integer 1 for one user, or a share below 1, got {value!r}"
        )
    return check_integer(name, value, 0, n - 1)
