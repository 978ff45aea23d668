"""Tables in CSV and Parquet files, read a few rows at a time; one table may be several files."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from shuffledp.basics.wording import counted, shorten
from shuffledp.deployment.files.columns import Cells
from shuffledp.deployment.files.parquet import cells_of, check_kinds, open_parquet
from shuffledp.deployment.files.problems import DataError, naming

#: The endings of the files that can be read and written.
SUFFIXES = (".csv", ".parquet")

_WILD = frozenset("*?[")
_MAX_NAME, _MAX_TITLES = 200, 1000  # characters in a message


def is_csv(path: Path) -> bool:
    """Whether a file is a CSV file, and not a Parquet file.

    Raises:
        DataError: if its ending says neither.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        known, given = " or ".join(SUFFIXES), shorten(str(path), _MAX_NAME)
        raise DataError(f"the file name must end in {known}, got {given!r}")
    return suffix == ".csv"


def table_in(path: Path, names: Sequence[str], *, booleans: bool = False) -> Table:
    """Return some columns of a file, whose ending says how it is read."""
    if is_csv(path):
        return CsvTable(path, names)
    return ParquetTable(path, names, booleans=booleans)


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
                known = shorten(", ".join(map(repr, self.titles)) or "none", _MAX_TITLES)
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


class CsvTable(Table):
    """A CSV file: UTF-8, commas, titles in its first line; its cells are text."""

    def _read_titles(self) -> list[str]:
        for titles in self._rows():
            return titles
        raise DataError(f"{str(self.path)!r} is empty: there is no line with titles")

    @property
    def max_rows(self) -> int:
        """A row has at least one character and the end of its line."""
        return self.path.stat().st_size // 2 + 1

    def _rows(self) -> Iterator[list[str]]:
        """Yield all rows, the titles first."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            try:
                yield from reader
            except csv.Error as error:
                place = f"{str(self.path)!r}, line {reader.line_num}"
                raise DataError(f"{place}: {error}") from None
            except UnicodeDecodeError:
                raise DataError(f"{str(self.path)!r} is not a CSV file in UTF-8") from None

    def chunks(self, rows: int) -> Iterator[list[Cells]]:
        """Yield the cells."""
        places = [self.titles.index(name) for name in self.names]
        done = 0
        with naming(self.path, "read"):
            source = islice(self._rows(), 1, None)
            while chunk := list(islice(source, rows)):
                self._check_widths(chunk, done + 1)
                yield [[row[place] for row in chunk] for place in places]
                done += len(chunk)

    def _check_widths(self, chunk: list[list[str]], first_row: int) -> None:
        width = len(self.titles)
        for number, row in enumerate(chunk, first_row):
            if len(row) != width:
                cells, titles = counted(len(row), "cell"), counted(width, "title")
                what = f"has {cells}, but the file has {titles}" if row else "is empty"
                raise DataError(f"{str(self.path)!r}: row {number} {what}")


class ParquetTable(Table):
    """A Parquet file; its columns must hold numbers or text, or booleans if these are allowed."""

    def __init__(self, path: Path, names: Sequence[str], *, booleans: bool = False) -> None:
        super().__init__(path, names)
        with open_parquet(path) as file:
            check_kinds(file.schema_arrow, names, repr(str(path)), booleans=booleans)

    def _read_titles(self) -> list[str]:
        with open_parquet(self.path) as file:
            return list(file.schema_arrow.names)

    @property
    def max_rows(self) -> int:
        """The number of its rows."""
        with open_parquet(self.path) as file:
            return int(file.metadata.num_rows)

    def chunks(self, rows: int) -> Iterator[list[Cells]]:
        """Yield numbers as arrays; text, and numbers with gaps, as lists."""
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(batch_size=rows, columns=list(set(self.names))):
                if batch.num_rows:
                    yield cells_of(batch, self.names)


def parts_of(source: Path) -> list[Path]:
    """Return the files of a table, in the order of their names.

    That is one file; all .csv and .parquet files of a folder; or those that a pattern such as
    ``answers/2025-*.parquet`` matches, if no file has it as its name. Files whose names start
    with a dot or an underscore are left out: Spark and others put such beside their data.

    Raises:
        DataError: if there is none, or one of them is there twice, under two names: its rows are
            users, who must be counted once.
    """
    with naming(source, "read"):
        if source.is_dir():
            found = source.iterdir()
        elif _is_pattern(source):
            found = (path for path in source.parent.iterdir() if path.match(source.name))
        else:
            return [source]
        parts = sorted(path for path in found if _is_part(path))
        if not parts:
            raise DataError(f"{str(source)!r} has no files that end in {' or '.join(SUFFIXES)}")
        known: dict[tuple[int, int], Path] = {}
        for part in parts:
            status = part.stat()
            first = known.setdefault((status.st_dev, status.st_ino), part)
            if first is not part:
                raise DataError(f"{str(first)!r} and {str(part)!r} are the same file")
    return parts


def would_join(source: Path, out: Path) -> bool:
    """Whether a file is one of those that a table is spread over, or would be if it existed.

    >>> would_join(Path("answers-*.csv"), Path("answers-shuffled.csv"))
    True
    >>> would_join(Path("answers-*.csv"), Path("reports.csv"))
    False
    """
    if source.is_dir():
        return out.parent.resolve() == source.resolve()
    is_beside = out.parent.resolve() == source.parent.resolve()
    return _is_pattern(source) and is_beside and _is_part(out) and out.match(source.name)


def _is_pattern(source: Path) -> bool:
    return bool(_WILD & set(source.name)) and not source.exists()


def _is_part(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith((".", "_"))
