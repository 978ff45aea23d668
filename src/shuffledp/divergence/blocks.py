"""Sums of independent random variables: blocks of copies of one law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition.gparv import Law

_FAR = 1e100


@dataclass(frozen=True, eq=False)
class Block:
    """``times`` independent copies of a law."""

    law: Law
    times: int


@dataclass(frozen=True, eq=False)
class BlockSum:
    """The sum S of independent blocks, less an ``offset``.

    One block is n users whose G has the same law. Two blocks of one law are as good as one:

    >>> law = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
    >>> BlockSum.of((law, 3), (law, 4)).summands
    7
    """

    blocks: tuple[Block, ...]
    offset: float = 0.0
    offset_error: float = 0.0

    def __post_init__(self) -> None:
        if not self.blocks or min(block.times for block in self.blocks) < 1:
            times = [block.times for block in self.blocks]
            raise ValueError(f"a sum needs blocks of at least one copy each, got {times}")
        if not math.isfinite(self.offset):
            raise ValueError(f"offset must be finite, got {self.offset!r}")

    @classmethod
    def of(cls, *blocks: tuple[Law, int], offset: float = 0.0) -> BlockSum:
        """Return the sum of the given laws, each so many times, less the offset."""
        return cls(tuple(Block(law, times) for law, times in blocks), offset)

    @property
    def laws(self) -> list[Law]:
        """The law of each block."""
        return [block.law for block in self.blocks]

    @property
    def summands(self) -> int:
        """Number of summands."""
        return sum(block.times for block in self.blocks)

    @property
    def atoms(self) -> int:
        """Number of atoms of all laws together."""
        return sum(block.law.size for block in self.blocks)

    @cached_property
    def largest(self) -> tuple[float, float]:
        """The largest value of S and a bound on its error."""
        value, error, size = -self.offset, self.offset_error, abs(self.offset)
        for block in self.blocks:
            top = int(np.argmax(block.law.values))
            highest = float(block.law.values[top])
            above = float((block.law.values + block.law.value_error).max())
            value += block.times * highest
            error += block.times * max(float(block.law.value_error[top]), above - highest)
            size += block.times * (abs(highest) + abs(above))
        # A product and a sum per block, for each of the three; the differences above are exact
        # or rounded once.
        return value, error + (len(self.blocks) + 4) * UNIT * size

    def with_laws(self, laws: Sequence[Law]) -> BlockSum:
        """Return the sum of as many copies of other laws."""
        pairs = zip(laws, self.blocks, strict=True)
        return replace(self, blocks=tuple(Block(law, block.times) for law, block in pairs))

    @property
    def negated(self) -> BlockSum:
        """The sum of the opposite values."""
        laws = [replace(law, values=-law.values) for law in self.laws]
        return replace(self.with_laws(laws), offset=-self.offset)

    def in_units(self, factor: float) -> BlockSum:
        """Return ``factor`` times S, with losses that stay finite when squared.

        A loss that outweighs the largest gains of all other summands makes the sum negative. So
        losses beyond twice as much, and beyond 1e100, can all be taken for the same.
        """
        offset = factor * self.offset
        offset_error = factor * self.offset_error + UNIT * abs(offset)
        with np.errstate(over="ignore"):
            laws = [law.scaled(factor) for law in self.laws]
        gains = max(self.offset_error - self.offset, 0.0)
        for block in self.blocks:
            gains += block.times * max(float((block.law.values + block.law.value_error).max()), 0.0)
        farthest = -max(_FAR, 2 * gains * factor)
        # Compared before the products, which may have overflowed.
        blocks = (
            Block(_with_losses_to(farthest, law, block.law, farthest / factor), block.times)
            for block, law in zip(self.blocks, laws, strict=True)
        )
        return BlockSum(tuple(blocks), offset, offset_error)


def _with_losses_to(farthest: float, law: Law, unscaled: Law, limit: float) -> Law:
    """Return the law with values put to ``farthest`` that are surely below the limit, unscaled."""
    far = unscaled.values + unscaled.value_error < limit
    if not far.any():
        return law
    return replace(
        law,
        values=np.where(far, farthest, law.values),
        value_error=np.where(far, 0.0, law.value_error),
    )
