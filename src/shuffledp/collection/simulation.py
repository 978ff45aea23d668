"""Collections simulated from beginning to end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from shuffledp.basics.errors import check_integer
from shuffledp.collection.estimate import FloatArray
from shuffledp.collection.moments import finish
from shuffledp.collection.shuffler import shuffle
from shuffledp.collection.tallies import tally_for
from shuffledp.mechanisms import LocalRandomizer, as_randomizer

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Simulation:
    """How far estimates are from the truth.

    Attributes:
        errors: for each repetition the l2 distance between the estimates, as they are, and the
            truth about the given inputs; over all attributes together if there are several.
        covered: for each repetition the share of the 95% confidence intervals that hold the truth.
        n: the number of users.
    """

    errors: FloatArray
    covered: FloatArray
    n: int

    @property
    def repetitions(self) -> int:
        """How often the collection was simulated."""
        return self.errors.size

    @property
    def mean_error(self) -> float:
        """The mean l2 error."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean l2 error; infinite for a single repetition."""
        if self.repetitions == 1:
            return math.inf
        return float(self.errors.std(ddof=1)) / math.sqrt(self.repetitions)

    @property
    def coverage(self) -> float:
        """The share of all intervals that hold the truth, which should be near 0.95."""
        return float(self.covered.mean())


def simulate(
    randomizer: LocalRandomizer | str,
    values: object,
    *,
    repetitions: int = 1,
    rng: np.random.Generator | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Randomize, shuffle, add up and estimate, again and again for the same inputs.

    Args:
        randomizer: the mechanism, or its text.
        values: the users' inputs, as for :meth:`LocalRandomizer.randomize`.
        repetitions: how often.
        rng: a generator, to get the same result again; None takes the operating system's bits.
        on_done: called after each repetition with the numbers of repetitions done and in all.

    >>> from shuffledp import KRR
    >>> values = np.arange(1000) % 10
    >>> rng = np.random.default_rng(1)
    >>> simulation = simulate(KRR(k=10, epsilon0=2.0), values, repetitions=50, rng=rng)
    >>> 0.06 < simulation.mean_error < 0.08 and simulation.standard_error < 0.005
    True
    """
    repetitions = check_integer("repetitions", repetitions, 1)
    randomizer = as_randomizer(randomizer)
    tally = tally_for(randomizer)
    truths = list(_leaves(tally.truth(randomizer.check_values(values))))
    errors, covered = np.empty(repetitions), np.empty(repetitions)
    n = 0
    for i in range(repetitions):
        reports = shuffle(randomizer.randomize(values, rng), rng)
        n = reports.size
        estimates = _leaves(finish(tally.results(tally.count(reports)), n))
        pairs = list(zip(estimates, truths, strict=True))
        errors[i] = math.sqrt(sum(np.square(e.values - truth).sum() for e, truth in pairs))
        covers = [e.confidence_interval().covers(truth) for e, truth in pairs]
        covered[i] = np.concatenate(covers).mean()
        if on_done is not None:
            on_done(i + 1, repetitions)
    return Simulation(errors, covered, n)


def _leaves(tree: T | tuple[Any, ...]) -> Iterator[T]:
    """Yield what nested tuples hold, in order."""
    if isinstance(tree, tuple):
        for branch in tree:
            yield from _leaves(branch)
    else:
        yield tree
