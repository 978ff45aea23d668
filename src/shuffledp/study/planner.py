"""The best way to collect a study."""

from __future__ import annotations

from collections.abc import Callable

from shuffledp.errors import NoAnswerError
from shuffledp.planning.analysis import BlanketOnly
from shuffledp.planning.search import Found, least_error
from shuffledp.planning.task import Family, Task
from shuffledp.study.composed import best_composed
from shuffledp.study.gaussian import gaussian_epsilon, gaussian_spread
from shuffledp.study.option import StudyOption
from shuffledp.study.plan import LeftOutStrategy, StudyPlan
from shuffledp.study.scoring import task_of
from shuffledp.study.separate import best_separate
from shuffledp.study.study import Study

#: Its reports do not support all triples of values alike, so the errors of sums are not known.
_NOT_ALIKE = ("hadamard",)

#: Up to so many values hashing to buckets is no gain over naming a subset of the values.
_FEW, _HASHING = 64, ("blh", "olh")

_NO_CROSSES = "its reports cannot give cross tables"


def plan_study(study: Study, *, on_done: Callable[[int, int], None] | None = None) -> StudyPlan:
    """Find the strategy of least error whose reports together meet the study's epsilon and delta.

    Every attribute gets its best mechanism and parameters. Strategies are compared by the root of
    the weighted mean of their squared errors: shares as they are, means in parts of the range.

    * *separate shuffles*: every user sends one report about each attribute, and each attribute is
      shuffled on its own. The budget is split, and what all shuffles reveal together is certified
      by composing their privacy-loss laws.
    * *one attribute per user*: every user reports one attribute, chosen at random.
    * *joint report*: every user sends one report about all attributes; cross tables need it.

    Args:
        study: what is asked.
        on_done: called after each strategy with the numbers of strategies done and in all.

    Raises:
        NoAnswerError: if no strategy meets the target.
    """
    tasks = [task_of(attribute, study.n) for attribute in study.attributes]
    share = gaussian_spread(study.epsilon, study.delta) / len(tasks) ** 0.5
    first = min(gaussian_epsilon(share, study.delta), study.epsilon)
    starts = [_start(study, task, first) for task in tasks]
    searches: dict[str, Callable[[], StudyOption]] = {
        "separate shuffles": lambda: best_separate(study, tasks, starts)
    }
    if len(tasks) > 1:
        tries = [
            (_choices(task, family), found.randomizer.epsilon0)
            for task, (family, found) in zip(tasks, starts, strict=True)
        ]
        searches["one attribute per user"] = lambda: best_composed(
            "one attribute per user", study, tasks, tries
        )
        searches["joint report"] = lambda: best_composed("joint report", study, tasks, tries)
    options, left_out = [], []
    for done, (name, search) in enumerate(searches.items(), start=1):
        if study.crosses and name != "joint report":
            left_out.append(LeftOutStrategy(name, _NO_CROSSES))
        else:
            try:
                options.append(search())
            except NoAnswerError as error:
                left_out.append(LeftOutStrategy(name, str(error)))
        if on_done is not None:
            on_done(done, len(searches))
    if not options:
        why = "; ".join(f"{one.strategy}: {one.reason}" for one in left_out)
        raise NoAnswerError(f"no strategy meets the target; {why}")
    options.sort(key=lambda option: option.predictions.score)
    return StudyPlan(study, tuple(options), tuple(left_out))


def _start(study: Study, task: Task, epsilon: float) -> tuple[Family, Found]:
    """Return the best mechanism for an attribute at a share of the budget."""
    few = task.domain_size is not None and task.domain_size <= _FEW
    avoided = (*_NOT_ALIKE, *_HASHING) if few else _NOT_ALIKE
    families = [
        family
        for name, choices in task.mechanisms().items()
        if name not in avoided
        for family in choices
    ]
    found = least_error(families, task, BlanketOnly(study.n, study.delta), epsilon)
    if found is None:
        raise NoAnswerError(f"no mechanism meets epsilon = {epsilon:.4g} for {task.subject}")
    level = found.randomizer.epsilon0
    return next(family for family in families if family(level) == found.randomizer), found


def _choices(task: Task, family: Family) -> list[Family]:
    """Return the mechanism that is best alone, and ``krr``, which keeps joint reports short."""
    simple = task.mechanisms()["krr"]
    same = family(1.0)
    return [family, *(one for one in simple[:1] if one(1.0) != same)]
