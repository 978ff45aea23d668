"""How often values occur among reports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import IntArray

_CHUNK = 1 << 16  # reports that are counted at a time


def count_values(reports: NDArray[Any], bound: int, candidates: IntArray | None = None) -> IntArray:
    """Return how often each candidate, by default each of 0..bound-1, occurs in the reports.

    >>> count_values(np.array([0, 2, 2], dtype=np.uint8), 3).tolist()
    [1, 0, 2]

    Raises:
        ValueError: if a report is not below ``bound``.
    """
    if reports.size and reports.max() >= bound:
        position = int(np.argmax(reports >= bound))
        raise ValueError(
            f"reports must be below {bound}, got {reports[position]} at position {position}"
        )
    sought, place = None, None
    if candidates is not None:
        sought, place = np.unique(candidates, return_inverse=True)
    counts = np.zeros(bound if sought is None else sought.size, dtype=np.int64)
    for start in range(0, reports.size, _CHUNK):
        part = reports[start : start + _CHUNK].astype(np.int64)
        if sought is not None:
            found = np.minimum(np.searchsorted(sought, part), sought.size - 1)
            part = found[sought[found] == part]
        counts += np.bincount(part, minlength=counts.size)
    return counts if place is None else counts[place]
