r"""A quick bound on the characteristic function of a tilted law on stretches.

Sines and cosines in single precision cost a tenth of those in double precision, and most stretches
can be skipped by a bound that is good to five digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.characteristic import (
    Atoms,
    bound_all,
    bound_square,
    bounded,
    relative_error,
)
from shuffledp.divergence.tilt import TiltedLaw

_Singles = NDArray[np.float32]

#: Unit round-off of single precision.
_SINGLE = 2.0**-24

MANY_ATOMS = 16  # that make it worth while
_LITTLE_LOSS = 20  # in logarithms

#: So many angles are treated at a time, for the processor's cache.
_CACHED = 1 << 14


def bound_roughly(tilted: Atoms, centre: FloatArray, half: FloatArray) -> FloatArray:
    r"""Bound :math:`|\varphi|^2` where t is within ``half`` of ``centre``, by its second order.

    Turns are reduced to at most half a one in doubles. Rounded to single precision, an angle of up
    to :math:`\pi` moves by 4 units v of that precision, and a sine is good to 8; they are added up
    in doubles. So :math:`\varphi` and :math:`\varphi'` over the deviation s have real and imaginary
    parts that are off by at most :math:`e=12v+r+8uts`, with r and u as in doubles. Where the bound
    is below 1, the half width is less than 1/s, so that :math:`R=|\varphi|^2` and its derivative
    times the half width move by at most :math:`6\sqrt2e+6e^2\le16e` together.

    >>> from shuffledp.divergence.tilt import tilt
    >>> from shuffledp.decomposition import Law
    >>> law = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
    >>> bound = bound_roughly(tilt(law, 0.0), np.array([1.0]), np.array([0.0]))
    >>> 0 < float(bound[0] - math.cos(1.0) ** 2) < 1e-4
    True
    """
    turns = centre / (2 * math.pi)
    square, slope = np.empty_like(centre), np.empty_like(centre)
    for part, p, c in tilted.parts(centre.size, _CACHED):
        square[part], slope[part] = _square_and_slope(turns[part], c, p)
    deviation = np.sqrt(tilted.variance)
    error = 12 * _SINGLE + relative_error(tilted) + 8 * UNIT * centre * deviation
    return bounded(tilted, centre, half, square, slope, 16 * error)


def loses_little(times: float) -> bool:
    """Whether a power of the modulus has about as good a bound as in doubles."""
    return 8 * 12 * _SINGLE * times <= _LITTLE_LOSS


def bound_powers(
    laws: Sequence[TiltedLaw], step: float, starts: IntArray, sizes: IntArray, times: int
) -> list[FloatArray]:
    r"""Bound :math:`|\varphi|^2` of several laws on stretches of nodes, for its power ``times``.

    Roughly if that pays, else as :func:`shuffledp.divergence.characteristic.bound_all` does.
    """
    atoms = max(law.centred.size for law in laws)
    few = atoms < MANY_ATOMS
    if not (few or loses_little(times)):
        return bound_all(laws, step, starts, sizes, times)
    half = 0.5 * step * (sizes - 1).astype(np.float64)
    centre = step * starts.astype(np.float64) + half
    return [(bound_square if few else bound_roughly)(law, centre, half) for law in laws]


def _square_and_slope(
    turns: FloatArray, values: FloatArray, p: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Return :math:`|\varphi|^2` and the absolute value of its derivative."""
    turned = np.multiply.outer(turns, values) if values.ndim == 1 else turns[:, None] * values
    turned -= np.rint(turned)
    turned *= 2 * math.pi
    angle: _Singles = turned.astype(np.float32)
    along = p * values
    sine, cosine = np.sin(angle), np.cos(angle)
    real, imag = _mean(cosine, p), _mean(sine, p)
    real_slope, imag_slope = -_mean(sine, along), _mean(cosine, along)
    return real**2 + imag**2, 2 * np.abs(real * real_slope + imag * imag_slope)


def _mean(terms: _Singles, weights: FloatArray) -> FloatArray:
    """Return the mean over the atoms, for every t."""
    means: FloatArray = (
        terms @ weights if weights.ndim == 1 else np.einsum("ij,ij->i", terms, weights)
    )
    return means
