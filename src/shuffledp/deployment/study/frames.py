"""Frames of pandas and polars, neither of which is imported for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shuffledp.basics.wording import closest, did_you_mean
from shuffledp.deployment.files.columns import Cells
from shuffledp.deployment.study.attribute import Attribute, Missing, label_text
from shuffledp.deployment.study.encoding import is_missing

_MAX_LABELS = 100  # of a column that is taken for categories


def chunks(frame: Any, names: Sequence[str], rows: int) -> Iterator[list[Cells]]:
    """Yield the cells of each column of a frame, for at most so many rows at a time.

    Raises:
        TypeError: if it is no frame.
        ValueError: if it has no such column, or several of one name.
    """
    columns = columns_of(frame, names)
    for start in range(0, len(frame), rows):
        yield [_cells(column, start, start + rows) for column in columns]


def titles(frame: Any) -> list[str]:
    """Return the titles of all columns of a frame, as text.

    Raises:
        TypeError: if it is no frame.
    """
    if not all(hasattr(frame, name) for name in ("__len__", "__getitem__", "columns")):
        raise TypeError(f"frame must be a frame of pandas or polars, got {type(frame).__name__}")
    return [str(key) for key in frame.columns]


def columns_of(frame: Any, names: Sequence[str]) -> list[Any]:
    """Return columns of a frame by their titles.

    Raises:
        TypeError: if it is no frame.
        ValueError: if it has no such column, or several of one name.
    """
    known = titles(frame)
    for name in names:
        if known.count(name) != 1:
            twice = name in known
            problem = "two columns called" if twice else "no column"
            guess = "" if twice else did_you_mean(closest(str(name), known))
            raise ValueError(f"the frame has {problem} {name!r}{guess}")
    return [frame[frame.columns[known.index(name)]] for name in names]


def _cells(column: Any, start: int, end: int) -> Cells:
    """Return the cells of some rows, counted whatever the index of the frame says."""
    by_place = getattr(column, "iloc", column)
    cells: list[object] = by_place[start:end].to_list()
    return cells


def propose(name: str, column: Any, domain_from_data: bool) -> Attribute:
    """Return what a column of a frame seems to hold.

    Raises:
        ValueError: if its domain would have to be read from the data without consent.
    """
    if domain_from_data:
        return _seen(name, column)
    declared = _declared(column)
    if declared is not None:
        return Attribute.categories(name, declared, ordered=True, missing="category")
    if str(column.dtype).lower() in ("bool", "boolean", "bool[pyarrow]"):
        return Attribute.yes_no(name, missing="category")
    raise ValueError(
        f"the domain of column {name!r} would be read from what people answered, which can "
        "reveal a single person and which no guarantee covers: describe the column in "
        "attributes, or consent with domain_from_data=True"
    )


def _seen(name: str, column: Any) -> Attribute:
    """Return the attribute that the answers show."""
    cells = column.to_list()
    answers = [cell for cell in cells if not is_missing(cell)]
    missing: Missing = "category" if len(answers) < len(cells) else "error"
    categories = _categories(column)
    if categories is not None:
        ordered = bool(getattr(column.dtype, "ordered", True))
        return Attribute.categories(name, categories, ordered=ordered, missing=missing)
    if not answers:
        raise ValueError(f"column {name!r} has no answers, so nothing can be proposed for it")
    if all(isinstance(cell, bool | np.bool_) for cell in answers):
        return Attribute.yes_no(name, missing=missing)
    if all(map(_is_number, answers)):
        whole = all(float(cell).is_integer() for cell in answers)
        if not whole or len(set(answers)) > _MAX_LABELS:
            low, high = float(min(answers)), float(max(answers))
            return Attribute.number(name, low, high, missing=missing)
        labels = [label_text(float(cell)) for cell in sorted(set(answers))]
        return Attribute.categories(name, labels, ordered=True, missing=missing)
    return Attribute.categories(name, sorted({label_text(c) for c in answers}), missing=missing)


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool)


def _declared(column: Any) -> list[object] | None:
    """Return the categories of a type that has them from its declaration: an Enum of polars.

    Those of a categorical column of pandas usually come from the data.
    """
    return _categories(column) if type(column.dtype).__name__ == "Enum" else None


def _categories(column: Any) -> list[object] | None:
    """Return the categories of a categorical type, None for other types."""
    categories = getattr(column.dtype, "categories", None)
    named = type(column.dtype).__name__ in ("CategoricalDtype", "Enum")
    return list(categories) if named and categories is not None else None
