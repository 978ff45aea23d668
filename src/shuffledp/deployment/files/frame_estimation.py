"""From frames of reports, in the hands of a dask cluster, to estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.cluster import Client, merged
from shuffledp.collection import Aggregator
from shuffledp.deployment.files.chunk import even_chunks
from shuffledp.deployment.files.columns import Cells, Column, echo, is_empty, objects
from shuffledp.deployment.files.estimation import Estimation, add_up, asked, estimation_of, together
from shuffledp.deployment.files.frame_table import DaskFrame, FrameTable, partitions
from shuffledp.deployment.files.mechanism_text import self_contained
from shuffledp.deployment.files.problems import DataError
from shuffledp.deployment.files.report_files import TITLE, Reports
from shuffledp.mechanisms import LocalRandomizer, as_randomizer

_EXPECTED = "frame must be a dask DataFrame (an Aggregator adds up what is in memory)"


def estimate_frame(
    frame: DaskFrame,
    randomizer: LocalRandomizer | str,
    columns: Sequence[Column],
    corrupted: float | Fraction = 0,
    *,
    client: Client | None = None,
) -> Estimation:
    """Estimate from a dask DataFrame of reports, one user per row, partition by partition.

    The workers add up every partition on its own and merge the sums as
    :func:`shuffledp.deployment.files.estimate_files` does: if every partition holds the reports of
    one file, the estimates are the same to the last bit. A frame has no sidecar. So the caller says
    what a sidecar would, nobody checks that the reports are those that were written, and the result
    states no guarantee: ``ShuffleAccountant(randomizer, estimation.n)`` does.

    Args:
        frame: its column ``report`` holds what files of reports hold: numbers, or bytes, also in
            hexadecimal. Other columns are not looked at.
        randomizer: the mechanism that made the reports, or its text.
        columns: what the reports are about, as
            :class:`shuffledp.deployment.files.Randomization` was told: one column per attribute,
            with its labels.
        corrupted: how many users may have chosen their reports, a number or a share.
        client: of the dask cluster whose workers hold the partitions, or compute them.

    Raises:
        TypeError: if the frame is none of dask, there is no client, or nothing can be estimated
            from such reports.
        ValueError: if mechanism, columns and labels do not fit together.
        DataError: if the frame has no rows or not one column ``report``, if a cell is no report of
            this mechanism, if a partition that was lost has another number of rows when it is
            computed again, or if the reports do not determine the frequencies.
        ClusterError: if the cluster is lost.

    >>> import dask.dataframe
    >>> import pandas
    >>> from shuffledp.basics.cluster import connected
    >>> from shuffledp.deployment.files import Column
    >>> reports = pandas.DataFrame({"report": [0] * 700 + [1] * 300})
    >>> frame = dask.dataframe.from_pandas(reports, npartitions=4)
    >>> page = Column("page", ("news", "mail"))
    >>> with connected("local:1") as client:  # or distributed.Client("tcp://...")
    ...     estimation = estimate_frame(frame, "krr(k=2, epsilon0=2)", [page], client=client)
    >>> [section] = estimation.sections
    >>> estimation.n, section.values, section.estimate.values.round(4).tolist()
    (1000, ['news', 'mail'], [0.7626, 0.2374])
    """
    aggregator, told = asked(self_contained(as_randomizer(randomizer)), columns)
    parts, rows = partitions(frame, [TITLE], client, expected=_EXPECTED)
    if not rows:
        raise DataError("the frame has no rows")
    workers = cast("Client", client)  # partitions refuses None
    total = merged(partial(sums_of_partition, aggregator), parts, together, workers)
    return estimation_of(total, told, (), corrupted)


def sums_of_partition(empty: Aggregator, part: tuple[Any, int]) -> Aggregator:
    """Add up the reports of a partition, which must have as many rows as when it was counted."""
    frame, rows = part
    aggregator = copy(empty)  # a worker may have to do this once more
    add_up(aggregator.add, FrameReports(frame, rows, aggregator.randomizer.report_dtype))
    return aggregator


class FrameReports(Reports):
    """The reports of a partition, a frame of pandas.

    Numbers are as in files; whole numbers may be of any type of integers, since CSV files do not
    say theirs. Other reports are their bytes, as in Parquet files, or these in hexadecimal, as in
    CSV files.

    Args:
        frame: the partition.
        rows: how many rows it had before.
        dtype: the type of the reports.

    Raises:
        DataError: as :class:`FrameTable` does.
    """

    def __init__(self, frame: Any, rows: int, dtype: np.dtype[Any]) -> None:
        super().__init__(f"{FrameTable.label}, column {TITLE!r}", dtype)
        self._table = FrameTable(frame, rows, [TITLE], binary=True)

    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the reports, so many at a time as from a file."""
        return even_chunks(self._arrays(rows), rows)

    def _arrays(self, rows: int) -> Iterator[NDArray[Any]]:
        done = 0
        for (cells,) in self._table.chunks(rows):
            yield self._reports(cells, done + 1)
            done += len(cells)

    def _reports(self, cells: Cells, first_row: int) -> NDArray[Any]:
        if isinstance(cells, np.ndarray) and self._is_of_type(cells.dtype):
            return cells
        listed = objects(cells)
        rows = [self._bytes(cell) for cell in listed]
        wrong = [i for i, row in enumerate(rows) if len(row) != self.dtype.itemsize]
        if wrong:
            empty = [i for i in wrong if is_empty(listed[i])]
            place = empty[0] if empty else wrong[0]
            problem = "the cell is empty" if empty else self._foreign(listed[place])
            raise DataError(f"{self.label}, row {first_row + place}: {problem}")
        return np.frombuffer(b"".join(rows), dtype=self.dtype)

    def _is_of_type(self, dtype: np.dtype[Any]) -> bool:
        return self.holds_numbers and dtype.kind in "iu"

    def _bytes(self, cell: object) -> bytes:
        """Return the bytes of a report that is no number, none if it is something else."""
        if self.holds_numbers:
            return b""
        if isinstance(cell, str) and len(cell) == 2 * self.dtype.itemsize:
            try:
                return bytes.fromhex(cell)  # fewer, if there are blanks
            except ValueError:
                return b""
        return cell if isinstance(cell, bytes) else b""

    def _foreign(self, cell: object) -> str:
        """Return the message that a cell is no report of this type."""
        digits = 2 * self.dtype.itemsize
        more = "" if self.holds_numbers else f", or text of {digits} hexadecimal digits"
        shown = f"{echo(cell)} is not a report of this mechanism"
        return f"{shown}: these are {self.wanted}{more}"
