"""Types of arrays, the unit in which rounding is counted, and how NumPy treats exceptions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]

#: Unit round-off of IEEE double precision.
UNIT = 2.0**-53

P = ParamSpec("P")
R = TypeVar("R")


def usual_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function as NumPy does by default, whatever the caller asked of ``numpy.seterr``.

    What computes in doubles counts on underflow giving 0.

    >>> with np.errstate(all="raise"):
    ...     float(usual_errors(np.exp)(-800.0))
    0.0
    """

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*args, **kwargs)

    return guarded
