"""The strategy with one shuffle per block of attributes: every user sends a report to each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shuffledp.accounting import Setting
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.rounding import plain
from shuffledp.deployment.study.block import Block, Start
from shuffledp.deployment.study.gaussian_guess import end_of, gaussian_epsilon, gaussian_spread
from shuffledp.deployment.study.scoring import Predictions
from shuffledp.deployment.study.shuffle import Shuffle
from shuffledp.deployment.study.study import Study
from shuffledp.deployment.study.study_option import StudyOption
from shuffledp.planning.analysis import Analysis, Guarantee
from shuffledp.planning.family_search import Found, least_error
from shuffledp.planning.task import Family, Task

_CLOSE = 0.9995  # of the target: nearer is not worth another composition
_SETTLED = 0.9996  # of the squared error: a smaller gain is not worth one either
_MARGIN = 0.9998
_MAX_TRIES = 8
_MOST = 700.0  # logarithms of what is a number
_LEAST = 1e-100  # errors: smaller ones are 0
_NEAR, _FAR = 0.02, 0.5  # logarithms of two spreads between which a slope is taken
_STEEPEST = 50.0


def best_separate(
    name: str, study: Study, blocks: Sequence[Block], starts: Sequence[Start]
) -> StudyOption:
    r"""Return the best split of the budget over one shuffle per block.

    Near Gaussian, losses compose like :math:`\sigma^2=\sum_i\sigma_i^2`, and weighted squared
    errors fall like a power :math:`c_i\sigma_i^{-2a_i}`, so that
    :math:`a_ic_i\sigma_i^{-2a_i-2}` is the same for all blocks where the split is best. The search
    begins with :math:`a_i=1`; what all shuffles reveal together is certified by composing their
    privacy-loss laws, and total and powers are corrected until that is just below the target and
    no other split seems better.

    Args:
        name: what the strategy is called.
        study: the study.
        blocks: the attributes that are reported together.
        starts: for each block a mechanism, and what was found for it at the same epsilon.

    Raises:
        NoAnswerError: if nothing meets the target.
    """
    tasks = [block.task for block in blocks]
    analysis = Guarantee(Setting(n=study.n), study.delta)
    if len(tasks) == 1:
        parts = [least_error_of(analysis, tasks[0], starts[0][0], study.epsilon)]
        return _option(name, study, blocks, parts)
    total = gaussian_spread(study.epsilon, study.delta)
    errors = [task.error(found.randomizer) for task, (_, found) in zip(tasks, starts, strict=True)]
    pairs = list(zip(blocks, errors, strict=True))
    fits = [_Fit(1.0, block.weight, max(error, _LEAST)) for block, error in pairs]
    best: StudyOption | None = None
    for _ in range(_MAX_TRIES):
        spreads = _split(fits, total)
        each = [gaussian_epsilon(spread, study.delta) for spread in spreads]
        parts = [
            least_error_of(analysis, task, family, epsilon)
            for task, (family, _), epsilon in zip(tasks, starts, each, strict=True)
        ]
        errors = [task.error(part.randomizer) for task, part in zip(tasks, parts, strict=True)]
        known = zip(fits, spreads, errors, strict=True)
        fits = [fit.moved(spread, max(error, _LEAST)) for fit, spread, error in known]
        option = _option(name, study, blocks, parts)
        if option.epsilon <= study.epsilon:
            if best is None or option.predictions.score < best.predictions.score:
                best = option
            if option.epsilon >= _CLOSE * study.epsilon and _is_settled(fits, total):
                break
        total *= (
            gaussian_spread(study.epsilon, study.delta)
            / gaussian_spread(option.epsilon, study.delta)
            * _MARGIN
        )
    if best is None:
        raise NoAnswerError("no split over separate shuffles was found that meets the target")
    return best


@dataclass(frozen=True)
class _Fit:
    """The weighted squared error of a block near a spread of its loss: a power of the spread."""

    spread: float
    weight: float
    error: float
    slope: float = 1.0  # of the error, downwards: both as logarithms

    def moved(self, spread: float, error: float) -> _Fit:
        """Return the fit near another spread, whose slope is that of the line between the two."""
        apart, slope = math.log(spread / self.spread), self.slope
        if _NEAR < abs(apart) < _FAR:
            slope = min(max(-math.log(error / self.error) / apart, 1 / _STEEPEST), _STEEPEST)
        return replace(self, spread=spread, error=error, slope=slope)

    def square(self, spread: float) -> float:
        """Return the weighted squared error at a spread."""
        log_error = math.log(self.error) + self.slope * math.log(self.spread / spread)
        return math.exp(min(math.log(self.weight) + 2 * log_error, _MOST))

    def best(self, log_price: float) -> float:
        """Return the spread where a larger square of it is worth the price."""
        worth = math.log(self.slope * self.weight) + 2 * math.log(self.error)
        log_spread = (worth - log_price + 2 * self.slope * math.log(self.spread)) / 2
        return math.exp(min(log_spread / (self.slope + 1), _MOST))


def _split(fits: Sequence[_Fit], total: float) -> list[float]:
    """Return the spreads of least error whose squares sum to that of the total."""

    def is_too_cheap(price: float) -> bool:
        return math.hypot(*(fit.best(price) for fit in fits)) > total

    price = end_of(is_too_cheap, -_MOST, _MOST)
    found = [fit.best(price) for fit in fits]
    return [spread * (total / math.hypot(*found)) for spread in found]


def _is_settled(fits: Sequence[_Fit], total: float) -> bool:
    """Whether no other split seems to be worth a try."""
    now = math.fsum(fit.square(fit.spread) for fit in fits)
    best = zip(fits, _split(fits, total), strict=True)
    return math.fsum(fit.square(spread) for fit, spread in best) >= _SETTLED * now


def least_error_of(analysis: Analysis, task: Task, family: Family, epsilon: float) -> Found:
    """Return the mechanism with the largest epsilon0 for an epsilon of its own.

    Raises:
        NoAnswerError: if there is none.
    """
    found = least_error([family], task, analysis, epsilon)
    if found is None:
        raise NoAnswerError(f"no epsilon0 meets epsilon = {plain(epsilon)} for {task.subject}")
    return found


def _option(
    name: str, study: Study, blocks: Sequence[Block], parts: Sequence[Found]
) -> StudyOption:
    pairs = [(block, part.randomizer) for block, part in zip(blocks, parts, strict=True)]
    shuffles = tuple(Shuffle(block.names, mechanism) for block, mechanism in pairs)
    errors = [block.predictions(mechanism) for block, mechanism in pairs]
    return StudyOption.of(name, study, shuffles, Predictions.together(study, errors))
