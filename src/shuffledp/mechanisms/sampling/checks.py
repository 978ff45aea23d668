"""Checks of the arrays that go into a randomizer or come out of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def bare_vector(name: str, values: object, kinds: str, what: str) -> NDArray[Any]:
    """Return a one-dimensional array without index, mask or names, of one of the given kinds.

    Lists, tuples, and the columns of pandas, polars and pyarrow are converted; these packages are
    not imported for that.

    >>> bare_vector("values", (2, 3), "iu", "integers").tolist()
    [2, 3]
    >>> bare_vector("values", {2, 3}, "iu", "integers")
    Traceback (most recent call last):
    ...
    ValueError: values must be one-dimensional (an array, list or column), got set
    """
    if isinstance(values, np.ndarray) and hasattr(values, "mask"):
        raise TypeError(f"{name} must be {what}, got a masked array: leave out what it hides")
    try:
        array = np.asarray(values)
    except ValueError:
        raise TypeError(
            f"{name} must be {what}, one per user, got rows of several lengths"
        ) from None
    if array.ndim != 1:
        got = f"shape {array.shape}" if array.ndim else type(values).__name__
        raise ValueError(f"{name} must be one-dimensional (an array, list or column), got {got}")
    if array.size and (array.dtype.kind not in kinds or array.dtype.hasobject):
        raise TypeError(f"{name} must be {what}, got entries of type {array.dtype}")
    return array


def check_vector(name: str, values: object, kinds: str, what: str) -> NDArray[Any]:
    """Return a bare one-dimensional array that is not empty."""
    array = bare_vector(name, values, kinds, what)
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one entry, got none")
    return array


def check_integers(name: str, values: object, largest: int) -> NDArray[np.int64]:
    """Return integers from 0 to ``largest``, which fits into 63 bits.

    >>> check_integers("values", [0, 3, 12], 9)
    Traceback (most recent call last):
    ...
    ValueError: values must be integers from 0 to 9, got 12 at position 2
    """
    what = f"integers from 0 to {largest}"
    array = check_vector(name, values, "iu", what)
    if array.min() < 0 or array.max() > largest:
        position = int(np.argmax((array < 0) | (array > largest)))
        raise ValueError(f"{name} must be {what}, got {array[position]} at position {position}")
    return array.astype(np.int64, copy=False)


def check_reals(name: str, values: object) -> NDArray[np.float64]:
    """Return real numbers from 0 to 1.

    >>> check_reals("values", [0.5, float("nan")])
    Traceback (most recent call last):
    ...
    ValueError: values must be real numbers from 0 to 1, got nan at position 1
    """
    what = "real numbers from 0 to 1"
    array = check_vector(name, values, "fiu", what).astype(np.float64, copy=False)
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        position = int(np.argmax(bad))
        raise ValueError(f"{name} must be {what}, got {array[position]} at position {position}")
    return array
