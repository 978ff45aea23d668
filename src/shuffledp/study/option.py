"""One way to collect a study: what is shuffled, how private it is, and how accurate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.errors import check_real, wide_is_enough
from shuffledp.files import Guarantee
from shuffledp.randomizers import Joint, LocalRandomizer, OneOf
from shuffledp.study.assignment import Assignment
from shuffledp.study.scoring import Predictions


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


@dataclass(frozen=True)
class StudyOption:
    """One way to collect a study.

    Attributes:
        strategy: what it is called.
        shuffles: what is shuffled; every person sends one report to each, or to one of them.
        epsilon: the certified epsilon of all reports together at the study's delta.
        predictions: how accurate the estimates will be.
    """

    strategy: str
    shuffles: tuple[Shuffle, ...]
    epsilon: float
    predictions: Predictions


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


def certified(shuffles: Sequence[Shuffle], n: int, delta: float) -> Guarantee:
    """Return what all shuffles of the reports of n users together reveal, as the accountant says.

    Several shuffles are composed by their privacy-loss laws. If every user sends one report only,
    and who sends which does not depend on the answers, another answer of a user changes one
    shuffle; whichever it is, the weakest of them bounds it, each with the users that it has.

    Raises:
        ValueError: if there are too few users for a shuffle.
    """
    users = users_of(shuffles, n)
    accountants = [
        ShuffleAccountant(shuffle.mechanism, count)
        for shuffle, count in zip(shuffles, users, strict=True)
    ]
    with wide_is_enough():
        if len(accountants) == 1 or is_shared_out(shuffles):
            each = [Guarantee.of(one.epsilon_report(delta)) for one in accountants]
            return Guarantee(
                max(one.epsilon for one in each), delta, max(one.lower_bound for one in each)
            )
        rounds = Rounds([(accountant, 1) for accountant in accountants])
        epsilon = rounds.get_epsilon(delta)
        return Guarantee(epsilon, delta, min(rounds.epsilon_lower_bound(delta), epsilon))
