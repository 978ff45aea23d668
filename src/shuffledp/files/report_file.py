"""Files of reports, one per row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The title of the only column.
TITLE = "report"


class ReportFile(ABC):
    """A file with one column, ``report``.

    Numbers are written as they are, all other reports as their bytes.

    Args:
        path: the file.
        dtype: the type of the reports.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.path, self.dtype = path, dtype

    @property
    def holds_numbers(self) -> bool:
        """Whether reports are written as numbers."""
        return self.dtype.kind in "iuf"

    @abstractmethod
    def write(self, chunks: Iterable[NDArray[Any]]) -> None:
        """Write all reports into a new file.

        Raises:
            OSError: if it cannot be written.
        """

    @abstractmethod
    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the reports, at most so many at a time.

        Raises:
            DataError: if the file cannot be read, or holds something else.
        """

    def _foreign(self, first: int, last: int) -> str:
        """Return the message that some rows are not reports of this type."""
        what = "numbers" if self.holds_numbers else f"{self.dtype.itemsize} bytes each"
        return (
            f"{str(self.path)!r}: among rows {first} to {last} are some that are not reports of "
            f"this mechanism: these are {what} of type {self.dtype}"
        )
