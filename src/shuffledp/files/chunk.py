"""How much of a file is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: At most so many rows ...
CHUNK_ROWS = 1 << 16

#: ... and so many bytes of reports.
CHUNK_BYTES = 1 << 24


def rows_per_chunk(dtype: np.dtype[Any]) -> int:
    """Return how many reports of this type are looked at together.

    >>> rows_per_chunk(np.dtype("u1")), rows_per_chunk(np.dtype("V1048576"))
    (65536, 16)
    """
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES // dtype.itemsize))


def even_chunks(arrays: Iterable[NDArray[Any]], rows: int) -> Iterator[NDArray[Any]]:
    """Yield what arrays hold, so many entries at a time, the last time fewer.

    Chunks can be seen in a Parquet file. Here their sizes tell the number of all entries only, and
    not where the arrays ended.

    >>> [part.tolist() for part in even_chunks([np.arange(3), np.arange(3, 4), np.arange(4, 7)], 2)]
    [[0, 1], [2, 3], [4, 5], [6]]
    """
    held: list[NDArray[Any]] = []
    for array in arrays:
        rest = array
        while (missing := rows - sum(part.size for part in held)) <= rest.size:
            yield np.concatenate([*held, rest[:missing]])
            held, rest = [], rest[missing:]
        if rest.size:
            held.append(rest.copy())  # or the whole array stays in memory
    if held:
        yield np.concatenate(held)
