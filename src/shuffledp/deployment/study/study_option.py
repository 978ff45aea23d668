"""One way to collect a study: what is shuffled, how private it is, and how accurate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.basics.errors import wide_is_enough
from shuffledp.deployment.files import Guarantee
from shuffledp.deployment.study.expectation import expected_predictions, with_expected_answers
from shuffledp.deployment.study.scoring import Predictions
from shuffledp.deployment.study.shuffle import Shuffle, is_shared_out, users_of
from shuffledp.deployment.study.study import Study


@dataclass(frozen=True)
class StudyOption:
    """One way to collect a study.

    Attributes:
        strategy: what it is called.
        shuffles: what is shuffled; every person sends one report to each, or to one of them.
        epsilon: the certified epsilon of all reports together at the study's delta.
        predictions: how accurate the estimates will be whatever people answer, if as many of them
            answer as the study expects.
        expected: how accurate they will be if answers are as the study expects them.
    """

    strategy: str
    shuffles: tuple[Shuffle, ...]
    epsilon: float
    predictions: Predictions
    expected: Predictions

    @classmethod
    def of(
        cls,
        strategy: str,
        study: Study,
        shuffles: tuple[Shuffle, ...],
        predictions: Predictions,
    ) -> StudyOption:
        """Add to what is shuffled its certified epsilon, and the errors that are expected."""
        epsilon = certified(shuffles, study.n, study.delta).epsilon
        worst = with_expected_answers(study, predictions)
        return cls(strategy, shuffles, epsilon, worst, expected_predictions(study, shuffles))


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
