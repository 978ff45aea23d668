"""Reports that are shuffled together, and how many of the users send them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.errors import check_real
from shuffledp.randomizers import Joint, LocalRandomizer, OneOf
from shuffledp.study.assignment import Assignment


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
