"""Elementary functions whose last bit is another one, as on a machine of another kind.

With ``--perturb=SEED`` results of numpy's and Python's own elementary functions move by one unit in
the last place, up, down or not at all, so they stay good to two. Which of the three depends on the
seed, the function and its argument only, as on a real machine. What every implementation gets right
stays: infinities, 0, exp(0) = 1 and log(1) = 0, and a sine or cosine of at most 1. A test that
fails with it hangs on the last bit.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import scipy.fft
import scipy.special

#: Functions and the argument at which they are exact; None if there is no such argument.
ELEMENTARY = {
    "exp": 0.0,
    "expm1": 0.0,
    "log": 1.0,
    "log1p": 0.0,
    "log10": 1.0,
    "sin": 0.0,
    "cos": 0.0,
    "arctan2": 0.0,
    "logaddexp": None,
    "cbrt": 0.0,
    "erf": 0.0,
    "lgamma": None,
    "sinh": 0.0,
    "tanh": 0.0,
    "ndtr": None,
}
TRANSFORMS = ("rfft", "irfft")
_AT_MOST_ONE = {"sin", "cos", "erf", "tanh", "ndtr"}
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def moved(values: np.ndarray, key: np.ndarray, salt: int) -> np.ndarray:
    """The next double below, above, or the value itself, as the bits of ``key`` choose."""
    with np.errstate(over="ignore"):
        mixed = (key ^ np.uint64(salt)) * _MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
        choice = (mixed * _MULTIPLIER) >> np.uint64(62)
    ends = np.where(choice == 1, -math.inf, np.where(choice == 2, math.inf, values))
    with np.errstate(all="ignore"):
        power = np.abs(np.frexp(values)[0]) == 0.5  # ulps differ on its two sides
        still = power | ~np.isfinite(values) | (values == 0)
        return np.where(still, values, np.nextafter(values, ends))


def _bits(values: Any) -> np.ndarray:
    """The bits of real numbers; complex ones count with both parts."""
    values = np.asarray(values)
    if np.iscomplexobj(values):
        return _bits(values.real) ^ (_bits(values.imag) >> np.uint64(1))
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64).reshape(values.shape)


def _move(result: Any, arguments: tuple[Any, ...], name: str, salt: int) -> Any:
    if isinstance(result, complex | np.complexfloating) or np.iscomplexobj(result):
        real = _move(result.real, arguments, name, salt)
        imag = _move(result.imag, arguments, name, salt + 1)
        joined = np.empty(np.shape(result), dtype=np.complex128)
        joined.real, joined.imag = real, imag
        return joined[()]
    values = np.asarray(result)
    if values.dtype != np.float64:
        return result
    key = np.zeros(values.shape, dtype=np.uint64)
    try:
        for argument in arguments:
            key = (key >> np.uint64(1)) ^ _bits(argument)
    except (TypeError, ValueError, OverflowError):
        return result  # not numbers, or whole numbers too large for doubles
    change = moved(values, key, salt)
    if name in _AT_MOST_ONE:
        change = np.clip(change, -1.0, 1.0)
    exact = ELEMENTARY.get(name)
    if exact is not None:
        change = np.where(np.asarray(arguments[0]) == exact, values, change)
    return change[()]


def _wrapped(function: Callable[..., Any], name: str, kind: str, seed: int) -> Callable[..., Any]:
    salt = zlib.crc32(f"{kind}.{name}.{seed}".encode())

    @wraps(function)
    def perturbed(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        count = getattr(function, "nin", len(arguments))
        change = _move(result, arguments[:count], name, salt)
        if kind == "math":
            return float(change)
        if isinstance(options.get("out"), np.ndarray):
            result[...] = change
            return result
        return change

    return perturbed


def _transformed(function: Callable[..., Any], name: str, seed: int) -> Callable[..., Any]:
    salt = zlib.crc32(f"{name}.{seed}".encode())

    @wraps(function)
    def perturbed(*arguments: Any, **options: Any) -> Any:
        result = np.ascontiguousarray(function(*arguments, **options))
        parts = result.view(np.float64)
        parts[...] = moved(parts, _bits(parts), salt)
        return result

    return perturbed


def install(seed: int) -> None:
    """Replace the functions for the rest of the process."""
    for module, kind in ((np, "numpy"), (math, "math"), (scipy.special, "scipy")):
        for name in ELEMENTARY:
            if hasattr(module, name) and not (kind == "scipy" and name != "ndtr"):
                setattr(module, name, _wrapped(getattr(module, name), name, kind, seed))
    for name in TRANSFORMS:
        setattr(scipy.fft, name, _transformed(getattr(scipy.fft, name), name, seed))
