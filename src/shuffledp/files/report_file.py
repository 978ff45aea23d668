"""Files of reports, one per row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.files.reports import Reports


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
