"""Which inputs of other users look alike, seen from a pair of inputs of one user."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from shuffledp.mechanisms.domain import Domain, Tuples
from shuffledp.mechanisms.pair import Input


class InputTypes(ABC):
    """A map from inputs to types.

    A mechanism states one for each of its pairs, see :meth:`LocalRandomizer.input_types`. Where
    several mechanisms read one value, two inputs are alike only if they are for all of them: types
    are met, and no list of representatives stands for anything by itself.
    """

    @abstractmethod
    def of(self, value: Input) -> Hashable:
        """Return the type of an input."""

    @abstractmethod
    def meet(self, other: InputTypes) -> InputTypes | None:
        """Return the types of two mechanisms that read one value; None if that is not known."""

    @abstractmethod
    def count(self, domain: Domain) -> int:
        """Return how many types there are in a domain."""

    @abstractmethod
    def inputs(self, domain: Domain) -> Iterator[Input]:
        """Yield one input of each type in a domain."""


@dataclass(frozen=True)
class NamedTypes(InputTypes):
    """Types of integers: those of some inputs by name, and one for all others.

    Args:
        named: the types of these inputs.
        rest: the type of any other input; None where there are no others.

    >>> from shuffledp.mechanisms.domain import Integers
    >>> thirds = NamedTypes({0: "first", 1: "second"}, "third")
    >>> rows = NamedTypes({0: 0, 1: 1, 2: 0, 3: 3})  # rows 0 and 2 are equal
    >>> list(thirds.inputs(Integers(4))), list(rows.inputs(Integers(4)))
    ([0, 1, 2], [0, 1, 3])
    >>> list(thirds.meet(rows).inputs(Integers(4)))
    [0, 1, 2, 3]
    """

    named: Mapping[Input, Hashable]
    rest: Hashable | None = None

    def of(self, value: Input) -> Hashable:
        """Return the name, or that of the rest."""
        return self.named.get(value, self.rest)

    def meet(self, other: InputTypes) -> InputTypes | None:
        """Return pairs of types; what neither of the two names is alike for both."""
        if not isinstance(other, NamedTypes):
            return None
        both = {value: (self.of(value), other.of(value)) for value in {**self.named, **other.named}}
        named = {value: types for value, types in both.items() if None not in types}
        rest = (self.rest, other.rest)
        return NamedTypes(named, None if None in rest else rest)

    def count(self, domain: Domain) -> int:
        """Return the number of types."""
        return sum(1 for _ in self.inputs(domain))

    def inputs(self, domain: Domain) -> Iterator[Input]:
        """Yield the first input of each type, and the least one that has no name."""
        seen = set()
        for value, kind in self.named.items():
            if kind not in seen and value in domain:
                seen.add(kind)
                yield value
        unnamed = next(x for x in range(len(self.named) + 1) if x not in self.named)
        if self.rest is not None and unnamed in domain:
            yield unnamed


@dataclass(frozen=True)
class TupleTypes(InputTypes):
    """Types of tuples: the tuple of the types of all entries."""

    entries: tuple[InputTypes, ...]

    def of(self, value: Input) -> Hashable:
        """Return the types of the entries."""
        if not isinstance(value, tuple):
            raise TypeError(f"value must be a tuple, got {value!r}")
        return tuple(types.of(x) for types, x in zip(self.entries, value, strict=True))

    def meet(self, other: InputTypes) -> InputTypes | None:
        """Meet entry by entry."""
        if not isinstance(other, TupleTypes) or len(self.entries) != len(other.entries):
            return None
        met = [mine.meet(own) for mine, own in zip(self.entries, other.entries, strict=True)]
        known = tuple(types for types in met if types is not None)
        return TupleTypes(known) if len(known) == len(met) else None

    def count(self, domain: Domain) -> int:
        """Return the product of the numbers of types."""
        return math.prod(types.count(own) for types, own in self._entries(domain))

    def inputs(self, domain: Domain) -> Iterator[Input]:
        """Yield all combinations."""
        return product(*(types.inputs(own) for types, own in self._entries(domain)))

    def _entries(self, domain: Domain) -> Iterator[tuple[InputTypes, Domain]]:
        if not isinstance(domain, Tuples):
            raise TypeError(f"domain must be one of tuples, got {domain}")
        return zip(self.entries, domain.entries, strict=True)
