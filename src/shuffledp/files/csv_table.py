"""Tables in CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice

from shuffledp.files.columns import Cells
from shuffledp.files.problems import DataError, naming
from shuffledp.files.table import Table
from shuffledp.wording import counted


class CsvTable(Table):
    """A CSV file: UTF-8, commas, titles in its first line."""

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
        """Yield cells as text."""
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
