"""Where random bits come from."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


class Bits:
    """A source of independent fair bits, in words of 64.

    Nothing is kept between two requests, so that a process and its copy after a fork never use the
    same bits.

    Args:
        rng: a generator, for simulations that can be repeated; None takes the bits from the
            operating system's secure source, as reports about people need.

    >>> import numpy as np
    >>> Bits(np.random.default_rng(1)).words(2).dtype, Bits(None).words(3).size
    (dtype('uint64'), 3)
    """

    def __init__(self, rng: np.random.Generator | None) -> None:
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise TypeError(
                "rng must be a numpy.random.Generator, or None for the operating system's secure "
                f"bits, got {rng!r}"
            )
        self._rng = rng

    def words(self, size: int) -> Words:
        """Return ``size`` words of 64 fair bits, in an array that may be written to."""
        if self._rng is None:
            return np.frombuffer(bytearray(os.urandom(8 * size)), dtype=np.uint64)
        return self._rng.integers(0, 1 << 64, size, dtype=np.uint64)

    def bytes(self, size: int) -> NDArray[np.uint8]:
        """Return ``size`` bytes of fair bits."""
        return self.words(-(-size // 8)).view(np.uint8)[:size]
