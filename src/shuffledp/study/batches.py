"""Rows in batches of equal size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shuffledp.files.columns import Cells
from shuffledp.study.cells import objects


def even_batches(batches: Iterator[list[Cells]], rows: int) -> Iterator[list[Cells]]:
    """Yield the same rows, always so many of them but for the last batch.

    How a file is laid out, and so perhaps what people answered, then does not show in the batches.

    >>> list(even_batches(iter([[[1, 2, 3]], [[4]], [[5, 6]]]), 2))
    [[[1, 2]], [[3, 4]], [[5, 6]]]
    """
    held: list[list[Cells]] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += len(batch[0])
        while count >= rows:
            columns = [_joined(parts) for parts in zip(*held, strict=True)]
            yield [column[:rows] for column in columns]
            held, count = [[column[rows:] for column in columns]], count - rows
    if count:
        yield [_joined(parts) for parts in zip(*held, strict=True)]


def _joined(parts: Sequence[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts) and len({array.dtype for array in arrays}) == 1:
        return np.concatenate(arrays)
    return [cell for part in parts for cell in objects(part)]
