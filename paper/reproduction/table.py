"""Rows and columns of numbers and words: the form in which every result is kept."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

#: What one field of a table holds; None where there is no answer.
Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A table that survives a round trip through its CSV text.

    Words must not read as numbers, for then they come back as such.

    >>> table = Table(("n", "epsilon", "note"), ((1000, 0.1, None), (2000, None, "none, sadly")))
    >>> print(table.to_csv(), end="")
    n,epsilon,note
    1000,0.1,
    2000,,"none, sadly"
    >>> Table.from_csv(table.to_csv()) == table
    True

    Raises:
        ValueError: if a row does not have one cell per column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        """Check that all rows are complete."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row must have {len(self.columns)} cells, got {row!r}")

    def to_csv(self) -> str:
        """Return the header and one line per row, with all digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    @classmethod
    def from_csv(cls, text: str) -> Table:
        """Read what :meth:`to_csv` wrote."""
        header, *rows = csv.reader(io.StringIO(text))
        return cls(tuple(header), tuple(tuple(map(_read, row)) for row in rows))

    def column(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of one column."""
        index = self.columns.index(name)
        return tuple(row[index] for row in self.rows)


def number(cell: Cell) -> float:
    """Return the number in a cell.

    Raises:
        ValueError: if there is none.
    """
    if not isinstance(cell, int | float):
        raise ValueError(f"a number is expected, got {cell!r}")
    return float(cell)


def _read(text: str) -> Cell:
    if text == "":
        return None
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
