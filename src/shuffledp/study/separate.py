"""The strategy with one shuffle per attribute: every user sends a report to each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.errors import NoAnswerError
from shuffledp.planning.analysis import Guarantee
from shuffledp.planning.search import Found, least_error
from shuffledp.planning.task import Family, Task
from shuffledp.study.gaussian import gaussian_epsilon, gaussian_spread
from shuffledp.study.option import Shuffle, StudyOption, certified
from shuffledp.study.scoring import Predictions
from shuffledp.study.study import Study

_CLOSE = 0.997  # of the target: nearer is not worth another composition
_MARGIN = 0.9993
_MAX_TRIES = 6


def best_separate(
    study: Study, tasks: Sequence[Task], starts: Sequence[tuple[Family, Found]]
) -> StudyOption:
    r"""Return the best split of the budget over one shuffle per attribute.

    Near Gaussian, losses compose like :math:`\varepsilon^2=\sum_i\varepsilon_i^2`, and squared
    errors are :math:`c_i/\varepsilon_i^2`, so that :math:`\varepsilon_i^2\propto\sqrt{w_ic_i}` is
    best for weights w. That is where the search begins; what all shuffles reveal together is then
    certified by composing their privacy-loss laws, and the scale is moved until that is just below
    the target.

    Args:
        study: the study.
        tasks: what is to be estimated about each attribute.
        starts: for each attribute a mechanism, and what was found for it at the same epsilon.

    Raises:
        NoAnswerError: if nothing meets the target.
    """
    if len(tasks) == 1:
        return _option(study, tasks, [least_error_of(study, tasks[0], starts[0][0], study.epsilon)])
    shares = _shares(
        study,
        [task.error(found.randomizer) for task, (_, found) in zip(tasks, starts, strict=True)],
    )
    length = math.hypot(*shares)
    spread = gaussian_spread(study.epsilon, study.delta)
    best: StudyOption | None = None
    for attempt in range(_MAX_TRIES):
        each = [gaussian_epsilon(spread * share / length, study.delta) for share in shares]
        parts = [
            least_error_of(study, task, family, epsilon)
            for task, (family, _), epsilon in zip(tasks, starts, each, strict=True)
        ]
        if attempt == 0:
            errors = [task.error(part.randomizer) for task, part in zip(tasks, parts, strict=True)]
            shares = _shares(study, [x * e for x, e in zip(errors, each, strict=True)])
            length = math.hypot(*shares)
        option = _option(study, tasks, parts)
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


def _shares(study: Study, errors: Sequence[float]) -> list[float]:
    """Return the best epsilons, up to a factor, from the errors at equal ones."""
    pairs = zip(study.attributes, errors, strict=True)
    return [max(attribute.weight * error**2, 1e-300) ** 0.25 for attribute, error in pairs]


def least_error_of(study: Study, task: Task, family: Family, epsilon: float) -> Found:
    """Return the mechanism with the largest epsilon0 for an epsilon of its own.

    Raises:
        NoAnswerError: if there is none.
    """
    found = least_error([family], task, Guarantee(study.n, study.delta), epsilon)
    if found is None:
        raise NoAnswerError(f"no epsilon0 meets epsilon = {epsilon!r} for {task.subject}")
    return found


def _option(study: Study, tasks: Sequence[Task], parts: Sequence[Found]) -> StudyOption:
    shuffles = tuple(
        Shuffle((attribute.name,), part.randomizer)
        for attribute, part in zip(study.attributes, parts, strict=True)
    )
    errors = [task.worst_case(part.randomizer) for task, part in zip(tasks, parts, strict=True)]
    epsilon = certified(shuffles, study.n, study.delta).epsilon
    return StudyOption("separate shuffles", shuffles, epsilon, Predictions.of(study, errors))
