"""Reports, one per row of a file or of a partition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The title of the column that holds them.
TITLE = "report"


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
