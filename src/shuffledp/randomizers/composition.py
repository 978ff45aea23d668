"""What joint and parallel compositions have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from shuffledp.randomizers.base import Input, LocalRandomizer, Pair, Values, count_users

#: At most this many combinations of common inputs are tried in lower bounds.
_MAX_COMBINATIONS = 27


class Composition(LocalRandomizer):
    """A randomizer made of parts; its inputs are tuples with one entry per part."""

    parts: tuple[LocalRandomizer, ...]

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

    def accepts(self, other: Input) -> bool:
        """Whether every part accepts its entry."""
        return (
            isinstance(other, tuple)
            and len(other) == len(self.parts)
            and all(part.accepts(x) for part, x in zip(self.parts, other, strict=True))
        )


def entries(composition: Composition, value: Input) -> tuple[Input, ...]:
    """Return the input of every part."""
    if not isinstance(value, tuple):
        raise TypeError(f"the inputs of {composition.name} are tuples, got {value!r}")
    return value


def check_parts(name: str, parts: Iterable[object]) -> tuple[LocalRandomizer, ...]:
    """Return at least one randomizer, each of which can be composed."""
    checked = []
    for part in parts:
        if not isinstance(part, LocalRandomizer):
            raise TypeError(f"the parts of {name} must be local randomizers, got {part!r}")
        if not part.is_composable:
            raise ValueError(
                f"{part} cannot be a part of {name}: its bound does not survive composition; use "
                "any_pure_ldp with the LDP level of the whole composition instead"
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


def split(pair: Pair) -> Iterator[Pair]:
    """Yield the pair of every part."""
    if not isinstance(pair.first, tuple) or not isinstance(pair.second, tuple):
        raise TypeError(f"a composition's inputs are tuples, got {pair}")
    for first, second in zip(pair.first, pair.second, strict=True):
        yield Pair(first, second)


def combine_inputs(choices: Sequence[Sequence[Input]]) -> Iterator[tuple[Input, ...]]:
    """Yield combinations of one input per part: all if they are few, else every n-th choice."""
    if math.prod(map(len, choices)) <= _MAX_COMBINATIONS:
        yield from product(*choices)
        return
    for i in range(max(map(len, choices))):
        yield tuple(inputs[min(i, len(inputs) - 1)] for inputs in choices)


def join(pairs: Sequence[Pair]) -> Pair:
    """Return the pair of tuples whose entries are the given pairs."""
    return Pair(tuple(pair.first for pair in pairs), tuple(pair.second for pair in pairs))
