"""The mechanism from which a search begins."""

from __future__ import annotations

from shuffledp.errors import NoAnswerError
from shuffledp.planning.analysis import BlanketOnly
from shuffledp.planning.search import Found, least_error
from shuffledp.planning.task import Family, Task
from shuffledp.rounding import plain

#: Its reports do not support all triples of values alike, so the errors of sums are not known.
_NOT_ALIKE = ("hadamard",)

#: Up to so many values hashing to buckets is no gain over naming a subset of the values.
_FEW, _HASHING = 64, ("blh", "olh")

#: A mechanism but for its level, and what was found for it.
Start = tuple[Family, Found]


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
    found = least_error(families, task, BlanketOnly(n, delta), epsilon)
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
