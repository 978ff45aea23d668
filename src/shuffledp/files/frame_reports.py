"""Reports in frames of dask, partition by partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.files.chunk import even_chunks
from shuffledp.files.columns import Cells, echo, is_empty
from shuffledp.files.frame_table import FrameTable
from shuffledp.files.problems import DataError
from shuffledp.files.reports import TITLE, Reports


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
        listed = cells.tolist() if isinstance(cells, np.ndarray) else cells
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
