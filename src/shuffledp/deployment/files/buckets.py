"""Reports in random order, also more of them than fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection import shuffle
from shuffledp.deployment.files.chunk import even_chunks
from shuffledp.mechanisms.sampling import Bits, below

#: A bucket should not take more memory than this while it is shuffled ...
BUCKET_BYTES = 1 << 27

#: ... in which every report needs this much beside itself: its random key and its place.
_EXTRA_BYTES = 24

#: Operating systems often allow 1024 open files.
_MAX_BUCKETS = 512


def buckets_for(rows: int, dtype: np.dtype[Any]) -> int:
    """Return how many buckets so many reports need.

    >>> buckets_for(1000, np.dtype("u1")), buckets_for(10**8, np.dtype("u1"))
    (1, 19)
    """
    needed = -(-rows * (dtype.itemsize + _EXTRA_BYTES) // BUCKET_BYTES)
    return max(1, min(needed, _MAX_BUCKETS))


class Buckets:
    r"""A shuffler that keeps the reports in files.

    Every report is put into one of B buckets, each with probability 1/B and independently of all
    others. Then the buckets are shuffled in memory and emptied one after the other.

    The result is a uniformly random order: shuffling a bucket sorts its reports by random keys, so
    all reports together are sorted by (bucket, key). These pairs are independent and identically
    distributed, whichever report they belong to, so that every order of the reports is equally
    likely. (Where two keys of a bucket are equal, all of the bucket are drawn again, which treats
    its reports alike, too.) It does not matter how many reports a bucket happens to get.

    The files have no names: they vanish when they are closed and when the process ends, also if it
    is killed. (On Windows they have names until then.) Of the order of the reports they hold no
    more than which of them were added together, since those are shuffled before they are written.

    Args:
        folder: a folder for the files, which only its owner may look into: where the operating
            system cannot create a file without a name, an empty one has a name for a moment.
        dtype: the type of the reports.
        count: the number of buckets.
        rng: a generator, for simulations that can be repeated; None takes random bits from the
            operating system's secure source.
    """

    def __init__(
        self,
        folder: Path,
        dtype: np.dtype[Any],
        *,
        count: int,
        rng: np.random.Generator | None,
    ) -> None:
        self._folder, self._dtype, self._count, self._rng = folder, dtype, count, rng
        self._open = ExitStack()
        self.size = 0

    def __enter__(self) -> Self:
        """Create the files."""
        with ExitStack() as stack:
            self._files = [stack.enter_context(self._create()) for _ in range(self._count)]
            self._open = stack.pop_all()
        return self

    def _create(self) -> IO[bytes]:
        return tempfile.TemporaryFile(prefix="bucket", dir=self._folder)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the files, which removes them."""
        self._open.close()

    def add(self, reports: NDArray[Any]) -> None:
        """Put each of the reports into a bucket.

        Raises:
            OSError: if there is no more room for them.
        """
        chosen = below(Bits(self._rng), self._count, reports.size)
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=self._count))
        mixed = shuffle(reports, self._rng)[order]
        for file, own in zip(self._files, np.split(mixed, ends[:-1]), strict=True):
            file.write(own.tobytes())
        self.size += reports.size

    def empty(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield all reports in random order, so many at a time, and remove the files.

        Raises:
            OSError: if a file cannot be completed or read.
        """
        yield from even_chunks((shuffle(own, self._rng) for own in self.contents()), rows)

    def contents(self) -> Iterator[NDArray[Any]]:
        """Yield the reports of one bucket after the other, not shuffled, and remove the files.

        Raises:
            OSError: if a file cannot be completed or read.
        """
        for file in self._files:
            file.seek(0)
            reports = np.frombuffer(file.read(), dtype=self._dtype)
            file.close()
            yield reports
