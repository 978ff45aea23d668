"""Uniform integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.bits import Bits
from shuffledp.mechanisms.sampling.layout import unsigned


def below(bits: Bits, bound: int, size: int) -> NDArray[np.unsignedinteger]:
    """Return uniform integers from 0 to ``bound`` - 1, in the smallest unsigned type.

    Draws as many bits as the largest integer has, and again where they make a larger one: every
    integer has the same probability. ``bound`` is at most 2**64.

    >>> sorted(set(below(Bits(None), 6, 1000).tolist()))
    [0, 1, 2, 3, 4, 5]
    """
    dtype = unsigned(bound)
    largest = bound - 1
    mask = dtype.type((1 << largest.bit_length()) - 1)

    def draw(count: int) -> NDArray[np.unsignedinteger]:
        fresh: NDArray[np.unsignedinteger] = bits.bytes(count * dtype.itemsize).view(dtype)
        fresh &= mask
        return fresh

    values = draw(size)
    again = np.flatnonzero(values > dtype.type(largest))
    while again.size:
        values[again] = fresh = draw(again.size)
        again = again[fresh > dtype.type(largest)]
    return values
