"""The shuffler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.sampling import Bits


def shuffle(reports: NDArray[Any], rng: np.random.Generator | None = None) -> NDArray[Any]:
    """Return the reports in a uniformly random order.

    Every report gets 64 random bits and they are sorted by these; should two be equal, all are
    drawn again.

    Args:
        reports: a one-dimensional array.
        rng: a generator, for simulations that can be repeated; None takes random bits from the
            operating system's secure source.

    >>> sorted(shuffle(np.arange(5)).tolist())
    [0, 1, 2, 3, 4]
    """
    if np.ndim(reports) != 1:
        raise ValueError(f"reports must be one-dimensional, got shape {np.shape(reports)}")
    bits = Bits(rng)
    while True:
        keys = bits.words(reports.size)
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            shuffled: NDArray[Any] = reports[order]
            return shuffled
