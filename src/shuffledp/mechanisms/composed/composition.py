"""Compositions over several attributes: inputs are tuples with one entry per part."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import TypeVar

import numpy as np

from shuffledp.mechanisms.base import LocalRandomizer, Values, count_users
from shuffledp.mechanisms.finite.identity import check_identity
from shuffledp.mechanisms.input_types import InputTypes, TupleTypes
from shuffledp.mechanisms.neighbours import pairs_to_compare
from shuffledp.mechanisms.pair import Input, Pair

T = TypeVar("T")

#: At most this many pairs are compared.
_MAX_PAIRS = 100_000

#: At most this many combinations of common inputs are tried in lower bounds.
_MAX_COMBINATIONS = 27

#: At most this many choices of pairs are looked at for the swap bound.
_MAX_SWAPPED = 10_000


class Composition(LocalRandomizer):
    """A randomizer made of parts, each of which reads an attribute of its own."""

    parts: tuple[LocalRandomizer, ...]

    @property
    def components(self) -> tuple[LocalRandomizer, ...]:
        """The parts."""
        return self.parts

    @property
    @abstractmethod
    def epsilon0(self) -> float:
        """The LDP level of the whole."""

    @property
    def has_worst_pair(self) -> bool:
        """Whether every part has one; then together they are worst."""
        return all(part.has_worst_pair for part in self.parts)

    @property
    def monotone(self) -> bool:
        """Whether every part is monotone."""
        return all(part.monotone for part in self.parts)

    def is_worst(self, pair: Pair) -> bool:
        """Whether every part stands at a worst pair of its own."""
        own = zip(self.parts, split(pair), strict=True)
        return self.has_worst_pair and all(part.is_worst(entry) for part, entry in own)

    def neighbours(self) -> Sequence[Pair]:
        """Return the pairs to compare; an attribute that has a worst pair stands at it."""
        changing = [pairs_to_compare(part) for part in self.parts]
        staying = [part.unchanged() for part in self.parts]
        covered = [part.has_worst_pair for part in self.parts]
        return listed(self, self._kinds(self.choices(changing, staying, covered)))

    def choices(
        self,
        changing: Sequence[Sequence[Pair]],
        staying: Sequence[Sequence[Pair]],
        covered: Sequence[bool],
    ) -> Iterator[tuple[Pair, ...]]:
        """Yield one pair per attribute for every choice that has to be looked at.

        Args:
            changing: for each attribute the pairs to look at if it changes.
            staying: those to look at if it stays the same.
            covered: whether the first stand for the second.
        """
        return product(
            *(
                pairs if alone else (*pairs, *same)
                for pairs, same, alone in zip(changing, staying, covered, strict=True)
            )
        )

    def _kinds(self, choices: Iterable[tuple[Pair, ...]]) -> Iterator[Pair]:
        """Yield those in which anything changes, one of each kind where attributes are alike."""
        changing = (pairs for pairs in choices if any(pair.changes for pair in pairs))
        return map(join, self._different(changing))

    def unchanged(self) -> Sequence[Pair]:
        """Return all combinations of unchanged attributes."""
        choices = product(*(part.unchanged() for part in self.parts))
        return listed(self, map(join, choices))

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return combinations of the attributes' common inputs, one of each kind."""
        pairs = tuple(split(pair))
        own = [part.common_inputs(q) for part, q in zip(self.parts, pairs, strict=True)]
        choices = (tuple(zip(pairs, inputs, strict=True)) for inputs in _combine(own))
        return tuple(tuple(x for _, x in choice) for choice in self._different(choices))

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep two tuples apart if they differ in the type of any entry."""
        own = [part.input_types(q) for part, q in zip(self.parts, split(pair), strict=True)]
        known = tuple(types for types in own if types is not None)
        return TupleTypes(known) if len(known) == len(own) else None

    def background_types(self, pair: Pair) -> Sequence[Input] | None:
        """Return one tuple of each type; tuples that exchange like attributes are alike, too.

        That is so for this mechanism, and need not be for another one that reads the same tuple.
        """
        types = super().background_types(pair)
        if types is None:
            return None
        pairs = tuple(split(pair))
        choices = (tuple(zip(pairs, self.entries(v), strict=True)) for v in types)
        return tuple(tuple(x for _, x in choice) for choice in self._different(choices))

    @property
    def covers_unchanged(self) -> bool:
        """Whether every part covers it, and all attributes may change."""
        return self.has_worst_pair and all(part.covers_unchanged for part in self.parts)

    def pairs_to_swap(self) -> Sequence[Pair] | None:
        """Return pairs of each kind, in which attributes may stay the same unless that is covered.

        None if they are many.
        """
        found = [part.changes_to_swap() for part in self.parts]
        known = [pairs for pairs in found if pairs is not None]
        if len(known) < len(found):
            return None
        staying = [part.stays_to_swap() for part in self.parts]
        covered = [part.has_worst_pair and part.covers_unchanged for part in self.parts]
        choices = list(islice(self.choices(known, staying, covered), _MAX_SWAPPED + 1))
        return None if len(choices) > _MAX_SWAPPED else tuple(self._kinds(choices))

    def stays_to_swap(self) -> Sequence[Pair]:
        """Return all combinations of the attributes' own."""
        choices = product(*(part.stays_to_swap() for part in self.parts))
        return listed(self, map(join, choices))

    def accepts(self, other: Input) -> bool:
        """Whether every part accepts its entry."""
        return (
            isinstance(other, tuple)
            and len(other) == len(self.parts)
            and all(part.accepts(x) for part, x in zip(self.parts, other, strict=True))
        )

    def _different(self, choices: Iterable[tuple[T, ...]]) -> Iterator[tuple[T, ...]]:
        """Drop choices that only exchange the roles of attributes with the same law."""
        roles = self.roles()
        seen = set()
        for choice in choices:
            kind = frozenset(Counter(zip(roles, choice, strict=True)).items())
            if kind not in seen:
                seen.add(kind)
                yield choice

    def roles(self) -> tuple[object, ...]:
        """Return for each attribute what it must share with another to be interchangeable."""
        return self.parts

    @property
    def attributes(self) -> int:
        """The number of parts."""
        return len(self.parts)

    def check_values(self, values: object) -> Values:
        """Return one entry per attribute."""
        return check_columns(self.parts, values, self.name)

    def entries(self, value: Input) -> tuple[Input, ...]:
        """Return the input of every part."""
        if not isinstance(value, tuple):
            raise TypeError(f"the inputs of {self.name} are tuples, got {value!r}")
        return value


def as_parts(name: str, parts: Iterable[LocalRandomizer | str]) -> tuple[LocalRandomizer, ...]:
    """Return randomizers that were given as such, or as their texts."""
    from shuffledp.mechanisms.text import as_randomizer

    return tuple(as_randomizer(part, f"every part of {name}") for part in parts)


def check_parts(name: str, parts: Iterable[object]) -> tuple[LocalRandomizer, ...]:
    """Return at least one randomizer, each of which can be composed."""
    checked = []
    for part in parts:
        if not isinstance(part, LocalRandomizer):
            raise TypeError(f"the parts of {name} must be local randomizers, got {part!r}")
        check_identity(part, f"every part of {name}")
        if not part.is_composable:
            raise ValueError(
                f"{part} cannot be a part of {name}: its bound does not survive composition; use "
                "any_pure_ldp with the LDP level of the whole composition, over all pairs of "
                "inputs, instead"
            )
        checked.append(part)
    if not checked:
        raise ValueError(f"{name} needs at least one randomizer, got none")
    return tuple(checked)


def check_columns(
    parts: Sequence[LocalRandomizer], values: object, name: str
) -> tuple[Values, ...]:
    """Return one entry of inputs per part, for the same users."""
    columns: Sequence[object]
    if isinstance(values, np.ndarray) and values.ndim == 2:
        columns = list(values.T)
    elif isinstance(values, tuple | list):
        columns = values
    else:
        raise TypeError(
            f"values of {name} must be a sequence of {len(parts)} arrays, one per attribute, or an "
            f"array with {len(parts)} columns, got {type(values).__name__}"
        )
    if len(columns) != len(parts):
        raise ValueError(f"values of {name} must have {len(parts)} entries, got {len(columns)}")
    checked = []
    for i, (part, column) in enumerate(zip(parts, columns, strict=True)):
        try:
            checked.append(part.check_values(column))
        except (TypeError, ValueError) as error:
            raise type(error)(f"attribute {i} of {name}: {error}") from None
    users = [count_users(column) for column in checked]
    if len(set(users)) > 1:
        raise ValueError(f"values of {name} must be of the same users, got {users} entries")
    return tuple(checked)


def listed(owner: LocalRandomizer, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the pairs unless there are too many to compare.

    Raises:
        ValueError: if there are.
    """
    found = tuple(islice(pairs, _MAX_PAIRS + 1))
    if len(found) > _MAX_PAIRS:
        raise ValueError(
            f"{owner.name} has to compare more than {_MAX_PAIRS} pairs; that takes too long. Parts "
            "with a proved worst pair need no comparison"
        )
    return found


def split(pair: Pair) -> Iterator[Pair]:
    """Yield the pair of every part."""
    if not isinstance(pair.first, tuple) or not isinstance(pair.second, tuple):
        raise TypeError(f"the inputs of a composition over several attributes are tuples: {pair}")
    for first, second in zip(pair.first, pair.second, strict=True):
        yield Pair(first, second)


def join(pairs: Sequence[Pair]) -> Pair:
    """Return the pair of tuples whose entries are the given pairs."""
    return Pair(tuple(pair.first for pair in pairs), tuple(pair.second for pair in pairs))


def _combine(choices: Sequence[Sequence[Input]]) -> Iterator[tuple[Input, ...]]:
    """Yield combinations of one input per part: all if they are few, else every n-th choice."""
    if math.prod(map(len, choices)) <= _MAX_COMBINATIONS:
        yield from product(*choices)
        return
    for i in range(max(map(len, choices))):
        yield tuple(inputs[min(i, len(inputs) - 1)] for inputs in choices)
