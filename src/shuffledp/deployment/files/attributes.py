"""What a mechanism reads: one attribute of the users, or several."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from numpy.typing import NDArray

from shuffledp.mechanisms import LocalRandomizer, Parallel, Subsample
from shuffledp.mechanisms.composed.composition import Composition
from shuffledp.mechanisms.noise.continuous_noise import ContinuousNoise


@dataclass(frozen=True)
class Attribute:
    """One number per user.

    Attributes:
        readers: the mechanisms that read it: one, or the parts of a parallel composition.
    """

    readers: tuple[LocalRandomizer, ...]

    @property
    def is_real(self) -> bool:
        """Whether fractions are allowed."""
        return all(isinstance(reader, ContinuousNoise) for reader in self.readers)

    @property
    def has_values(self) -> bool:
        """Whether its frequencies are estimated, and not its mean."""
        return all(reader.estimates == "frequencies" for reader in self.readers)

    @property
    def sizes(self) -> list[int | None]:
        """How many values each reader distinguishes; None where the mechanism does not say."""
        return [
            int(size)
            if reader.estimates == "frequencies" and (size := reader.input_domain.size) < math.inf
            else None
            for reader in self.readers
        ]

    def check(self, values: NDArray[Any]) -> None:
        """Reject values that a reader does not accept."""
        for reader in self.readers:
            reader.check_values(values)


#: An attribute, or one entry per part of a composition.
Shape = Attribute | tuple["Shape", ...]


@singledispatch
def shape_of(randomizer: LocalRandomizer) -> Shape:
    """Return the attributes that a mechanism reads, arranged as its inputs are.

    >>> from shuffledp import parse
    >>> shape = shape_of(parse("joint(krr(k=3, epsilon0=1), subsample(krr(4, 1), rate=0.5))"))
    >>> [attribute.sizes for attribute in leaves(shape)]
    [[3], [4]]
    """
    return Attribute((randomizer,))


@shape_of.register
def _subsample(randomizer: Subsample) -> Shape:
    return shape_of(randomizer.part)


@shape_of.register
def _composition(randomizer: Composition) -> Shape:
    return tuple(map(shape_of, randomizer.parts))


@shape_of.register
def _parallel(randomizer: Parallel) -> Shape:
    return _share(tuple(map(shape_of, randomizer.parts)))


def _share(shapes: Sequence[Shape]) -> Shape:
    """Return attributes that all parts read; they are nested alike, as their domains agree."""
    attributes = [shape for shape in shapes if isinstance(shape, Attribute)]
    if attributes:
        return Attribute(tuple(reader for one in attributes for reader in one.readers))
    nested = [shape for shape in shapes if isinstance(shape, tuple)]
    return tuple(_share(entries) for entries in zip(*nested, strict=True))


def leaves(nested: Any) -> Iterator[Any]:
    """Yield what nested tuples hold, from left to right.

    >>> list(leaves((("a", "b"), "c")))
    ['a', 'b', 'c']
    """
    if isinstance(nested, tuple):
        for entry in nested:
            yield from leaves(entry)
    else:
        yield nested


def arrange(shape: Shape, entries: Iterator[Any]) -> Any:
    """Return one entry per attribute, nested as the mechanism's inputs are."""
    if isinstance(shape, Attribute):
        return next(entries)
    return tuple(arrange(entry, entries) for entry in shape)
