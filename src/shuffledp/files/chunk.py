"""How much of a file is in memory at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

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
