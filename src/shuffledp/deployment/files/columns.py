"""The columns of a file that hold what users have to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.rounding import written
from shuffledp.basics.wording import counted, shorten
from shuffledp.collection.tallies import Candidates
from shuffledp.deployment.files.attributes import Attribute, Shape, arrange, leaves, shape_of
from shuffledp.deployment.files.problems import DataError
from shuffledp.mechanisms import LocalRandomizer

#: The cells of a column as they are read: text, numbers, or None for an empty one.
Cells = Sequence[object] | NDArray[Any]

_SHOWN = 5  # labels in a message
_MAX_ECHO = 60  # characters of a cell in a message
_MAX_EXACT = 2.0**53
_INTEGER = re.compile("[+-]?[0-9]+")
_LIST_LABELS = "if the column holds labels, list them with --values"


@dataclass(frozen=True)
class Column:
    """A column: its name and, if it holds categories, their labels.

    Attributes:
        name: its title in the file.
        labels: what stands for the values 0, 1, ...; None if the cells are these numbers.
    """

    name: str
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ColumnReader:
    """Turns the cells of a column into the numbers that a mechanism reads."""

    column: Column
    attribute: Attribute

    def __post_init__(self) -> None:
        """Refuse labels that do not fit the mechanism."""
        labels, name = self.column.labels, self.column.name
        sizes = [size for size in self.attribute.sizes if size is not None]
        reader = self.attribute.readers[0]
        if labels is None:
            if self.attribute.has_values and not sizes:
                raise ValueError(
                    f"the values of column {name!r} must be listed with --values, or {reader} be "
                    "given its domain_size: else nobody knows which frequencies to estimate"
                )
            return
        if not self.attribute.has_values:
            raise ValueError(
                f"column {name!r} must hold numbers for {reader}, so it takes no labels (--values)"
            )
        if len(set(labels)) < len(labels) or not all(labels):
            raise ValueError(f"the labels of column {name!r} must differ, and none be empty")
        if sizes and len(labels) != min(sizes):
            raise ValueError(
                f"the labels of column {name!r} must be as many as {reader} has values, "
                f"{min(sizes)}, got {len(labels)}"
            )

    @property
    def candidates(self) -> Sequence[int] | None:
        """The values to estimate, where a mechanism does not know its domain itself."""
        if None not in self.attribute.sizes or not self.attribute.has_values:
            return None
        known = [size for size in self.attribute.sizes if size is not None]
        return range(min(known) if known else len(self.column.labels or ()))

    @cached_property
    def _numbers(self) -> dict[object, int]:
        return {label: number for number, label in enumerate(self.column.labels or ())}

    def read(self, cells: Cells, first_row: int, file: str) -> NDArray[Any]:
        """Return the numbers that the cells stand for.

        Args:
            cells: those of some rows.
            first_row: the number of the first of these rows.
            file: the name of the file, for messages.

        Raises:
            DataError: if a cell is empty, not a number or label, or not in the domain.
        """
        try:
            return self._checked(cells)
        except (TypeError, ValueError, OverflowError):
            # Whatever is wrong: look for the first row it is wrong with.
            for row, cell in enumerate(np.asarray(cells, dtype=object).tolist(), first_row):
                problem = self._problem(cell)
                if problem is not None:
                    place = f"{file!r}, row {row}, column {self.column.name!r}"
                    raise DataError(f"{place}: {problem}") from None
            raise

    def _checked(self, cells: Cells) -> NDArray[Any]:
        values = self._convert(cells)
        self.attribute.check(values)
        return values

    def _convert(self, cells: Cells) -> NDArray[Any]:
        if self.column.labels is not None:
            texts = map(str, cells.tolist()) if isinstance(cells, np.ndarray) else cells
            return np.array([self._number(text) for text in texts], dtype=np.int64)
        if isinstance(cells, np.ndarray):
            if cells.dtype.kind in "iu" or self.attribute.is_real:
                return cells
            if ((np.floor(cells) == cells) & (np.abs(cells) < _MAX_EXACT)).all():
                return cells.astype(np.int64)
        if self.attribute.is_real:
            return np.array([_real(cell) for cell in cells], dtype=np.float64)
        return np.array([_whole(cell) for cell in cells], dtype=np.int64)

    def _number(self, label: object) -> int:
        number = self._numbers.get(label)
        if number is None:
            raise ValueError(f"{echo(label)} is not one of {listed(self.column.labels or ())}")
        return number

    def _problem(self, cell: object) -> str | None:
        """Say what is wrong with a cell, if anything."""
        if is_empty(cell):
            return "the cell is empty"
        shown = np.array([cell]) if isinstance(cell, int | float) else [cell]
        try:
            values = self._convert(shown)
        except OverflowError:
            return f"{echo(cell)} is outside the domain"
        except (TypeError, ValueError) as error:
            lacks_labels = self.attribute.has_values and self.column.labels is None
            return f"{error}; {_LIST_LABELS}" if lacks_labels else str(error)
        try:
            self.attribute.check(values)
        except (TypeError, ValueError) as error:
            return str(error).replace(" at position 0", "")
        return None


def readers_for(
    randomizer: LocalRandomizer, columns: Sequence[Column]
) -> tuple[Shape, list[ColumnReader]]:
    """Return the attributes of a mechanism, and one reader for each of the columns.

    Raises:
        TypeError: if a column is something else.
        ValueError: if there are more or fewer columns than attributes, or labels do not fit.
    """
    for column in columns:
        if not isinstance(column, Column):
            raise TypeError(
                f"columns must be of type Column, such as Column('page'), got {column!r}"
            )
    shape = shape_of(randomizer)
    attributes = list(leaves(shape))
    if len(columns) != len(attributes):
        raise ValueError(
            f"columns must be as many as {randomizer} reads, {len(attributes)}, got {len(columns)}"
        )
    return shape, [ColumnReader(*pair) for pair in zip(columns, attributes, strict=True)]


def candidates_of(shape: Shape, readers: Iterable[ColumnReader]) -> Candidates:
    """Return which values to estimate, arranged as the attributes, None for all."""
    found: Candidates = arrange(shape, (reader.candidates for reader in readers))
    return found


def _whole(cell: object) -> int:
    """Read a whole number; 3.0 counts as 3."""
    number = cell
    if isinstance(cell, str):
        try:
            number = int(cell) if _INTEGER.fullmatch(cell) else _real(cell)
        except ValueError:
            raise ValueError(f"{echo(cell)} is not a whole number") from None
    if isinstance(number, int):
        return number
    if isinstance(number, float) and number.is_integer() and abs(number) < _MAX_EXACT:
        return int(number)
    raise ValueError(f"{echo(cell)} is not a whole number")


def _real(cell: Any) -> float:
    try:
        return float(written(cell) if isinstance(cell, str) else cell)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{echo(cell)} is not a number") from None


def objects(cells: Cells) -> Sequence[object]:
    """Return cells as Python objects."""
    return cells.tolist() if isinstance(cells, np.ndarray) else cells


def is_empty(cell: object) -> bool:
    """Whether there is nothing in a cell."""
    return cell is None or cell == ""


def echo(cell: object) -> str:
    """Return a cell as messages show it."""
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return shorten(text, _MAX_ECHO)


def listed(labels: Sequence[str]) -> str:
    """Return labels as messages show them, the first few of many."""
    shown = ", ".join(map(echo, labels[:_SHOWN]))
    rest = len(labels) - _SHOWN
    return shown if rest <= 0 else f"{shown} and {counted(rest, 'other')}"
