"""Strategies with one report per user: about all attributes, or about one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shuffledp.accounting import Setting
from shuffledp.basics.errors import NoAnswerError
from shuffledp.deployment.study.scoring import Predictions, cross_prediction, sampled
from shuffledp.deployment.study.shuffle import Shuffle
from shuffledp.deployment.study.study import Study
from shuffledp.deployment.study.study_option import StudyOption
from shuffledp.mechanisms import Joint, LocalRandomizer, OneOf
from shuffledp.planning import Prediction
from shuffledp.planning.analysis import BlanketOnly, Guarantee
from shuffledp.planning.family_search import Found, least_error
from shuffledp.planning.frequency_task import Frequency
from shuffledp.planning.task import Family, Task

#: How the shares of the attributes are changed in each round of the search.
_STEPS = (1.5, 1.15)

_DIGITS = 4  # of the probability with which an attribute is reported

Composed = Literal["joint report", "one attribute per user"]


@dataclass(frozen=True)
class Design:
    """A mechanism for all attributes but for its scale.

    Attributes:
        strategy: whether a report is about all attributes or about one.
        families: the mechanism of each attribute.
        ratios: the epsilon0 of each attribute in proportion to the largest.
        shares: how often each attribute is reported; only where one is.
    """

    strategy: Composed
    families: tuple[Family, ...]
    ratios: tuple[float, ...]
    shares: tuple[float, ...]

    def __call__(self, epsilon0: float) -> LocalRandomizer:
        """Return the mechanism whose largest epsilon0 is the given one."""
        top = max(self.ratios)
        parts = tuple(
            family(epsilon0 * (ratio / top))
            for family, ratio in zip(self.families, self.ratios, strict=True)
        )
        if self.strategy == "joint report":
            return Joint(parts)
        return OneOf(parts, rounded_shares(self.shares))

    def neighbours(self, step: float) -> Iterator[Design]:
        """Yield designs in which one attribute has more, or less."""
        for place in range(len(self.families)):
            for factor in (step, 1 / step):
                yield replace(self, ratios=_changed(self.ratios, place, factor))
                if self.strategy == "one attribute per user":
                    yield replace(self, shares=_changed(self.shares, place, factor))


def _changed(numbers: Sequence[float], place: int, factor: float) -> tuple[float, ...]:
    return tuple(x * factor if i == place else x for i, x in enumerate(numbers))


def rounded_shares(shares: Sequence[float]) -> tuple[float, ...]:
    """Return probabilities of few digits, none of them 0, that sum to 1 by the largest of them.

    >>> rounded_shares((1.0, 1.0, 1.0)), rounded_shares((1e6, 1.0, 1.0))
    ((0.3334, 0.3333, 0.3333), (0.9998, 0.0001, 0.0001))
    """
    total = math.fsum(shares)
    found = [max(round(share / total, _DIGITS), 10.0**-_DIGITS) for share in shares]
    largest = found.index(max(found))
    found[largest] = round(1 - math.fsum((*found[:largest], *found[largest + 1 :])), _DIGITS)
    return tuple(found)


@dataclass(frozen=True)
class StudyTask(Task):
    """All attributes of a study, from one report per user."""

    study: Study = field(kw_only=True)
    tasks: tuple[Task, ...] = field(kw_only=True)

    name = "study"

    @property
    def subject(self) -> str:
        """All attributes."""
        return f"{len(self.tasks)} attributes"

    def mechanisms(self) -> dict[str, Sequence[Family]]:
        """Refuse: designs are proposed by the search."""
        raise TypeError("the mechanisms of a study are searched by its strategies")

    def worst_case(self, randomizer: LocalRandomizer) -> Prediction:
        """Return the score as an error."""
        score = self.predictions(randomizer).score
        return Prediction.of_variances(score**2, score**2, 1)

    def expected(self, randomizer: LocalRandomizer) -> None:
        """No distribution is known."""
        return

    def predictions(self, randomizer: LocalRandomizer) -> Predictions:
        """Predict all errors."""
        if isinstance(randomizer, OneOf):
            chosen = zip(self.tasks, randomizer.parts, randomizer.weights, strict=True)
            errors = [sampled(task.worst_case(part), task, share) for task, part, share in chosen]
            return Predictions.of(self.study, errors)
        if not isinstance(randomizer, Joint):
            raise TypeError(f"randomizer must be joint or one_of, got {randomizer}")
        pairs = list(zip(self.tasks, randomizer.parts, strict=True))
        crosses = {}
        for names in self.study.crosses:
            own = [pairs[self.study.place(name)] for name in names]
            counted = [(task, part) for task, part in own if isinstance(task, Frequency)]
            if len(counted) < len(own):
                raise TypeError(f"cross tables are of categories, got {names}")
            crosses[names] = cross_prediction(self.n, *counted)
        errors = [task.worst_case(part) for task, part in pairs]
        return Predictions.of(self.study, errors, crosses)


def best_composed(
    strategy: Composed,
    study: Study,
    tasks: Sequence[Task],
    families: Sequence[tuple[Sequence[Family], float]],
) -> StudyOption:
    """Return the best mechanism of one report that a search finds.

    It starts from given mechanisms and levels and changes the share of one attribute at a time;
    what it offers is certified, with the largest epsilon0 that is safe.

    Args:
        strategy: whether a report is about all attributes or about one.
        study: the study.
        tasks: what is to be estimated about each attribute.
        families: for each attribute the mechanisms to try, and a level to start from.

    Raises:
        NoAnswerError: if nothing meets the target.
    """
    goal = StudyTask(study.n, None, study=study, tasks=tuple(tasks))
    best = explore(strategy, goal, families)
    found = least_error([best], goal, Guarantee(Setting(n=study.n), study.delta), study.epsilon)
    if found is None:
        raise NoAnswerError(f"no {strategy} meets the target")
    mechanism = found.randomizer
    shuffle = Shuffle(tuple(a.name for a in study.attributes), mechanism)
    return StudyOption.of(strategy, study, (shuffle,), goal.predictions(mechanism))


def explore(
    strategy: Composed, goal: StudyTask, families: Sequence[tuple[Sequence[Family], float]]
) -> Design:
    """Return the design that seems best for the target of a study, by a quick bound.

    Raises:
        NoAnswerError: if nothing meets the target.
    """
    study, tasks = goal.study, goal.tasks
    analysis = BlanketOnly(Setting(n=goal.n), study.delta)

    def better(proposals: Sequence[Design]) -> Design:
        found = least_error(proposals, goal, analysis, study.epsilon)
        if found is None:
            raise NoAnswerError(f"no {strategy} meets the target")
        return next(design for design in proposals if _made(design, found))

    equal = (1.0,) * len(tasks)
    first = Design(
        strategy,
        tuple(choices[0] for choices, _ in families),
        tuple(level for _, level in families),
        equal,
    )
    sizes = tuple(math.sqrt(task.domain_size or 2) for task in tasks)
    best = better([first, replace(first, ratios=equal), replace(first, shares=sizes)])
    for step in _STEPS:
        best = better([best, *best.neighbours(step)])
    for place, (choices, _) in enumerate(families):
        others = [
            replace(best, families=(*best.families[:place], family, *best.families[place + 1 :]))
            for family in choices[1:]
        ]
        best = better([best, *others]) if others else best
    return best


def _made(design: Design, found: Found) -> bool:
    """Whether the design makes the mechanism that was found."""
    mechanism = found.randomizer
    if not isinstance(mechanism, Joint | OneOf):
        return False
    return design(max(part.epsilon0 for part in mechanism.parts)) == mechanism
