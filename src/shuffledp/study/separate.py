"""The strategy with one shuffle per block of attributes: every user sends a report to each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.errors import NoAnswerError
from shuffledp.planning.analysis import Analysis, Guarantee
from shuffledp.planning.search import Found, least_error
from shuffledp.planning.task import Family, Task
from shuffledp.study.block import Block
from shuffledp.study.gaussian import gaussian_epsilon, gaussian_spread
from shuffledp.study.option import StudyOption
from shuffledp.study.scoring import Predictions
from shuffledp.study.shuffle import Shuffle
from shuffledp.study.start import Start
from shuffledp.study.study import Study

_CLOSE = 0.997  # of the target: nearer is not worth another composition
_MARGIN = 0.9993
_MAX_TRIES = 6


def best_separate(
    name: str, study: Study, blocks: Sequence[Block], starts: Sequence[Start]
) -> StudyOption:
    r"""Return the best split of the budget over one shuffle per block.

    Near Gaussian, losses compose like :math:`\varepsilon^2=\sum_i\varepsilon_i^2`, and squared
    errors are :math:`c_i/\varepsilon_i^2`, so that :math:`\varepsilon_i^2\propto\sqrt{w_ic_i}` is
    best for weights w. That is where the search begins; what all shuffles reveal together is then
    certified by composing their privacy-loss laws, and the scale is moved until that is just below
    the target.

    Args:
        name: what the strategy is called.
        study: the study.
        blocks: the attributes that are reported together.
        starts: for each block a mechanism, and what was found for it at the same epsilon.

    Raises:
        NoAnswerError: if nothing meets the target.
    """
    tasks = [block.task for block in blocks]
    analysis = Guarantee(study.n, study.delta)
    if len(tasks) == 1:
        parts = [least_error_of(analysis, tasks[0], starts[0][0], study.epsilon)]
        return _option(name, study, blocks, parts)
    shares = _shares(
        blocks,
        [task.error(found.randomizer) for task, (_, found) in zip(tasks, starts, strict=True)],
    )
    length = math.hypot(*shares)
    spread = gaussian_spread(study.epsilon, study.delta)
    best: StudyOption | None = None
    for attempt in range(_MAX_TRIES):
        each = [gaussian_epsilon(spread * share / length, study.delta) for share in shares]
        parts = [
            least_error_of(analysis, task, family, epsilon)
            for task, (family, _), epsilon in zip(tasks, starts, each, strict=True)
        ]
        if attempt == 0:
            errors = [task.error(part.randomizer) for task, part in zip(tasks, parts, strict=True)]
            shares = _shares(blocks, [x * e for x, e in zip(errors, each, strict=True)])
            length = math.hypot(*shares)
        option = _option(name, study, blocks, parts)
        if option.epsilon <= study.epsilon:
            if best is None or option.predictions.score < best.predictions.score:
                best = option
            if option.epsilon >= _CLOSE * study.epsilon:
                break
        spread *= (
            gaussian_spread(study.epsilon, study.delta)
            / gaussian_spread(option.epsilon, study.delta)
            * _MARGIN
        )
    if best is None:
        raise NoAnswerError("no split over separate shuffles was found that meets the target")
    return best


def _shares(blocks: Sequence[Block], errors: Sequence[float]) -> list[float]:
    """Return the best epsilons, up to a factor, from the errors at equal ones."""
    pairs = zip(blocks, errors, strict=True)
    return [max(block.weight * error**2, 1e-300) ** 0.25 for block, error in pairs]


def least_error_of(analysis: Analysis, task: Task, family: Family, epsilon: float) -> Found:
    """Return the mechanism with the largest epsilon0 for an epsilon of its own.

    Raises:
        NoAnswerError: if there is none.
    """
    found = least_error([family], task, analysis, epsilon)
    if found is None:
        raise NoAnswerError(f"no epsilon0 meets epsilon = {epsilon!r} for {task.subject}")
    return found


def _option(
    name: str, study: Study, blocks: Sequence[Block], parts: Sequence[Found]
) -> StudyOption:
    pairs = [(block, part.randomizer) for block, part in zip(blocks, parts, strict=True)]
    shuffles = tuple(Shuffle(block.names, mechanism) for block, mechanism in pairs)
    errors = [block.predictions(mechanism) for block, mechanism in pairs]
    return StudyOption.of(name, study, shuffles, Predictions.together(study, errors))
