"""One way to collect a study: what is shuffled, how private it is, and how accurate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.errors import AccuracyWarning
from shuffledp.files import Guarantee
from shuffledp.randomizers import Joint, LocalRandomizer, OneOf
from shuffledp.study.scoring import Predictions


@dataclass(frozen=True)
class Shuffle:
    """Reports that are shuffled together.

    Attributes:
        names: the attributes they are about.
        mechanism: what every person runs: for several attributes a composition that reads them in
            this order.
    """

    names: tuple[str, ...]
    mechanism: LocalRandomizer

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
        strategy: "joint report", "separate shuffles" or "one attribute per user".
        shuffles: what is shuffled; every person sends one report to each.
        epsilon: the certified epsilon of all reports together at the study's delta.
        predictions: how accurate the estimates will be.
    """

    strategy: str
    shuffles: tuple[Shuffle, ...]
    epsilon: float
    predictions: Predictions


def certified(shuffles: Sequence[Shuffle], n: int, delta: float) -> Guarantee:
    """Return what all shuffles of the reports of n users together reveal, as the accountant says.

    Several shuffles are composed by their privacy-loss laws.
    """
    accountants = [ShuffleAccountant(shuffle.mechanism, n) for shuffle in shuffles]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        if len(accountants) == 1:
            return Guarantee.of(accountants[0].epsilon_report(delta))
        rounds = Rounds([(accountant, 1) for accountant in accountants])
        epsilon = rounds.get_epsilon(delta)
        return Guarantee(epsilon, delta, min(rounds.epsilon_lower_bound(delta), epsilon))
