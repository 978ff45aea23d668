"""Exceptions, warnings and the argument checks every layer uses.

Bad arguments raise ``ValueError`` or ``TypeError`` naming the argument, its value and what is
allowed. Questions that have no answer raise :class:`NoAnswerError`. Two certified statements that
cannot both be true raise :class:`ContradictionError`, which nothing in this package catches.
"""

from __future__ import annotations

import numbers
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from shuffledp.basics.wording import shorten

#: Largest number of users: every integer up to here is an exact double.
MAX_USERS = 2**53

#: Largest size of a domain, for the same reason.
MAX_SIZE = 2**53

#: Range of LDP levels: beyond it the ratios of probabilities, or their logarithms, lose meaning.
MIN_EPSILON0, MAX_EPSILON0 = 1e-12, 300.0

#: Largest number of rounds, and of their epsilon: a thousand millions, 300 in each.
MAX_ROUNDS, MAX_TOTAL_EPSILON = 10**9, 1e12

_MAX_ECHO = 60

T = TypeVar("T")


class NoAnswerError(ArithmeticError):
    """The question is well posed but nothing satisfies it, or double precision cannot tell."""


class ContradictionError(Exception):
    """Two certified statements about one number exclude each other: a bug in this package.

    It is no ``ArithmeticError`` and no ``ValueError``, so that code that expects such errors does
    not take it for one of them. Please report it.
    """


class ClaimError(Exception):
    """What a class of one's own states of a mechanism is found to be false.

    Nothing is answered then. It is no ``ValueError``, so that no search for parameters takes it for
    one that does not fit. That nothing is found proves nothing.
    """


class AccuracyWarning(UserWarning):
    """A certified enclosure is valid but wider than the requested ``rtol``."""


_PACKAGE = str(Path(__file__).parents[1]) + os.sep

#: Where this thread notes that enclosures are wide instead of warning; None if it warns.
_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn about the line that called this package, however deep inside it is noticed."""
    notes = _notes.get()
    if notes is not None and issubclass(category, AccuracyWarning):
        notes.append(message)
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def wide_is_enough() -> Iterator[list[str]]:
    """Do not warn about wide enclosures, whose safe ends are valid; give a list of what is said.

    The filters of :mod:`warnings` are those of all threads, so that one would hear of the
    enclosures of another. This list belongs to the thread that asked for it.

    >>> with wide_is_enough() as said:
    ...     warn_caller("the enclosure is wide", AccuracyWarning)
    >>> said
    ['the enclosure is wide']
    """
    said: list[str] = []
    before = _notes.set(said)
    try:
        yield said
    finally:
        _notes.reset(before)


def check_type(name: str, value: object, kind: type[T]) -> T:
    """Return an object of a type.

    >>> check_type("study", 3, str)
    Traceback (most recent call last):
    ...
    TypeError: study must be of the type str, got 3
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be of the type {kind.__name__}, got {_shorten(value)}")
    return value


def check_several(name: str, values: object, what: str) -> Iterable[Any]:
    """Return what can be gone through; a text is not taken for its characters.

    >>> check_several("names", "Ada", "texts")
    Traceback (most recent call last):
    ...
    TypeError: names must be several texts, got 'Ada'
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be several {what}, got {_shorten(values)}")
    return values


def check_types(name: str, values: object, kind: type[T]) -> tuple[T, ...]:
    """Return several objects of a type."""
    what = f"of the type {kind.__name__}"
    found = tuple(check_several(name, values, what))
    if not all(isinstance(value, kind) for value in found):
        raise TypeError(f"{name} must be several {what}, got {_shorten(values)}")
    return found


def check_exact(name: str, value: object) -> Fraction:
    """Return a finite real number exactly, whatever its type.

    >>> check_exact("rate", 0.5), check_exact("rate", Fraction(1, 3))
    (Fraction(1, 2), Fraction(1, 3))
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {_shorten(value)}")
    try:
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        ratio = getattr(value, "as_integer_ratio", None)  # of all kinds of numpy
        return Fraction(float(value)) if ratio is None else Fraction(*ratio())
    except (OverflowError, ValueError):  # infinite or NaN
        raise ValueError(f"{name} must be finite, got {_shorten(value)}") from None


def check_real(name: str, value: object) -> float:
    """Return ``value`` as the double it is; reject what is not finite, and what is no double.

    Nothing is rounded: neither side is safe for all questions that are asked with a number.

    >>> check_real("rate", Fraction(1, 4))
    0.25
    >>> check_real("rate", Fraction(1, 3))
    Traceback (most recent call last):
    ...
    ValueError: rate must be a double, 0.3333333333333333 is the nearest, got Fraction(1, 3)
    """
    exact = check_exact(name, value)
    try:
        number = float(exact)
    except OverflowError:
        raise ValueError(f"{name} must be finite, got {_shorten(value)}") from None
    if exact != number or value != number:
        raise ValueError(
            f"{name} must be a double, {number!r} is the nearest, got {_shorten(value)}"
        )
    return number


def _shorten(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        return "a huge integer"
    return shorten(text, _MAX_ECHO)


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a float > 0."""
    number = check_real(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be greater than 0, got {_shorten(value)}")
    return number


def check_integer(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` as an int between ``minimum`` and ``maximum``; 3.0 counts as 3."""
    allowed = f"an integer of at least {minimum}" + (
        "" if maximum is None else f" and at most {maximum}"
    )
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {allowed}, got {_shorten(value)}")
    try:
        exact = check_exact(name, value)
    except ValueError:  # infinite or NaN
        exact = Fraction(minimum - 1)
    number = exact.numerator if exact.denominator == 1 else minimum - 1
    if number < minimum or (maximum is not None and number > maximum):
        raise ValueError(f"{name} must be {allowed}, got {_shorten(value)}")
    return number


def check_epsilon0(value: object, name: str = "epsilon0") -> float:
    """Return an LDP level between 1e-12 and 300."""
    number = check_real(name, value)
    if not MIN_EPSILON0 <= number <= MAX_EPSILON0:
        raise ValueError(
            f"{name} must be between {MIN_EPSILON0:g} and {MAX_EPSILON0:g}, got {_shorten(value)}"
        )
    return number


def check_size(name: str, value: object) -> int:
    """Return the size of a finite set, from 2 to 2**53."""
    return check_integer(name, value, 2, MAX_SIZE)


def check_users(value: object, name: str = "n") -> int:
    """Return a number of users in [1, 2**53]."""
    return check_integer(name, value, 1, MAX_USERS)


def check_probability(name: str, value: object) -> float:
    """Return a probability strictly between 0 and 1."""
    number = check_real(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be strictly between 0 and 1, got {_shorten(value)}")
    return number


def check_delta(value: object, name: str = "target_delta") -> float:
    """Return a delta in [0, 1]."""
    number = check_real(name, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {_shorten(value)}")
    return number


def check_epsilon(value: object, name: str = "target_epsilon") -> float:
    """Return an epsilon between 0 and 300."""
    number = check_real(name, value)
    if not 0 <= number <= MAX_EPSILON0:
        raise ValueError(f"{name} must be between 0 and {MAX_EPSILON0:g}, got {_shorten(value)}")
    return number


def check_total_epsilon(value: object, name: str = "target_epsilon") -> float:
    """Return an epsilon of several rounds, between 0 and 1e12."""
    number = check_real(name, value)
    if not 0 <= number <= MAX_TOTAL_EPSILON:
        raise ValueError(
            f"{name} must be between 0 and {MAX_TOTAL_EPSILON:g}, got {_shorten(value)}"
        )
    return number


def check_rounds(value: object, name: str) -> int:
    """Return a number of rounds in [1, 1e9]."""
    return check_integer(name, value, 1, MAX_ROUNDS)


def check_rtol(value: object, name: str = "rtol") -> float:
    """Return a relative tolerance in [1e-10, 0.5]."""
    number = check_real(name, value)
    if not 1e-10 <= number <= 0.5:
        raise ValueError(f"{name} must be between 1e-10 and 0.5, got {_shorten(value)}")
    return number
