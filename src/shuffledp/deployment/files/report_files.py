"""Reports, one per row of a CSV or Parquet file or of a partition."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.deployment.files.parquet import arrow, open_parquet
from shuffledp.deployment.files.problems import DataError, naming
from shuffledp.deployment.files.tables import is_csv

#: The title of the column that holds them.
TITLE = "report"

_INTEGERS = re.compile(r"(-?[0-9]+\n)*(-?[0-9]+)?")


def reports_in(path: Path, dtype: np.dtype[Any]) -> ReportFile:
    """Return a file of reports of the given type, whose ending says how it is read."""
    return CsvReports(path, dtype) if is_csv(path) else ParquetReports(path, dtype)


class Reports(ABC):
    """One column, ``report``: integers as they are, all other reports as their bytes.

    Args:
        label: what stands for them in messages.
        dtype: the type of the reports.
    """

    def __init__(self, label: str, dtype: np.dtype[Any]) -> None:
        self.label, self.dtype = label, dtype

    @property
    def holds_numbers(self) -> bool:
        """Whether reports are written as integers."""
        return self.dtype.kind in "iu"

    @property
    def wanted(self) -> str:
        """What reports are, in words."""
        what = "numbers" if self.holds_numbers else f"{self.dtype.itemsize} bytes each"
        return f"{what} of type {self.dtype}"

    @abstractmethod
    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the reports, at most so many at a time.

        Raises:
            DataError: if they cannot be read, or are something else.
        """


class ReportFile(Reports):
    """A file with one column, ``report``.

    Args:
        path: the file.
        dtype: the type of the reports.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        super().__init__(repr(str(path)), dtype)
        self.path = path

    @abstractmethod
    def write(self, chunks: Iterable[NDArray[Any]]) -> None:
        """Write all reports into a new file.

        Raises:
            OSError: if it cannot be written.
        """

    def _foreign(self, first: int, last: int) -> str:
        """Return the message that some rows are not reports of this type."""
        return (
            f"{self.label}: among rows {first} to {last} are some that are not reports of "
            f"this mechanism: these are {self.wanted}"
        )


class CsvReports(ReportFile):
    """A CSV file: numbers in decimal, other reports in hexadecimal."""

    def write(self, chunks: Iterable[NDArray[Any]]) -> None:
        """Write one line per report after the title."""
        with self.path.open("x", encoding="ascii", newline="\n") as out:
            out.write(f"{TITLE}\n")
            for chunk in chunks:
                out.write(self._text(chunk))

    def _text(self, reports: NDArray[Any]) -> str:
        if self.holds_numbers:
            return "".join(f"{number!r}\n" for number in reports.tolist())
        return reports.tobytes().hex("\n", self.dtype.itemsize) + "\n"

    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the reports."""
        with naming(self.path, "read"), self.path.open(encoding="ascii", newline="\n") as file:
            try:
                if file.readline() != f"{TITLE}\n":
                    raise DataError(f"{str(self.path)!r} must have the one title {TITLE!r}")
                done = 0
                while lines := list(islice(file, rows)):
                    yield self._reports(lines, done + 1)
                    done += len(lines)
            except UnicodeDecodeError:
                raise DataError(f"{str(self.path)!r} is not a CSV file of reports") from None

    def _reports(self, lines: list[str], first_row: int) -> NDArray[Any]:
        try:
            return self._decode(lines)
        except ValueError:
            raise DataError(self._foreign(first_row, first_row + len(lines) - 1)) from None

    def _decode(self, lines: list[str]) -> NDArray[Any]:
        if not self.holds_numbers:
            width = 2 * self.dtype.itemsize + 1
            if any(len(line) != width for line in lines):
                raise ValueError("a report is of another length")
            return np.frombuffer(bytes.fromhex("".join(lines)), dtype=self.dtype)
        if not _INTEGERS.fullmatch("".join(lines)):
            raise ValueError("a report is not a number")
        numbers, limits = [int(line) for line in lines], np.iinfo(self.dtype)
        if min(numbers) < limits.min or max(numbers) > limits.max:
            raise ValueError("a report is too large for its type")
        return np.array(numbers, dtype=self.dtype)


class ParquetReports(ReportFile):
    """A Parquet file: numbers of their own type, other reports as binary of a fixed size."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        super().__init__(path, dtype)
        pa = arrow()
        numbers = self.holds_numbers
        self._type = pa.from_numpy_dtype(dtype) if numbers else pa.binary(dtype.itemsize)

    def write(self, chunks: Iterable[NDArray[Any]]) -> None:
        """Write one group of rows per chunk."""
        pa = arrow()
        schema = pa.schema([pa.field(TITLE, self._type, nullable=False)])
        with self.path.open("xb") as out, pa.parquet.ParquetWriter(out, schema) as writer:
            for chunk in chunks:
                writer.write_batch(pa.record_batch([self._to_arrow(chunk)], schema=schema))

    def _to_arrow(self, reports: NDArray[Any]) -> Any:
        pa = arrow()
        if self.holds_numbers:
            return pa.array(reports, type=self._type)
        content = pa.py_buffer(reports.tobytes())
        return pa.FixedSizeBinaryArray.from_buffers(self._type, reports.size, [None, content])

    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the reports."""
        with open_parquet(self.path) as file:
            schema = file.schema_arrow
            if schema.names != [TITLE]:
                raise DataError(f"{str(self.path)!r} must have the one column {TITLE!r}")
            if schema.types[0] != self._type:
                raise DataError(self._foreign(1, file.metadata.num_rows))
            done = 0
            for batch in file.iter_batches(batch_size=rows):
                column = batch.column(0)
                if column.null_count:
                    raise DataError(self._foreign(done + 1, done + len(column)))
                yield self._from_arrow(column)
                done += len(column)

    def _from_arrow(self, column: Any) -> NDArray[Any]:
        if self.holds_numbers:
            numbers: NDArray[Any] = column.to_numpy().astype(self.dtype, copy=False)
            return numbers
        start, size = column.offset * self.dtype.itemsize, len(column) * self.dtype.itemsize
        content = np.frombuffer(column.buffers()[1], dtype=np.uint8)[start : start + size]
        return content.view(self.dtype)
