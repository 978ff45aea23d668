"""Files of reports in Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.files.parquet import arrow, open_parquet
from shuffledp.files.problems import DataError
from shuffledp.files.report_file import ReportFile
from shuffledp.files.reports import TITLE


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
