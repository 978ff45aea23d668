"""The strategy with one report per user, about one block of attributes, and all may know which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.accounting import Setting
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.wording import counted
from shuffledp.deployment.study.block import Block, Start
from shuffledp.deployment.study.composed import rounded_shares
from shuffledp.deployment.study.gaussian_guess import end_of
from shuffledp.deployment.study.scoring import Predictions, sampled_predictions
from shuffledp.deployment.study.separate import least_error_of
from shuffledp.deployment.study.shuffle import Assignment, Shuffle
from shuffledp.deployment.study.study import Study
from shuffledp.deployment.study.study_option import StudyOption
from shuffledp.planning.analysis import BlanketOnly, Guarantee
from shuffledp.planning.family_search import Found

_ROUNDS = 3  # of fitting the errors and choosing shares anew


def best_shared_out(
    name: str, study: Study, blocks: Sequence[Block], starts: Sequence[Start]
) -> StudyOption:
    r"""Return the best shares of users who report each block, at the whole budget.

    Who reports what is decided without looking at the answers and may be known to all. A user is
    then in one shuffle only, of :math:`m_i` users, a number that chance does not change; all
    shuffles together have the largest of the epsilons that the accountant gives for
    :math:`m_i` users, and each may have the whole one.

    With a share w of the users the squared error is about :math:`a/w^2+b(1/w-1)`: noise, where the
    crowd is smaller and each user's noise is larger, and the luck of who is asked. Both are fitted
    to what a quick bound allows, and shares follow; the result is certified.

    Args:
        name: what the strategy is called.
        study: the study.
        blocks: the attributes that are reported together.
        starts: for each block a mechanism, and what was found for it.

    Raises:
        NoAnswerError: if nothing meets the target.
    """
    families = [family for family, _ in starts]
    shares = rounded_shares([1.0] * len(blocks))
    for _ in range(_ROUNDS):
        fits = []
        for block, family, share, users in zip(
            blocks, families, shares, _users(shares, study.n), strict=True
        ):
            quick = BlanketOnly(Setting(n=users), study.delta)
            found = least_error_of(quick, block.task, family, study.epsilon)
            fits.append(_Fit.of(block, found, share))
        shares = _best_shares(fits)
    parts = []
    for block, users in zip(blocks, _users(shares, study.n), strict=True):
        family, _ = block.start(users, study.epsilon)
        analysis = Guarantee(Setting(n=users), study.delta)
        parts.append(least_error_of(analysis, block.task, family, study.epsilon))
    return _option(name, study, blocks, parts, shares)


def _users(shares: Sequence[float], n: int) -> tuple[int, ...]:
    users = Assignment(shares).sizes(n)
    if min(users) < 1:
        raise NoAnswerError(f"{counted(n, 'user')} are too few to have some for each attribute")
    return users


@dataclass(frozen=True)
class _Fit:
    """The weighted squared error of a block by the share w of users: noise/w^2 + luck/w."""

    noise: float
    luck: float

    @classmethod
    def of(cls, block: Block, found: Found, share: float) -> _Fit:
        whole = block.predictions(found.randomizer)
        noise = whole.score**2 / share
        both = sampled_predictions(block.study, whole, share).score ** 2
        luck = (both - noise) / (1 / share - 1)
        return cls(block.weight * noise * share**2, block.weight * max(luck, 0.0))

    def share(self, price: float) -> float:
        """Return the share at which one more user is worth the price."""

        def is_worth_it(share: float) -> bool:
            return (2 * self.noise / share + self.luck) / share**2 > price

        return end_of(is_worth_it, 0.0, 1.0)


def _best_shares(fits: Sequence[_Fit]) -> tuple[float, ...]:
    """Return shares of least total error that sum to 1: users are worth the same everywhere."""
    most = max(2 * fit.noise + fit.luck for fit in fits) * len(fits) ** 3
    price = end_of(lambda price: sum(fit.share(price) for fit in fits) > 1, 0.0, most)
    return rounded_shares([fit.share(price) for fit in fits])


def _option(
    name: str,
    study: Study,
    blocks: Sequence[Block],
    parts: Sequence[Found],
    shares: Sequence[float],
) -> StudyOption:
    users = _users(shares, study.n)
    shuffles, errors = [], []
    for block, part, share, count in zip(blocks, parts, shares, users, strict=True):
        shuffles.append(Shuffle(block.names, part.randomizer, share))
        whole = block.predictions(part.randomizer)
        errors.append(sampled_predictions(block.study, whole, count / study.n))
    return StudyOption.of(name, study, tuple(shuffles), Predictions.together(study, errors))
