"""Tables in files, read a few rows at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from shuffledp.files.columns import Cells
from shuffledp.files.problems import DataError, naming
from shuffledp.wording import shorten

_MAX_ECHO = 1000


class Table(ABC):
    """Some columns of a table in a file.

    Args:
        path: the file.
        names: the titles of the columns.

    Raises:
        DataError: if the file cannot be read, or lacks a column.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path, self.names = path, tuple(names)
        with naming(path, "read"):
            if not path.is_dir() and not path.is_file() and path.exists():
                raise DataError(
                    f"cannot read {str(path)!r}: it is not a file that can be read twice"
                )
            self.titles = self._read_titles()
        for name in names:
            count = self.titles.count(name)
            if count != 1:
                problem = f"{count} columns are called" if count else "there is no column"
                known = shorten(", ".join(map(repr, self.titles)) or "none", _MAX_ECHO)
                raise DataError(f"{str(path)!r}: {problem} {name!r}; its columns are {known}")

    @abstractmethod
    def _read_titles(self) -> list[str]:
        """Return the titles of all columns."""

    @property
    @abstractmethod
    def max_rows(self) -> int:
        """No fewer than the rows it has."""

    @abstractmethod
    def chunks(self, rows: int) -> Iterator[list[Cells]]:
        """Yield the cells of each column, for at most so many rows at a time.

        Raises:
            DataError: if the file turns out to be damaged.
        """
