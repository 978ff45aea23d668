"""Sums that an aggregator published, read from a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffledp.collection import Aggregator
from shuffledp.errors import check_users
from shuffledp.files.columns import Column
from shuffledp.files.problems import DataError, naming
from shuffledp.randomizers import LocalRandomizer, MatrixRandomizer
from shuffledp.randomizers.support import SupportRandomizer
from shuffledp.wording import shorten

_COUNTS, _SUM = {"value", "count", "n"}, {"sum", "n"}


@dataclass(frozen=True)
class Published:
    """What is left of the reports of n users.

    Attributes:
        n: number of reports.
        total: how many reports support each value; for noise their sum.
        labels: what the values are called, None if they are 0, 1, ...
    """

    n: int
    total: list[int] | float
    labels: tuple[str, ...] | None = None

    def column(self, randomizer: LocalRandomizer) -> Column:
        """Return the column that the estimates are about; a matrix counts outputs, not values."""
        if not isinstance(self.total, list):
            return Column("sum")
        return Column("counts", None if isinstance(randomizer, MatrixRandomizer) else self.labels)

    def added_up(self, randomizer: LocalRandomizer) -> Aggregator:
        """Return an aggregator that holds the sum.

        Raises:
            DataError: if it cannot be a sum of reports of this mechanism.
        """
        kinds = {"frequencies": "counts", "mean": "a sum"}
        given, wanted = "counts" if isinstance(self.total, list) else "a sum", randomizer.estimates
        if wanted is not None and kinds[wanted] != given:
            raise DataError(
                f"no sum of reports of {randomizer}: these add up to {kinds[wanted]}, got {given}"
            )
        candidates = None
        if isinstance(self.total, list) and isinstance(randomizer, SupportRandomizer):
            candidates = range(len(self.total)) if randomizer.inputs is None else None
        try:
            aggregator = Aggregator(randomizer, candidates=candidates)
            aggregator.add_sum(self.total, self.n)
        except (TypeError, ValueError) as error:
            raise DataError(f"no sum of reports of {randomizer}: {error}") from None
        return aggregator


def read_published(path: Path) -> Published:
    """Read n and counts, or n and a sum, from a JSON or CSV file.

    A JSON file holds one object, with ``n`` and either ``counts``, a list, or ``sum``, a number;
    ``values`` may name what is counted. A CSV file has the titles ``value,count,n``, n being the
    same in all rows, or ``sum,n`` and one row.

    Raises:
        DataError: if the file cannot be read, or holds something else.
    """
    readers = {".json": _from_json, ".csv": _from_csv}
    if path.suffix.lower() not in readers:
        raise DataError(f"{str(path)!r} must be a JSON or CSV file, by its name")
    with naming(path, "read"):
        raw = path.read_bytes()
    try:
        return readers[path.suffix.lower()](raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DataError(f"{str(path)!r} is not a file in UTF-8") from None
    except (ValueError, csv.Error, RecursionError) as error:
        raise DataError(f"{str(path)!r} holds no published sum: {error}") from None


def _from_json(text: str) -> Published:
    content = json.loads(text, parse_constant=_refuse_constant)
    if not isinstance(content, dict):
        raise ValueError(f"it must hold one object, got {shorten(repr(content), 60)}")
    known = {"n", "values", "counts", "sum"}
    if unknown := sorted(content.keys() - known):
        raise ValueError(f"it must have no fields but {', '.join(sorted(known))}, got {unknown[0]}")
    n = _users(content)
    if ("counts" in content) == ("sum" in content):
        raise ValueError("it must have one of counts and sum")
    if "sum" in content:
        if "values" in content:
            raise ValueError("values belong to counts, not to a sum")
        return Published(n, _number("sum", content["sum"]))
    counts = content["counts"]
    if not isinstance(counts, list) or not counts:
        raise ValueError(f"counts must be a list of numbers, got {shorten(repr(counts), 60)}")
    labels = content.get("values")
    if labels is not None:
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise ValueError(f"values must be a list of texts, got {shorten(repr(labels), 60)}")
        _check_labels(labels, len(counts))
    whole = [_whole("counts", count) for count in counts]
    return Published(n, whole, None if labels is None else tuple(labels))


def _from_csv(text: str) -> Published:
    rows = list(csv.reader(text.splitlines(), strict=True))
    if not rows or set(rows[0]) not in (_COUNTS, _SUM) or len(set(rows[0])) < len(rows[0]):
        raise ValueError("its titles must be value, count and n, or sum and n")
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("all rows must have as many cells as there are titles")
    cells = {title: [row[i] for row in rows[1:]] for i, title in enumerate(rows[0])}
    sizes = {_read("n", cell) for cell in cells["n"]}
    if len(sizes) != 1:
        raise ValueError(f"n must be the same in all rows, got {len(sizes)} numbers")
    n = _users({"n": sizes.pop()})
    if "sum" in cells:
        if len(cells["sum"]) != 1:
            raise ValueError(f"a sum must be in one row, got {len(cells['sum'])}")
        return Published(n, _number("sum", _read("sum", cells["sum"][0])))
    labels = cells["value"]
    _check_labels(labels, len(labels))
    whole = [_whole("count", _read("count", cell)) for cell in cells["count"]]
    return Published(n, whole, tuple(labels))


def _read(name: str, cell: str) -> int | float:
    try:
        return _number(name, json.loads(cell, parse_constant=_refuse_constant))
    except ValueError:
        raise ValueError(f"{name} must be a number, got {shorten(repr(cell), 60)}") from None


def _users(content: Mapping[str, Any]) -> int:
    return check_users(_whole("n", content.get("n")))


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} must be whole numbers, got {shorten(repr(value), 60)}")
    return value


def _number(name: str, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, got {shorten(repr(value), 60)}")
    return value


def _check_labels(labels: Sequence[str], size: int) -> None:
    if len(labels) != size:
        raise ValueError(f"values must be as many as counts, {size}, got {len(labels)}")
    if len(set(labels)) < len(labels) or not all(labels):
        raise ValueError("values must differ, and none be empty")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")
