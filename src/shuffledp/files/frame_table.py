"""Frames of dask, partition by partition; neither dask nor pandas is imported for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from shuffledp.cluster import Client, held, spread
from shuffledp.files.columns import Cells
from shuffledp.files.parquet import arrow, cells_of, check_kinds
from shuffledp.files.problems import DataError
from shuffledp.wording import shorten

_MAX_ECHO = 60


class DaskFrame(Protocol):
    """What is needed of a dask DataFrame."""

    @property
    def columns(self) -> Any:
        """The titles of its columns."""

    def __getitem__(self, names: Any) -> Any:
        """Return some of its columns."""

    def to_delayed(self) -> Any:
        """Return its partitions."""


class FrameTable:
    """A partition: a frame of pandas, whose columns must hold numbers or text.

    Args:
        frame: the partition.
        names: the titles of the columns.

    Raises:
        DataError: if a column holds something else.
    """

    #: Stands for the name of the file in messages.
    label = "a partition of the frame"

    def __init__(self, frame: Any, names: Sequence[str]) -> None:
        pa = arrow()
        self._names = tuple(names)
        try:
            self._table = pa.Table.from_pandas(frame[_once(names)], preserve_index=False)
        except pa.ArrowException as error:
            why = str(error).partition("\n")[0]
            raise DataError(f"{self.label}: its columns must hold numbers or text: {why}") from None
        check_kinds(self._table.schema, names, self.label)

    def chunks(self, rows: int) -> Iterator[list[Cells]]:
        """Yield the cells of each column, for at most so many rows at a time."""
        for batch in self._table.to_batches(max_chunksize=rows):
            if batch.num_rows:
                yield cells_of(batch, self._names)


def partitions(
    frame: DaskFrame, names: Sequence[str], client: Client | None
) -> tuple[list[Any], int]:
    """Return the partitions of a frame, which stay with the workers, and the number of its rows.

    Raises:
        TypeError: if there is no client, or no frame.
        DataError: if it lacks a column, or has two of that name.
        ClusterError: if the cluster is lost.
    """
    if not hasattr(frame, "to_delayed"):
        given = shorten(" ".join(repr(frame).split()), _MAX_ECHO)
        raise TypeError(f"source must be a Path or a dask DataFrame, got {given}")
    if client is None:
        raise TypeError("a dask DataFrame is randomized on a cluster: give its client")
    titles = list(map(str, frame.columns))
    for name in names:
        if titles.count(name) != 1:
            raise DataError(f"the frame must have one column {name!r}, got {titles.count(name)}")
    parts = held(frame[_once(names)].to_delayed(), client)
    return parts, sum(spread(len, parts, client))


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
