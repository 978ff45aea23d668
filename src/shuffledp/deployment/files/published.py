"""Sums that an aggregator published, read from a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffledp.basics.errors import check_users
from shuffledp.basics.wording import counted, shorten
from shuffledp.collection import Aggregator
from shuffledp.deployment.files.columns import Column
from shuffledp.deployment.files.problems import DataError, naming
from shuffledp.mechanisms import Joint, LocalRandomizer, MatrixRandomizer
from shuffledp.mechanisms.support.support import SupportRandomizer

_COUNTS, _SUM = {"value", "count", "n"}, {"sum", "n"}


@dataclass(frozen=True)
class AttributeSum:
    """What is left of the reports about one attribute.

    Attributes:
        total: how many reports support each value; for noise their sum.
        labels: what the values are called, None if they are 0, 1, ...
        name: what the attribute is called, None if that is not said.
    """

    total: list[int] | float
    labels: tuple[str, ...] | None = None
    name: str | None = None

    @property
    def kind(self) -> str:
        """What it is called in a file."""
        return "counts" if isinstance(self.total, list) else "sum"

    def column(self, randomizer: LocalRandomizer, name: str) -> Column:
        """Return the column that the estimates are about; a matrix counts outputs, not values."""
        labels = None if isinstance(randomizer, MatrixRandomizer) else self.labels
        return Column(self.name or name, labels)

    def candidates(self, randomizer: LocalRandomizer) -> range | None:
        """Return the values to estimate, if the mechanism does not know them.

        Raises:
            DataError: if reports of the mechanism add up to something else.
        """
        kinds = {"frequencies": "counts", "mean": "sum"}
        wanted, words = randomizer.estimates, {"counts": "counts", "sum": "a sum"}
        if wanted is not None and kinds[wanted] != self.kind:
            raise DataError(
                f"no sum of reports of {randomizer}: these add up to {words[kinds[wanted]]}, got "
                f"{words[self.kind]}"
            )
        if isinstance(self.total, list) and isinstance(randomizer, SupportRandomizer):
            return range(len(self.total)) if randomizer.inputs is None else None
        return None


@dataclass(frozen=True)
class Published:
    """What is left of the reports of n users.

    Attributes:
        n: number of reports.
        attributes: one sum; for a joint composition one for each attribute, from left to right.
    """

    n: int
    attributes: tuple[AttributeSum, ...]

    @property
    def only(self) -> AttributeSum:
        """The sum of one attribute.

        Raises:
            DataError: if there are several.
        """
        if len(self.attributes) > 1:
            raise DataError(f"one attribute is needed, got {len(self.attributes)}")
        return self.attributes[0]

    def columns(self, randomizer: LocalRandomizer) -> list[Column]:
        """Return the columns that the estimates are about."""
        several = len(self.attributes) > 1
        return [
            one.column(part, f"attribute {place}" if several else one.kind)
            for place, (part, one) in enumerate(self._told(randomizer))
        ]

    def added_up(self, randomizer: LocalRandomizer) -> Aggregator:
        """Return an aggregator that holds the sum.

        Raises:
            DataError: if it cannot be a sum of reports of this mechanism.
        """
        candidates = [one.candidates(part) for part, one in self._told(randomizer)]
        totals = [one.total for one in self.attributes]
        try:
            aggregator = Aggregator(randomizer, candidates=_arrange(randomizer, iter(candidates)))
            aggregator.add_sum(_arrange(randomizer, iter(totals)), self.n)
        except (TypeError, ValueError) as error:
            raise DataError(f"no sum of reports of {randomizer}: {error}") from None
        return aggregator

    def _told(self, randomizer: LocalRandomizer) -> list[tuple[LocalRandomizer, AttributeSum]]:
        """Return what each attribute was reported by."""
        parts = attributes_of(randomizer)
        if len(parts) != len(self.attributes):
            raise DataError(
                f"no sum of reports of {randomizer}: it reports {counted(len(parts), 'attribute')},"
                f" got the sums of {len(self.attributes)}"
            )
        return list(zip(parts, self.attributes, strict=True))


def attributes_of(randomizer: LocalRandomizer) -> list[LocalRandomizer]:
    """Return the mechanisms that have a sum each, from left to right.

    >>> from shuffledp import parse
    >>> parts = attributes_of(parse("joint(krr(2, 1), joint(laplace(1), krr(3, 1)))"))
    >>> [part.name for part in parts]
    ['krr', 'laplace', 'krr']
    """
    if isinstance(randomizer, Joint):
        return [own for part in randomizer.parts for own in attributes_of(part)]
    return [randomizer]


def _arrange(randomizer: LocalRandomizer, entries: Iterator[Any]) -> Any:
    """Return one entry per attribute, nested as the mechanism is."""
    if isinstance(randomizer, Joint):
        return [_arrange(part, entries) for part in randomizer.parts]
    return next(entries)


def read_published(path: Path) -> Published:
    """Read n and counts, or n and a sum, from a JSON or CSV file.

    A JSON file holds one object, with ``n`` and either ``counts``, a list, or ``sum``, a number;
    ``values`` may name what is counted. The sums of several attributes are a list ``attributes`` of
    such objects, each without ``n`` and with a ``name`` if it has one. A CSV file has the titles
    ``value,count,n``, n being the same in all rows, or ``sum,n`` and one row.

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
    if "attributes" not in content:
        return Published(_users(content), (_attribute(content, {"n"}),))
    _check_fields(content, {"n", "attributes"})
    entries = content["attributes"]
    if (
        not isinstance(entries, list)
        or not entries
        or not all(isinstance(e, dict) for e in entries)
    ):
        raise ValueError(f"attributes must be a list of objects, got {shorten(repr(entries), 60)}")
    found = []
    for place, entry in enumerate(entries):
        try:
            found.append(_attribute(entry, {"name"}))
        except ValueError as error:
            raise ValueError(f"attribute {place}: {error}") from None
    return Published(_users(content), tuple(found))


def _check_fields(content: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(content.keys() - known):
        raise ValueError(f"it must have no fields but {', '.join(sorted(known))}, got {unknown[0]}")


def _attribute(content: Mapping[str, Any], more: set[str]) -> AttributeSum:
    """Read counts or a sum, beside some other fields."""
    _check_fields(content, {"values", "counts", "sum"} | more)
    name = content.get("name")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"name must be a text, got {shorten(repr(name), 60)}")
    if ("counts" in content) == ("sum" in content):
        raise ValueError("it must have one of counts and sum")
    if "sum" in content:
        if "values" in content:
            raise ValueError("values belong to counts, not to a sum")
        return AttributeSum(_number("sum", content["sum"]), name=name)
    counts = content["counts"]
    if not isinstance(counts, list) or not counts:
        raise ValueError(f"counts must be a list of numbers, got {shorten(repr(counts), 60)}")
    labels = content.get("values")
    if labels is not None:
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise ValueError(f"values must be a list of texts, got {shorten(repr(labels), 60)}")
        _check_labels(labels, len(counts))
    whole = [_whole("counts", count) for count in counts]
    return AttributeSum(whole, None if labels is None else tuple(labels), name)


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
        return Published(n, (AttributeSum(_number("sum", _read("sum", cells["sum"][0]))),))
    labels = cells["value"]
    _check_labels(labels, len(labels))
    whole = [_whole("count", _read("count", cell)) for cell in cells["count"]]
    return Published(n, (AttributeSum(whole, tuple(labels)),))


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
