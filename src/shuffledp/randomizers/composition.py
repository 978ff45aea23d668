"""What joint and parallel compositions have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from shuffledp.randomizers.base import Input, LocalRandomizer, Pair

#: At most this many combinations of common inputs are tried in lower bounds.
_MAX_COMBINATIONS = 27


class Composition(LocalRandomizer):
    """A randomizer made of parts; its inputs are tuples with one entry per part."""

    parts: tuple[LocalRandomizer, ...]

    @property
    def epsilon0(self) -> float:
        """The LDP level of the whole."""
        raise NotImplementedError

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
