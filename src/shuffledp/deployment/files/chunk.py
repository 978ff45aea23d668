"""How much of a file is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.deployment.files.columns import Cells, objects

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


def even_batches(batches: Iterable[list[Cells]], rows: int) -> Iterator[list[Cells]]:
    """Yield the same rows of some columns, always so many of them but for the last batch.

    Chunks can be seen in a Parquet file, and who is assigned to what depends on batches. Here their
    sizes tell the number of all rows only, not how a file was laid out or where buckets ended.

    >>> list(even_batches([[[1, 2, 3]], [[4]], [[5, 6]]], 2))
    [[[1, 2]], [[3, 4]], [[5, 6]]]
    """
    held: list[list[Cells]] = []
    missing = rows
    for batch in batches:
        start, size = 0, len(batch[0])
        while size - start >= missing:
            held.append([column[start : start + missing] for column in batch])
            yield [_joined(parts) for parts in zip(*held, strict=True)]
            held, start, missing = [], start + missing, rows
        if start < size:
            held.append([copy(column[start:]) for column in batch])  # or all of it stays in memory
            missing -= size - start
    if held:
        yield [_joined(parts) for parts in zip(*held, strict=True)]


def even_chunks(arrays: Iterable[NDArray[Any]], rows: int) -> Iterator[NDArray[Any]]:
    """Yield what arrays hold, so many entries at a time, the last time fewer.

    >>> [part.tolist() for part in even_chunks([np.arange(3), np.arange(3, 4), np.arange(4, 7)], 2)]
    [[0, 1], [2, 3], [4, 5], [6]]
    """
    for (chunk,) in even_batches(([array] for array in arrays), rows):
        yield np.asarray(chunk)


def _joined(parts: Sequence[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts) and len({array.dtype for array in arrays}) == 1:
        return np.concatenate(arrays)
    return [cell for part in parts for cell in objects(part)]
