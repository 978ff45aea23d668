"""Parts of a study that can be collected apart, and the mechanisms from which a search begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shuffledp.accounting import Setting
from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.rounding import plain
from shuffledp.deployment.study.composed import StudyTask, explore
from shuffledp.deployment.study.scoring import Predictions, task_of, total_weight
from shuffledp.deployment.study.study import Study
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.planning.analysis import BlanketOnly
from shuffledp.planning.family_search import Found, least_error
from shuffledp.planning.task import Family, Task

#: Its reports do not support all triples of values alike, so the errors of sums are not known.
_NOT_ALIKE = ("hadamard",)

#: Up to so many values hashing to buckets is no gain over naming a subset of the values.
_FEW, _HASHING = 64, ("blh", "olh")

#: A mechanism but for its level, and what was found for it.
Start = tuple[Family, Found]


@dataclass(frozen=True)
class Block:
    """Attributes that one report is about: a single one, or those that share cross tables.

    Attributes:
        study: the study of these attributes alone.
    """

    study: Study

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(attribute.name for attribute in self.study.attributes)

    @property
    def weight(self) -> float:
        """How much its squared errors count."""
        return total_weight(self.study)

    @property
    def task(self) -> Task:
        """What is to be estimated; its error is the score of the block."""
        tasks = tuple(task_of(attribute, self.study.n) for attribute in self.study.attributes)
        if len(tasks) == 1:
            return tasks[0]
        return StudyTask(self.study.n, None, study=self.study, tasks=tasks)

    def predictions(self, mechanism: LocalRandomizer) -> Predictions:
        """Predict the errors if all users report."""
        task = self.task
        if isinstance(task, StudyTask):
            return task.predictions(mechanism)
        return Predictions.of(self.study, [task.worst_case(mechanism)])

    def start(self, n: int, epsilon: float) -> Start:
        """Return the best mechanism if n users report, at an epsilon of its own; a quick bound.

        Raises:
            NoAnswerError: if nothing meets the target.
        """
        delta = self.study.delta
        own = [
            (task, best_start(task, n, epsilon, delta))
            for task in (task_of(attribute, n) for attribute in self.study.attributes)
        ]
        if len(own) == 1:
            return own[0][1]
        asked = replace(self.study, n=n, epsilon=epsilon)
        tasks = [task for task, _ in own]
        goal = StudyTask(n, None, study=asked, tasks=tuple(tasks))
        design = explore("joint report", goal, [choices(*pair) for pair in own])
        found = least_error([design], goal, BlanketOnly(Setting(n=n), delta), epsilon)
        if found is None:
            raise NoAnswerError("no joint report meets the target")
        return design, found


def blocks_of(study: Study) -> list[Block]:
    """Return the least blocks that hold all cross tables, in the order of their first attributes.

    >>> from shuffledp.deployment.study import Attribute
    >>> asked = Study(tuple(map(Attribute.yes_no, "abcd")), 100, 1.0, 1e-6, crosses=(("a", "c"),))
    >>> [block.names for block in blocks_of(asked)]
    [('a', 'c'), ('b',), ('d',)]
    """
    groups: list[set[str]] = [{attribute.name} for attribute in study.attributes]
    for names in study.crosses:
        touched = [group for group in groups if group & set(names)]
        groups = [group for group in groups if not group & set(names)]
        groups.append(set().union(*touched))
    groups.sort(key=lambda group: min(map(study.place, group)))
    return [Block(_part(study, group)) for group in groups]


def _part(study: Study, names: set[str]) -> Study:
    return replace(
        study,
        attributes=tuple(a for a in study.attributes if a.name in names),
        crosses=tuple(cross for cross in study.crosses if set(cross) <= names),
    )


def shuffled_apart(blocks: Sequence[Block]) -> bool:
    """Whether all attributes are blocks of their own."""
    return all(len(block.names) == 1 for block in blocks)


def best_start(task: Task, n: int, epsilon: float, delta: float) -> Start:
    """Return the best mechanism for one attribute that n users report, by a quick bound.

    Raises:
        NoAnswerError: if nothing meets epsilon and delta.
    """
    few = task.domain_size is not None and task.domain_size <= _FEW
    avoided = (*_NOT_ALIKE, *_HASHING) if few else _NOT_ALIKE
    families = [
        family
        for name, choices in task.mechanisms().items()
        if name not in avoided
        for family in choices
    ]
    found = least_error(families, task, BlanketOnly(Setting(n=n), delta), epsilon)
    if found is None:
        raise NoAnswerError(f"no mechanism meets epsilon = {plain(epsilon)} for {task.subject}")
    level = found.randomizer.epsilon0
    return next(family for family in families if family(level) == found.randomizer), found


def choices(task: Task, start: Start) -> tuple[list[Family], float]:
    """Return what to try in a composed report, and a level to begin with.

    That is the mechanism that is best alone, and ``krr``, which keeps joint reports short.
    """
    family, found = start
    simple = task.mechanisms()["krr"]
    same = family(1.0)
    others = [one for one in simple[:1] if one(1.0) != same]
    return [family, *others], found.randomizer.epsilon0
