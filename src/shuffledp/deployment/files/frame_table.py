"""Frames of dask, partition by partition; neither dask nor pandas is imported for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from shuffledp.basics.cluster import Client, held, spread
from shuffledp.basics.wording import counted, shorten
from shuffledp.deployment.files.columns import Cells
from shuffledp.deployment.files.parquet import arrow, cells_of, check_kinds, kinds
from shuffledp.deployment.files.problems import DataError

_MAX_ECHO = 60
_MAX_TITLES = 200  # characters of all names of columns in a message
_DIMENSIONS = 2  # those of a frame; a series has one


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
        rows: how many rows it had before.
        names: the titles of the columns.
        binary: whether they may also hold bytes.

    Raises:
        DataError: if a column holds something else; or if the partition was lost and has other rows
            now, since they may be those of people whom another partition has counted.
    """

    #: Stands for the name of the file in messages.
    label = "a partition of the frame"

    def __init__(
        self, frame: Any, rows: int, names: Sequence[str], *, binary: bool = False
    ) -> None:
        pa = arrow()
        if len(frame) != rows:
            raise DataError(
                f"{self.label} had {counted(rows, 'row')}, and {len(frame)} when it was computed "
                "again: nobody can be sure to be counted once"
            )
        self._names = tuple(names)
        _check_titles(frame, names, self.label)
        try:
            self._table = pa.Table.from_pandas(frame[_once(names)], preserve_index=False)
        except (pa.ArrowException, OverflowError) as error:
            why = str(error).partition("\n")[0]
            which = "column " + ", ".join(map(repr, _once(names)))
            raise DataError(f"{self.label}: {which} must hold {kinds(binary)}: {why}") from None
        check_kinds(self._table.schema, names, self.label, binary=binary)

    def chunks(self, rows: int) -> Iterator[list[Cells]]:
        """Yield the cells of each column, for at most so many rows at a time."""
        for batch in self._table.to_batches(max_chunksize=rows):
            if batch.num_rows:
                yield cells_of(batch, self._names)


def partitions(
    frame: DaskFrame, names: Sequence[str], client: Client | None, *, expected: str
) -> tuple[list[tuple[Any, int]], int]:
    """Return what stands for the partitions of a frame, each with the number of its rows.

    The partitions stay with the workers. Beside the list stands the number of all rows.

    Args:
        frame: the frame.
        names: the titles of the columns that are needed.
        client: of the cluster.
        expected: the beginning of the message if it is no frame.

    Raises:
        TypeError: if there is no client, or no frame.
        DataError: if it lacks a column, or has two of that name.
        ClusterError: if the cluster is lost.
    """
    if not _is_frame(frame):
        given = shorten(" ".join(repr(frame).split()), _MAX_ECHO)
        raise TypeError(f"{expected}, got {given}")
    if client is None:
        raise TypeError(
            "a dask DataFrame is read on a cluster: give its client, client=distributed.Client(...)"
        )
    _check_titles(frame, names, "the frame")
    parts = held(frame[_once(names)].to_delayed(), client)
    try:
        rows = spread(len, parts, client)
    except KeyError as error:  # of pandas, for a partition that has other columns than the frame
        why = shorten(str(error), _MAX_ECHO)
        raise DataError(f"{FrameTable.label} lacks something: {why}") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{FrameTable.label} holds bytes that dask takes for text: make the frame under "
            "dask.config.set({'dataframe.convert-string': False})"
        ) from error
    return list(zip(parts, rows, strict=True)), sum(rows)


def _is_frame(frame: Any) -> bool:
    """Whether it is a frame of dask: its other collections, and frames in memory, lack something.

    What is delayed has everything that it is asked for, but no number of partitions.
    """
    return (
        isinstance(getattr(frame, "npartitions", None), int)
        and getattr(frame, "ndim", None) == _DIMENSIONS
        and hasattr(frame, "columns")
        and hasattr(frame, "to_delayed")
    )


def _check_titles(frame: Any, names: Sequence[str], label: str) -> None:
    titles = list(frame.columns)
    for name in names:
        if (count := titles.count(name)) != 1:
            known = shorten(", ".join(map(repr, titles)) or "none", _MAX_TITLES)
            raise DataError(
                f"{label} must have one column {name!r}, got {count}; its columns are {known}"
            )


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
