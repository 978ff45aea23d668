"""What is asked of every person: one attribute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, get_args

from shuffledp.basics.errors import check_positive, check_real
from shuffledp.basics.wording import counted, shorten
from shuffledp.planning.distribution import check_distribution

#: What answers are: one of several labels, yes or no, or a number.
Kind = Literal["categories", "yes/no", "number"]

#: What becomes of a missing answer: a category of its own, left out of the estimate, or an error.
Missing = Literal["category", "leave out", "error"]

#: The label of missing answers.
MISSING_LABEL = "(missing)"

_YES_NO = ("no", "yes")
_MAX_LABELS = 2**16  # two bytes of a report
_MAX_ECHO = 60
_FEWEST = 1e-6  # answers that are expected, where what is estimated is about people who answer


@dataclass(frozen=True)
class Attribute:
    """One attribute of every person.

    Missing answers are never dropped before the shuffle: how many there are, and so whether one
    person answered, would be public. Unless they are an error, "no answer" is one more value of the
    report. With "category" shares are those among all people; with "leave out" those among people
    who answered. The mean of numbers is always one of those who answered.

    Attributes:
        name: the title of its column.
        kind: "categories", "yes/no" or "number".
        labels: the categories.
        ordered: whether the categories are in order, so that they have quantiles.
        low: the smallest number.
        high: the largest number.
        missing: "category", "leave out" or "error".
        weight: how much its squared error counts.
        expected: the shares that are expected of all values of a report, the missing answer last;
            of a number those of equidistant values from low to high. Only predictions of errors
            use them. None: all labels, or numbers, alike, and nobody missing unless that is a
            category.

    Use :meth:`categories`, :meth:`yes_no` and :meth:`number` to make one.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...] = ()
    ordered: bool = False
    low: float | None = None
    high: float | None = None
    missing: Missing = "error"
    weight: float = 1.0
    expected: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check everything."""
        name: object = self.name
        if not isinstance(name, str) or not name:
            raise ValueError(f"the name of an attribute must be a text, got {self.name!r}")
        self._check_choice("kind", self.kind, get_args(Kind))
        self._check_choice("missing", self.missing, get_args(Missing))
        if not isinstance(self.ordered, bool):
            raise ValueError(f"{self._place}: ordered must be true or false, got {self.ordered!r}")
        object.__setattr__(self, "weight", check_positive(f"{self._place}: weight", self.weight))
        if self.kind == "number":
            self._check_number()
        else:
            self._check_labels()
        if self.expected is not None:
            object.__setattr__(self, "expected", self._checked_shares(self.expected))

    @classmethod
    def categories(
        cls,
        name: str,
        labels: Iterable[object],
        *,
        ordered: bool = False,
        missing: Missing = "error",
        weight: float = 1.0,
        expected: Sequence[float] | None = None,
    ) -> Attribute:
        """Return an attribute with labels; whole numbers count as their text.

        >>> Attribute.categories("size", ["S", "M", "L"], ordered=True).values
        ('S', 'M', 'L')
        """
        if isinstance(labels, str | Mapping) or not isinstance(labels, Iterable):
            raise ValueError(f"attribute {name!r}: labels must be several, got {labels!r}")
        given = tuple(labels)
        for label in given:
            several = isinstance(label, Iterable) and not isinstance(label, str)
            unknown = isinstance(label, float) and not math.isfinite(label)
            if several or unknown or label is None:
                raise ValueError(
                    f"attribute {name!r}: a label must be a text or a number, got {label!r}"
                )
        texts = tuple(map(label_text, given))
        return cls(
            name,
            "categories",
            texts,
            ordered,
            missing=missing,
            weight=weight,
            expected=expected,
        )

    @classmethod
    def yes_no(
        cls,
        name: str,
        *,
        missing: Missing = "error",
        weight: float = 1.0,
        expected: Sequence[float] | None = None,
    ) -> Attribute:
        """Return an attribute that is yes or no.

        >>> Attribute.yes_no("member", missing="category").values
        ('no', 'yes', '(missing)')
        """
        return cls(name, "yes/no", _YES_NO, missing=missing, weight=weight, expected=expected)

    @classmethod
    def number(
        cls,
        name: str,
        low: float,
        high: float,
        *,
        missing: Missing = "error",
        weight: float = 1.0,
        expected: Sequence[float] | None = None,
    ) -> Attribute:
        """Return an attribute that is a number from ``low`` to ``high``, whose mean is wanted.

        >>> Attribute.number("age", 18, 98, expected=[0.2, 0.3, 0.3, 0.1, 0.1]).expected
        (0.2, 0.3, 0.3, 0.1, 0.1)
        """
        return cls(
            name, "number", low=low, high=high, missing=missing, weight=weight, expected=expected
        )

    @property
    def may_miss(self) -> bool:
        """Whether "no answer" is a value of the report."""
        return self.missing != "error"

    @property
    def values(self) -> tuple[str, ...]:
        """The labels of all values of a report, the missing answer last; none for numbers."""
        if self.kind == "number":
            return ()
        return (*self.labels, MISSING_LABEL) if self.may_miss else self.labels

    @property
    def counted(self) -> tuple[str, ...]:
        """The values that shares belong to, the missing answer unless it is left out."""
        return self.labels if self.missing == "leave out" else self.values

    @property
    def is_among_answers(self) -> bool:
        """Whether what is estimated is about people who answered, and others may be missing."""
        return self.missing == "leave out" or (self.kind == "number" and self.may_miss)

    @property
    def _place(self) -> str:
        return f"attribute {shorten(self.name, _MAX_ECHO)!r}"

    def _check_choice(self, what: str, value: object, known: tuple[str, ...]) -> None:
        if value not in known:
            choices = ", ".join(map(repr, known))
            raise ValueError(f"{self._place}: {what} must be one of {choices}, got {value!r}")

    def _check_number(self) -> None:
        if self.labels or self.ordered:
            raise ValueError(f"{self._place}: a number has no labels and no order of them")
        if self.low is None or self.high is None:
            raise ValueError(f"{self._place}: a number needs low and high")
        low = check_real(f"{self._place}: low", self.low)
        high = check_real(f"{self._place}: high", self.high)
        if not 0 < high - low < float("inf"):
            raise ValueError(
                f"{self._place}: low must be below high, and their distance finite, got "
                f"{low!r} and {high!r}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def _check_labels(self) -> None:
        if self.low is not None or self.high is not None:
            raise ValueError(f"{self._place}: only a number has low and high")
        if self.kind == "yes/no":
            if self.labels != _YES_NO or self.ordered:
                raise ValueError(f"{self._place}: yes/no has no labels of its own and no order")
            return
        if not 2 <= len(self.labels) <= _MAX_LABELS:
            raise ValueError(
                f"{self._place}: labels must be 2 to {_MAX_LABELS}, got {len(self.labels)}"
            )
        if not all(map(str.strip, self.labels)):
            raise ValueError(f"{self._place}: no label may be empty: that is a missing answer")
        if len(set(self.labels)) < len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise ValueError(f"{self._place}: the label {twice!r} is there twice")
        if self.may_miss and MISSING_LABEL in self.labels:
            raise ValueError(
                f"{self._place}: {MISSING_LABEL!r} stands for missing answers, no label may be it"
            )

    def _checked_shares(self, shares: object) -> tuple[float, ...]:
        """Return the expected shares; the sum, and that none is negative, is checked as well."""
        what = f"{self._place}: expected"
        if isinstance(shares, str | Mapping | Set) or not isinstance(shares, Iterable):
            raise ValueError(f"{what} must be a list of shares, got {shares!r}")
        given, spare = tuple(shares), int(self.may_miss)
        if self.kind == "number":
            if not 2 + spare <= len(given) <= _MAX_LABELS + spare:
                more = " and one of missing answers" if spare else ""
                raise ValueError(
                    f"{what} must hold shares of 2 to {_MAX_LABELS} equidistant values from low to "
                    f"high{more}, got {counted(len(given), 'share')}"
                )
        elif len(given) != len(self.values):
            raise ValueError(
                f"{what} must hold one share for each of the {len(self.values)} values, from "
                f"{self.values[0]!r} to {self.values[-1]!r}, got {counted(len(given), 'share')}"
            )
        try:
            checked = check_distribution(given, len(given), name=what)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if self.is_among_answers and not math.fsum(checked[:-1]) >= _FEWEST:
            raise ValueError(
                f"{what} must have at least {_FEWEST:g} of answers: the estimate is about people "
                "who answer"
            )
        return checked


def label_text(cell: object) -> str:
    """Return the text of a label or cell: whole numbers without a decimal point.

    >>> label_text(3.0), label_text("north"), label_text(True)
    ('3', 'north', 'True')
    """
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
