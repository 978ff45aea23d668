"""Sums of powers of complex numbers, with their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray

_NEAR_ONE = 1e-9  # a ratio this close to 1, times the number of terms, makes them equal


def geometric_sum(
    log_ratio: NDArray[np.complex128], terms: float | FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    r"""Return :math:`\sum_{k<m}q^k`, m = ``terms``, |q| <= 1, and a bound on its error.

    The quotient of :math:`q^m-1` and :math:`q-1`, both without cancellation. Next to q = 1 it is m,
    with an error of at most :math:`m^2|\log q|`.
    """
    size = np.abs(log_ratio)
    near = terms * size < _NEAR_ONE
    x: NDArray[np.complex128] = np.where(near, -1.0, log_ratio)
    bottom = _expm1(x)
    power: NDArray[np.complex128] = np.multiply(terms, x)
    quotient = _expm1(power) / bottom
    # The exponent of q^m has |m log q| units of a few; then two functions and a quotient.
    error = 16 * UNIT * ((2 + terms * size) / np.abs(bottom) + np.abs(quotient))
    return np.where(near, terms, quotient), np.where(near, terms * terms * size, error)


def log_geometric_bound(log_ratio: FloatArray, terms: float | FloatArray) -> FloatArray:
    """Return a bound on the logarithm of such a sum for a real ratio q, before rounding.

    It is at most ``terms`` and 1/(1-q); for q > 1 the same holds of 1/q, times the largest term.

    >>> bound = log_geometric_bound(np.log([0.5, 1.0, 2.0]), 3)
    >>> np.exp(bound).round(6).tolist()  # 1 + 1/2 + 1/4, 3 and 1 + 2 + 4 are below
    [2.0, 3.0, 8.0]
    """
    with np.errstate(divide="ignore"):
        series = np.minimum(np.log(terms), -np.log(-np.expm1(-np.abs(log_ratio))))
    bound: FloatArray = series + (terms - 1) * np.maximum(log_ratio, 0.0)
    return bound


def _expm1(x: NDArray[np.complex128]) -> NDArray[np.complex128]:
    r"""Return e^x - 1 from real functions, to a few units of its modulus.

    With s and c the sine and cosine of half the imaginary part and e the real
    :math:`e^{\mathrm{Re}\,x}-1` it is :math:`e-2(1+e)s^2+2i(1+e)sc`, and both
    |e| and, for e <= 0, 2(1+e)|s| are at most its modulus.
    """
    half = 0.5 * x.imag
    sine, growth = np.sin(half), np.expm1(x.real)
    result = np.empty(x.shape, dtype=np.complex128)
    turned = 2 * (1 + growth) * sine
    result.real = growth - turned * sine
    result.imag = turned * np.cos(half)
    return result
