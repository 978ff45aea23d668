"""How reports lie in memory: the same bytes on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

_MAX_BYTES = 1 << 30  # of one report


def unsigned(count: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned integer type, low byte first, that holds 0 to ``count`` - 1.

    >>> [unsigned(count).itemsize for count in (2, 256, 257, 2**64)]
    [1, 1, 2, 8]
    """
    needed = (count - 1).bit_length()
    return np.dtype(f"<u{next(size for size in (1, 2, 4, 8) if needed <= 8 * size)}")


def blob(size: int) -> np.dtype[np.void]:
    """Return the type of ``size`` bytes without further structure.

    >>> blob(3).itemsize
    3

    Raises:
        ValueError: if these are more than 2**30.
    """
    if size > _MAX_BYTES:
        raise ValueError(f"a report must have at most 2**30 bytes to run, got {size}")
    return np.dtype((np.void, size))


def packed_bits(count: int) -> np.dtype[np.void]:
    """Return the type of ``count`` bits; bit i is bit i mod 8 of byte i // 8.

    >>> packed_bits(10).itemsize
    2
    """
    return blob(-(-count // 8))


def as_bytes(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of reports, one row per report."""
    return (
        np.ascontiguousarray(reports).view(np.uint8).reshape(reports.size, reports.dtype.itemsize)
    )
