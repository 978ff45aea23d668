"""A study: what is asked, of how many people, and how private it must be."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from shuffledp.basics.errors import check_epsilon, check_probability, check_types, check_users
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import closest, did_you_mean
from shuffledp.deployment.study.attribute import Attribute
from shuffledp.deployment.study.frames import columns_of, propose, titles

_FIELDS = ("n", "epsilon", "delta", "attributes", "crosses")
_ATTRIBUTE_FIELDS = {
    "categories": ("name", "kind", "labels", "size", "ordered", "missing", "weight", "expected"),
    "yes/no": ("name", "kind", "missing", "weight", "expected"),
    "number": ("name", "kind", "low", "high", "missing", "weight", "expected"),
}
_MAX_ATTRIBUTES = 64  # of one study
_MAX_CELLS = 2**20  # of a cross table


@dataclass(frozen=True)
class Study:
    """Several attributes of n people, and the privacy of all of them together.

    Attributes:
        attributes: what is asked.
        n: how many people are expected; all of them count, those who do not answer included.
        epsilon: what all reports together may reveal.
        delta: with which failure probability.
        crosses: names of two or more attributes whose cross tables are wanted.

    >>> study = Study(
    ...     (Attribute.yes_no("member"), Attribute.number("age", 18, 98)),
    ...     n=10_000,
    ...     epsilon=0.5,
    ...     delta=1e-8,
    ... )
    >>> study["age"].high
    98.0
    """

    attributes: tuple[Attribute, ...]
    n: int
    epsilon: float
    delta: float
    crosses: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Check everything."""
        attributes = _all_different(self.attributes)
        if not 1 <= len(attributes) <= _MAX_ATTRIBUTES:
            raise ValueError(
                f"a study has 1 to {_MAX_ATTRIBUTES} attributes, got {len(attributes)}"
            )
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "n", check_users(self.n))
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon, "epsilon"))
        if self.epsilon == 0:
            raise ValueError("epsilon must be above 0: with 0 no report may depend on an answer")
        object.__setattr__(self, "delta", check_probability("delta", self.delta))
        if self.delta * self.n >= 1:
            raise ValueError(
                f"delta must be below 1/n, got {plain(self.delta)} with n = {self.n}: publishing "
                "the answers of one person in n would be allowed"
            )
        object.__setattr__(self, "crosses", tuple(self._cross(pair) for pair in self.crosses))
        if len({frozenset(names) for names in self.crosses}) < len(self.crosses):
            raise ValueError("crosses must be of different attributes")

    def __getitem__(self, name: str) -> Attribute:
        """Return the attribute of this name.

        Raises:
            KeyError: if there is none.
        """
        return self.attributes[self.place(name)]

    def place(self, name: str) -> int:
        """Return the number of an attribute."""
        for place, attribute in enumerate(self.attributes):
            if attribute.name == name:
                return place
        raise KeyError(self._unknown(name))

    def _unknown(self, name: object) -> str:
        names = [attribute.name for attribute in self.attributes]
        guess = did_you_mean(closest(str(name), names))
        return f"there is no attribute {name!r} in this study{guess or ': ' + ', '.join(names)}"

    def _cross(self, wanted: object) -> tuple[str, ...]:
        names = tuple(wanted) if isinstance(wanted, list | tuple) else ()
        if len(names) < 2 or any(names.count(name) > 1 for name in names):
            raise ValueError(
                f"a cross table needs the names of two or more attributes, got {wanted!r}"
            )
        cells = 1
        for name in names:
            try:
                attribute = self[name]
            except KeyError as error:
                raise ValueError(f"crosses: {error.args[0]}") from None
            if attribute.kind == "number":
                raise ValueError(
                    f"crosses: {name!r} is a number; make it ordered categories, such as ranges, "
                    "to have its cross tables"
                )
            cells *= len(attribute.values)
        if cells > _MAX_CELLS:
            raise ValueError(
                f"crosses: a table of {' x '.join(names)} has {cells:,} cells, more than "
                f"{_MAX_CELLS:,}"
            )
        return names

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Study:
        """Read a study from a file, TOML or, if its name ends in .json, JSON.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if it is no study; the message says why.
        """
        file = Path(path)
        raw = file.read_bytes()
        try:
            text = raw.decode("utf-8-sig")
            is_json = file.suffix.lower() == ".json"
            return cls.from_dict(json.loads(text) if is_json else tomllib.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{str(path)!r} is not a study: {error}") from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Study:
        """Return the study that the content of a file describes.

        >>> Study.from_dict(
        ...     {
        ...         "n": 1000,
        ...         "epsilon": 1.0,
        ...         "delta": 1e-6,
        ...         "attributes": [{"name": "room", "kind": "categories", "size": 3}],
        ...     }
        ... ).attributes[0].labels
        ('0', '1', '2')
        """
        _check_fields("a study", content, _FIELDS, ("n", "epsilon", "delta", "attributes"))
        entries = content["attributes"]
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
            raise ValueError("attributes must be a list of tables, [[attributes]] in TOML")
        crosses = content.get("crosses", [])
        if not isinstance(crosses, list):
            raise ValueError(f"crosses must be a list of lists of names, got {crosses!r}")
        attributes = tuple(_attribute(entry) for entry in entries)
        return cls(attributes, content["n"], content["epsilon"], content["delta"], tuple(crosses))

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a file, which :meth:`from_dict` reads back."""
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "attributes": [_entry(attribute) for attribute in self.attributes],
            "crosses": [list(pair) for pair in self.crosses],
        }

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        epsilon: float,
        delta: float,
        attributes: Iterable[Attribute] = (),
        columns: Iterable[str] | None = None,
        crosses: Iterable[tuple[str, ...]] = (),
        domain_from_data: bool = False,
    ) -> Study:
        """Propose a study for the rows of a frame of pandas or polars.

        Columns of booleans are yes/no, and an Enum of polars declares its categories. All other
        domains would be read from what people answered, those of a categorical column of pandas
        included: which labels occur, how large a number is, or whether an answer is missing, can
        reveal a single person, and no guarantee covers it. That needs consent.

        Args:
            frame: a frame with one row per person.
            epsilon: what all reports together may reveal.
            delta: with which failure probability.
            attributes: those that are described already.
            columns: which columns are asked; None for all.
            crosses: names of two or more columns whose cross tables are wanted.
            domain_from_data: consent that labels and ranges are read from the data.

        Raises:
            ValueError: if a domain is not known and there is no consent, or a column is unknown.
        """
        if isinstance(columns, str):
            raise TypeError(f"columns must be a list of titles, got {columns!r}")
        described = {attribute.name: attribute for attribute in _all_different(attributes)}
        wanted = titles(frame) if columns is None else columns
        names = list(dict.fromkeys((*wanted, *described)))
        made = tuple(
            described.get(name) or propose(name, column, domain_from_data)
            for name, column in zip(names, columns_of(frame, names), strict=True)
        )
        return cls(made, len(frame), epsilon, delta, tuple(crosses))


def _all_different(attributes: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Return attributes with different names.

    Raises:
        TypeError: if something else is among them.
        ValueError: if two have the same name.
    """
    found = check_types("attributes", attributes, Attribute)
    names = [attribute.name for attribute in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two attributes are called {name!r}")
    return found


def _attribute(entry: Mapping[str, Any]) -> Attribute:
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in _ATTRIBUTE_FIELDS:
        known = ", ".join(map(repr, _ATTRIBUTE_FIELDS))
        name = entry.get("name", "without a name")
        raise ValueError(f"attribute {name!r}: kind must be one of {known}, got {kind!r}")
    _check_fields(f"attribute {entry.get('name')!r}", entry, _ATTRIBUTE_FIELDS[kind], ("name",))
    common = {key: entry[key] for key in ("missing", "weight", "expected") if key in entry}
    if kind == "number":
        low, high = entry.get("low"), entry.get("high")
        return Attribute(entry["name"], "number", low=low, high=high, **common)
    if kind == "yes/no":
        return Attribute.yes_no(entry["name"], **common)
    if ("labels" in entry) == ("size" in entry):
        raise ValueError(f"attribute {entry['name']!r}: categories need either labels or size")
    labels = entry.get("labels")
    if labels is None:
        size = entry["size"]
        if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= 2**16:
            raise ValueError(
                f"attribute {entry['name']!r}: size must be a whole number from 2 to 65536, got "
                f"{size!r}"
            )
        labels = range(size)
    ordered = entry.get("ordered", False)
    return Attribute.categories(entry["name"], labels, ordered=ordered, **common)


def _entry(attribute: Attribute) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind}
    if attribute.kind == "number":
        fields |= {"low": attribute.low, "high": attribute.high}
    elif attribute.kind == "categories":
        fields |= {"labels": list(attribute.labels), "ordered": attribute.ordered}
    fields |= {"missing": attribute.missing, "weight": attribute.weight}
    return fields if attribute.expected is None else fields | {"expected": list(attribute.expected)}


def _check_fields(
    what: str, content: object, known: tuple[str, ...], needed: tuple[str, ...]
) -> None:
    if not isinstance(content, Mapping):
        raise ValueError(f"{what} must be a table of fields, got {type(content).__name__}")
    for field in content:
        if field not in known:
            guess = did_you_mean(closest(str(field), known))
            raise ValueError(f"{what} has no field {field!r}{guess or ': ' + ', '.join(known)}")
    for field in needed:
        if field not in content:
            raise ValueError(f"{what} needs the field {field!r}")
