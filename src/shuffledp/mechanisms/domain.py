"""Input domains: which values a user may hold, and which two of them count as neighbours."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.relation import Relation


class Domain(ABC):
    """The inputs of a randomizer and their neighbour relation."""

    @property
    @abstractmethod
    def size(self) -> float:
        """How many inputs there are; infinity if they cannot be listed."""

    @property
    @abstractmethod
    def has_neighbours(self) -> bool:
        """Whether any two inputs are neighbours."""

    @abstractmethod
    def __contains__(self, value: object) -> bool:
        """Whether a value is an input."""

    @abstractmethod
    def inputs(self) -> Iterator[Input]:
        """Yield all inputs of a finite domain."""

    def neighbours(self) -> Iterator[Pair]:
        """Yield all ordered pairs of neighbouring inputs of a finite domain."""
        for first, second in product(self.inputs(), repeat=2):
            if self.are_neighbours(first, second):
                yield Pair(first, second)

    def are_neighbours(self, first: Input, second: Input) -> bool:
        """Whether two inputs are different and may be replaced by each other."""
        return first != second

    def random_input(self, rng: np.random.Generator) -> Input:
        """Return any input; which ones are likely does not matter."""
        return next(islice(self.inputs(), int(rng.integers(int(self.size))), None))

    def random_change(self, value: Input, rng: np.random.Generator) -> Input:
        """Return an input that may be a neighbour of another one."""
        return self.random_input(rng)

    @property
    def relation(self) -> Relation:
        """The neighbour relation, as answers state it.

        Raises:
            TypeError: if the class says which inputs are neighbours, but not how to state that.
        """
        kind = type(self)
        if (kind.are_neighbours, kind.neighbours) != (Domain.are_neighbours, Domain.neighbours):
            raise TypeError(f"{kind.__name__} has neighbours of its own: it must have a relation")
        return Relation()

    @abstractmethod
    def meet(self, other: Domain) -> Domain | None:
        """Return the domain that two mechanisms which read one value share; None if they differ."""


@dataclass(frozen=True)
class Integers(Domain):
    """The integers 0, 1, ..., number - 1; None stands for a domain of any size.

    >>> Integers(3).meet(Integers(None))
    Integers(number=3)
    >>> Integers(3).meet(Integers(4)) is None
    True
    """

    number: int | None

    @property
    def size(self) -> float:
        """The number of integers."""
        return math.inf if self.number is None else self.number

    @property
    def has_neighbours(self) -> bool:
        """Whether there are two integers."""
        return self.size > 1

    def __contains__(self, value: object) -> bool:
        """Whether it is one of the integers."""
        return isinstance(value, int | np.integer) and 0 <= int(value) < self.size

    def inputs(self) -> Iterator[Input]:
        """Yield 0, 1, ..."""
        if self.number is None:
            raise ValueError("a domain of any size cannot be listed")
        return iter(range(self.number))

    def random_input(self, rng: np.random.Generator) -> Input:
        """Return any of them, below 2^31."""
        return int(rng.integers(int(min(self.size, 2**31))))

    def meet(self, other: Domain) -> Domain | None:
        """Return the domain with the size that both have, or that only one names."""
        if not isinstance(other, Integers):
            return None
        if self.number is None or self.number == other.number:
            return other
        return self if other.number is None else None

    def __str__(self) -> str:
        """Return for example ``the integers 0 to 9``."""
        return "integers" if self.number is None else f"the integers 0 to {self.number - 1}"


@dataclass(frozen=True)
class UnitInterval(Domain):
    """The real numbers from 0 to 1."""

    @property
    def size(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def has_neighbours(self) -> bool:
        """True."""
        return True

    def __contains__(self, value: object) -> bool:
        """Whether it lies in [0, 1]."""
        return isinstance(value, int | float) and 0 <= value <= 1

    def inputs(self) -> Iterator[Input]:
        """Refuse."""
        raise ValueError("the numbers from 0 to 1 cannot be listed")

    def random_input(self, rng: np.random.Generator) -> Input:
        """Return an end or a number in between."""
        return float(min(max(2 * rng.random() - 0.5, 0.0), 1.0))

    def meet(self, other: Domain) -> Domain | None:
        """Return the interval if the other is it, too."""
        return self if isinstance(other, UnitInterval) else None

    def __str__(self) -> str:
        """Return ``the numbers from 0 to 1``."""
        return "the numbers from 0 to 1"


@dataclass(frozen=True)
class Tuples(Domain):
    """Tuples with one entry per attribute.

    Two tuples are neighbours if ``fewest`` to ``most`` of their entries differ and every entry that
    differs is a neighbour in its own domain.

    >>> len(list(Tuples((Integers(2), Integers(2)), 1, 1).neighbours()))
    8
    """

    entries: tuple[Domain, ...]
    fewest: int
    most: int

    @property
    def size(self) -> float:
        """The product of the sizes."""
        return math.prod(entry.size for entry in self.entries)

    @property
    def has_neighbours(self) -> bool:
        """Whether as many entries as must differ can."""
        return sum(entry.has_neighbours for entry in self.entries) >= self.fewest

    def __contains__(self, value: object) -> bool:
        """Whether every entry is in its domain."""
        return (
            isinstance(value, tuple)
            and len(value) == len(self.entries)
            and all(x in entry for x, entry in zip(value, self.entries, strict=True))
        )

    def inputs(self) -> Iterator[Input]:
        """Yield all combinations."""
        return product(*(entry.inputs() for entry in self.entries))

    def are_neighbours(self, first: Input, second: Input) -> bool:
        """Whether the right number of entries differ, each as its own domain allows."""
        if not (isinstance(first, tuple) and isinstance(second, tuple)):
            return False
        changed = [
            entry.are_neighbours(x, y)
            for entry, x, y in zip(self.entries, first, second, strict=True)
            if x != y
        ]
        return self.fewest <= len(changed) <= self.most and all(changed)

    def random_input(self, rng: np.random.Generator) -> Input:
        """Return any entries."""
        return tuple(entry.random_input(rng) for entry in self.entries)

    def random_change(self, value: Input, rng: np.random.Generator) -> Input:
        """Change as many entries as neighbours may differ in."""
        if not isinstance(value, tuple):
            raise TypeError(f"value must be a tuple, got {value!r}")
        count = rng.integers(self.fewest, self.most, endpoint=True)
        changed = rng.choice(len(self.entries), size=count, replace=False)
        return tuple(
            entry.random_change(x, rng) if place in changed else x
            for place, (entry, x) in enumerate(zip(self.entries, value, strict=True))
        )

    @property
    def relation(self) -> Relation:
        """How many entries change, each by its own relation."""
        entries = tuple(entry.relation for entry in self.entries)
        return Relation.of(entries, self.fewest, self.most)

    def meet(self, other: Domain) -> Domain | None:
        """Meet entry by entry; the neighbour relations must be the same."""
        if not isinstance(other, Tuples) or len(self.entries) != len(other.entries):
            return None
        if (self.fewest, self.most) != (other.fewest, other.most):
            return None
        met = [mine.meet(theirs) for mine, theirs in zip(self.entries, other.entries, strict=True)]
        shared = tuple(entry for entry in met if entry is not None)
        return Tuples(shared, self.fewest, self.most) if len(shared) == len(met) else None

    def __str__(self) -> str:
        """Return the entries, and how many of them may change if not any number."""
        text = f"tuples of ({', '.join(map(str, self.entries))})"
        if (self.fewest, self.most) == (1, len(self.entries)):
            return text
        if self.fewest == self.most:
            return f"{text} with neighbours that differ in {self.most}"
        return f"{text} with neighbours that differ in at most {self.most}"
