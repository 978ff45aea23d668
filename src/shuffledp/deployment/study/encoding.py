"""From the cells of a column to the numbers that a mechanism reads."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.rounding import written
from shuffledp.deployment.files.columns import Cells, echo, listed, objects
from shuffledp.deployment.files.problems import DataError
from shuffledp.deployment.study.attribute import Attribute, label_text
from shuffledp.mechanisms import DiscreteLaplace, LocalRandomizer
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.support.support import SupportRandomizer

_INTEGER = re.compile("-?[0-9]+")

#: What stands for yes and no besides 1 and 0, in any case.
_ANSWERS = {"yes": 1, "no": 0, "true": 1, "false": 0, "1": 1, "0": 0}


@dataclass(frozen=True)
class Encoding:
    """How the answers about an attribute become integers.

    Labels become their numbers, a missing answer the number after the last. A number from low to
    high is rounded at random, without bias, to one of the two points around it on a grid of
    equidistant points from low to high, and becomes the number of that point.

    Attributes:
        attribute: the attribute.
        points: how many points the grid of a number has; 0 for labels.
    """

    attribute: Attribute
    points: int = 0

    @property
    def missing_code(self) -> int:
        """What a missing answer becomes."""
        return self.points or len(self.attribute.labels)

    def encode(self, cells: Cells, bits: Bits, first_row: int, source: str) -> IntArray:
        """Return the integers of some rows.

        Args:
            cells: texts, numbers or whatever a frame holds.
            bits: random bits, for rounding.
            first_row: the number of the first of these rows, for messages.
            source: what holds the rows, for messages.

        Raises:
            DataError: if a cell is missing though that is an error, or not in the domain.
        """
        if self.points:
            return self._round(self._numbers(cells, first_row, source), bits)
        codes = self._codes
        found = [codes.get(cell, -1) if isinstance(cell, str) else -1 for cell in objects(cells)]
        encoded = np.array(found, dtype=np.int64)
        for place in np.flatnonzero(encoded < 0).tolist():
            cell = objects(cells[place : place + 1])[0]
            encoded[place] = self._read(cell, f"{source}, row {first_row + place}")
        return encoded

    @cached_property
    def _codes(self) -> dict[object, int]:
        """What cells mean that are texts already."""
        return {label: code for code, label in enumerate(self.attribute.labels)}

    def _read(self, cell: object, place: str) -> int:
        if is_missing(cell):
            return self._missing(place)
        text = label_text(cell)
        if self.attribute.kind == "yes/no":
            code = _ANSWERS.get(text.strip().lower())
        else:
            code = self._codes.get(text, self._codes.get(_whole(text)))
        if code is None:
            known = listed(self.attribute.labels)
            raise DataError(f"{self._name(place)}: {echo(cell)} is not one of {known}")
        return code

    def _missing(self, place: str) -> int:
        if not self.attribute.may_miss:
            raise DataError(
                f"{self._name(place)}: the answer is missing, which the study calls an error"
            )
        return self.missing_code

    def _name(self, place: str) -> str:
        return f"{place}, column {self.attribute.name!r}"

    def _numbers(self, cells: Cells, first_row: int, source: str) -> FloatArray:
        """Return the numbers, NaN where one is missing."""
        attribute = self.attribute
        low, high = float(attribute.low or 0), float(attribute.high or 0)
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
            numbers = cells.astype(np.float64)
        else:
            numbers = np.array(
                [
                    self._number(cell, f"{source}, row {row}")
                    for row, cell in enumerate(objects(cells), first_row)
                ],
                dtype=np.float64,
            )
        gaps = np.isnan(numbers)
        if gaps.any() and not attribute.may_miss:
            self._missing(f"{source}, row {first_row + int(np.argmax(gaps))}")
        outside = ~gaps & ~((numbers >= low) & (numbers <= high))
        if outside.any():
            row = int(np.argmax(outside))
            raise DataError(
                f"{self._name(f'{source}, row {first_row + row}')}: {float(numbers[row])!r} is not "
                f"between {low!r} and {high!r}"
            )
        return numbers

    def _number(self, cell: object, place: str) -> float:
        if is_missing(cell):
            return math.nan
        try:
            number = float(written(cell) if isinstance(cell, str) else cell)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if isinstance(cell, bool | np.bool_) or math.isnan(number):
            raise DataError(f"{self._name(place)}: {echo(cell)} is not a number")
        return number

    def _round(self, numbers: FloatArray, bits: Bits) -> IntArray:
        """Round to the grid; up with the fractional part as probability, up to 2**-53."""
        low, high = float(self.attribute.low or 0), float(self.attribute.high or 0)
        known = ~np.isnan(numbers)
        place = np.where(known, (numbers - low) / (high - low), 0.0) * (self.points - 1)
        below = np.minimum(np.floor(place), self.points - 2)
        up = uniform(bits, numbers.size) < place - below
        codes: IntArray = below.astype(np.int64) + up
        return np.where(known, codes, self.missing_code)


def encoding_of(attribute: Attribute, part: LocalRandomizer) -> Encoding:
    """Return how answers become the integers that a mechanism reads.

    Raises:
        ValueError: if the mechanism does not fit the attribute.
    """
    spare = int(attribute.may_miss)
    if attribute.kind != "number":
        if isinstance(part, SupportRandomizer) and part.inputs == len(attribute.values):
            return Encoding(attribute)
        raise ValueError(
            f"{part} does not fit attribute {attribute.name!r} of {len(attribute.values)} values"
        )
    if isinstance(part, SupportRandomizer) and part.inputs is not None and part.inputs > 1 + spare:
        return Encoding(attribute, part.inputs - spare)
    if isinstance(part, DiscreteLaplace) and not spare:
        return Encoding(attribute, part.bound + 1)
    raise ValueError(f"{part} does not fit the number {attribute.name!r}")


def support_of(part: LocalRandomizer) -> SupportRandomizer:
    """Return a mechanism of which weighted sums of shares can be estimated.

    Raises:
        TypeError: if it is another one.
    """
    if not isinstance(part, SupportRandomizer):
        raise TypeError(f"weighted sums need a support mechanism such as krr, got {part}")
    return part


def is_missing(cell: object) -> bool:
    """Whether a cell holds no answer: None, NaN, pandas' NA and NaT, or an empty text.

    >>> [is_missing(cell) for cell in (None, float("nan"), " ", "no", 0)]
    [True, True, True, False, False]
    """
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, str):
        return not cell.strip()
    return isinstance(cell, float | np.floating) and math.isnan(cell)


def _whole(text: str) -> str | None:
    """Return 3 for 3.0, as tables with gaps write whole numbers."""
    head, point, rest = text.partition(".")
    return head if point and rest.strip("0") == "" and _INTEGER.fullmatch(head) else None


def uniform(bits: Bits, size: int) -> NDArray[np.float64]:
    """Return odd multiples of 2**-54 between 0 and 1, all alike; no guarantee rests on them."""
    return ((bits.words(size) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
