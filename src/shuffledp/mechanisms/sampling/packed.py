"""Rows of bits, eight to a byte: bit i is bit i mod 8 of byte i // 8."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.layout import as_bytes

#: The largest number of rows whose ones can be counted in a byte.
_ROWS = 255

#: How many bits of a byte are 1.
_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)

Rows = NDArray[np.uint8]
Positions = NDArray[np.int64]


def get_bits(rows: Rows, index: Positions, positions: Positions) -> NDArray[np.bool_]:
    """Return one bit of each of the rows with the given numbers."""
    masks = np.left_shift(1, positions & 7, dtype=np.uint8, casting="unsafe")
    found: NDArray[np.bool_] = (rows[index, positions >> 3] & masks) != 0
    return found


def get_bit(rows: Rows, position: int) -> NDArray[np.bool_]:
    """Return the same bit of every row.

    >>> get_bit(np.array([[8], [0], [9]], dtype=np.uint8), 3).tolist()
    [True, False, True]
    """
    found: NDArray[np.bool_] = (rows[:, position >> 3] >> np.uint8(position & 7) & 1) != 0
    return found


def put_bits(rows: Rows, index: Positions, positions: Positions, values: NDArray[np.bool_]) -> None:
    """Set one bit of each of the rows with the given numbers, which differ.

    >>> rows = np.zeros((3, 1), dtype=np.uint8)
    >>> put_bits(rows, np.array([0, 2]), np.array([3, 0]), np.array([True, True]))
    >>> rows.tolist()
    [[8], [0], [1]]
    """
    masks = np.left_shift(1, positions & 7, dtype=np.uint8, casting="unsafe")
    old = rows[index, positions >> 3]
    rows[index, positions >> 3] = np.where(values, old | masks, old & ~masks)


def check_packed(reports: NDArray[Any], size: int) -> None:
    """Raise ValueError if a bit beyond the ``size`` bits of a report is set."""
    if size % 8 and (bad := as_bytes(reports)[:, -1] >> np.uint8(size % 8) > 0).any():
        position = int(np.argmax(bad))
        raise ValueError(f"reports must have {size} bits, got more at position {position}")


def ones_of(rows: Rows) -> NDArray[np.int64]:
    """Return how many bits of each row are 1.

    >>> ones_of(np.array([[8, 3], [0, 0], [255, 1]], dtype=np.uint8)).tolist()
    [3, 0, 9]
    """
    ones: NDArray[np.int64] = _ONES[rows].sum(axis=1, dtype=np.int64)
    return ones


def count_ones(reports: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Return for each of the first ``size`` bits in how many reports it is 1."""
    rows = as_bytes(reports)
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, rows.shape[0], _ROWS):
        bits = np.unpackbits(rows[start : start + _ROWS], axis=1, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.uint8)[:size]
    return counts
