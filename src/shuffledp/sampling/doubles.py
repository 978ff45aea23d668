"""Continuous noise in doubles, for simulations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shuffledp.sampling.bits import Bits


def uniform(bits: Bits, size: int) -> NDArray[np.float64]:
    """Return odd multiples of 2**-54 between 0 and 1, all alike."""
    return ((bits.words(size) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def laplace(bits: Bits, size: int) -> NDArray[np.float64]:
    """Return Laplace noise of scale 1: the difference of two exponential variables.

    >>> 1.9 < laplace(Bits(None), 100_000).var().item() < 2.1
    True
    """
    first, second = np.log(uniform(bits, 2 * size)).reshape(2, size)
    difference: NDArray[np.float64] = first - second
    return difference


def normal(bits: Bits, size: int) -> NDArray[np.float64]:
    """Return standard normal noise (Box and Muller 1958).

    >>> 0.95 < normal(Bits(None), 100_000).var().item() < 1.05
    True
    """
    radius, angle = uniform(bits, 2 * size).reshape(2, size)
    noise: NDArray[np.float64] = np.sqrt(-2 * np.log(radius)) * np.cos(2 * math.pi * angle)
    return noise
