"""Uniform numbers in doubles, for what no guarantee rests on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.bits import Bits


def uniform(bits: Bits, size: int) -> NDArray[np.float64]:
    """Return odd multiples of 2**-54 between 0 and 1, all alike."""
    return ((bits.words(size) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
