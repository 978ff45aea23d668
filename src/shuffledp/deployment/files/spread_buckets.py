r"""Reports in random order, made and mixed by the workers of a cluster.

It is the shuffler of :class:`shuffledp.deployment.files.buckets.Buckets`, in two phases. In the
first a worker randomizes the rows of one part and writes the reports to a file, sorted by their
bucket: each is in one of B buckets with probability 1/B, independently of all others. In the second
a worker collects one bucket from the files of all parts, shuffles it, and writes it.

**A task may run more than once**, even at the same time, if its worker seems lost. Every attempt
draws its own reports and writes a file of its own, with a name that nobody else has, and its result
says which file that is. The process that started the run takes one result per part, before the
second phase begins, and hands the names of these files to it. So all buckets are made of the same
attempts: no row is missing or counted twice, and of every person one report gets on. Files of other
attempts are never read; they are removed with the folder.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.cluster import Client, spread
from shuffledp.collection import shuffle
from shuffledp.deployment.files.buckets import Buckets
from shuffledp.deployment.files.chunk import even_chunks
from shuffledp.deployment.files.problems import DataError, naming

#: Randomizes the rows of a part and puts the reports into buckets.
Pour = Callable[[Buckets, Any, np.random.Generator | None], None]

#: The phases, for generators that can be repeated.
_SPILL, _MIX = 0, 1


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some reports in a file: how many there are, and how many stand before them."""

    path: Path
    start: int
    count: int


@dataclass(frozen=True)
class _Place:
    """Where workers write, what, and with which bits."""

    folder: Path
    dtype: np.dtype[Any]
    seed: int | None

    def rng(self, phase: int, number: int) -> np.random.Generator | None:
        """Return a generator of its own for a task, None for secure bits."""
        return None if self.seed is None else np.random.default_rng([self.seed, phase, number])

    def write(self, kind: str, chunks: Iterable[NDArray[Any]]) -> list[Stretch]:
        """Write chunks to a new file that no other attempt has; say where each one is."""
        path = self.folder / f"bucket_{kind}_{secrets.token_hex(8)}"
        counts = []
        try:
            with naming(path, "write"), path.open("xb") as file:
                for chunk in chunks:
                    file.write(chunk.tobytes())
                    counts.append(chunk.size)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        starts = accumulate(counts, initial=0)
        return [Stretch(path, start, count) for start, count in zip(starts, counts, strict=False)]

    def read(self, stretch: Stretch) -> NDArray[Any]:
        """Return the reports of a stretch; all of them or none."""
        with naming(stretch.path, "read"), stretch.path.open("rb") as file:
            file.seek(stretch.start * self.dtype.itemsize)
            content = file.read(stretch.count * self.dtype.itemsize)
        if len(content) != stretch.count * self.dtype.itemsize:
            raise DataError(f"{str(stretch.path)!r} is cut off")
        return np.frombuffer(content, dtype=self.dtype)


class SpreadBuckets:
    """A shuffler on a cluster, whose workers and this process share a file system.

    Args:
        folder: a folder for the files, which only its owner may look into.
        dtype: the type of the reports.
        count: the number of buckets.
        seed: for simulations that can be repeated; None takes random bits from the secure source of
            the operating system where the reports are made.
        client: whose workers make them.
    """

    def __init__(
        self,
        folder: Path,
        dtype: np.dtype[Any],
        *,
        count: int,
        seed: int | None,
        client: Client,
    ) -> None:
        self._place = _Place(folder.resolve(), dtype, seed)
        self._count, self._client = count, client
        self._spilled: list[list[Stretch]] = []

    @property
    def size(self) -> int:
        """The number of reports so far."""
        return sum(stretch.count for part in self._spilled for stretch in part)

    def add(self, pour: Pour, parts: Sequence[Any]) -> None:
        """Let workers randomize parts: files, or what the workers hold themselves.

        Raises:
            ClusterError: if the cluster is lost.
            DataError: if a part cannot be read, or a worker cannot write.
        """
        spill = partial(_spill, self._place, pour, self._count)
        self._spilled += spread(spill, list(enumerate(parts)), self._client)

    def empty(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield all reports in random order, so many at a time.

        Raises:
            ClusterError: if the cluster is lost.
            DataError: if a file cannot be read or written.
        """
        buckets = [
            (i, [part[i] for part in self._spilled if part[i].count]) for i in range(self._count)
        ]
        mixed = spread(partial(_mix, self._place), buckets, self._client)
        yield from even_chunks(self._pieces(mixed, rows), rows)

    def _pieces(self, mixed: Sequence[Stretch], rows: int) -> Iterator[NDArray[Any]]:
        """Yield at most so many reports of a bucket at a time; remove what was read."""
        for whole in mixed:
            for start in range(0, whole.count, rows):
                count = min(rows, whole.count - start)
                yield self._place.read(Stretch(whole.path, start, count))
            whole.path.unlink()


def _spill(place: _Place, pour: Pour, count: int, numbered: tuple[int, Any]) -> list[Stretch]:
    """Randomize a part; return where the reports of each bucket are."""
    number, part = numbered
    if not place.folder.is_dir():
        raise DataError(
            f"a worker does not see {str(place.folder.parent)!r}: all machines must have the files "
            "that are read and the folder of the output under the same path"
        )
    rng = place.rng(_SPILL, number)
    with (
        naming(place.folder, "write"),
        Buckets(place.folder, place.dtype, count=count, rng=rng) as buckets,
    ):
        pour(buckets, part, rng)
        return place.write(f"part_{number}", buckets.contents())


def _mix(place: _Place, numbered: tuple[int, Sequence[Stretch]]) -> Stretch:
    """Shuffle a bucket; return where it is."""
    number, stretches = numbered
    empty = np.empty(0, dtype=place.dtype)
    reports = np.concatenate([empty, *map(place.read, stretches)])
    shuffled = shuffle(reports, place.rng(_MIX, number))
    (whole,) = place.write(f"mixed_{number}", [shuffled])
    return whole
