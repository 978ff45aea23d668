r"""The characteristic function of a centred tilted law: its values, its bounds, their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.tilt import TiltedLaw

#: So many angles are treated at a time, for the processor's cache.
_CACHED = 1 << 16

# Where a product of matrices is quicker than as many sines and cosines, and accurate enough.
_MANY_ATOMS, _FEWEST_ROWS, _MOST_ROWS, _ACCURATE = 256, 4, 4, 1e-6


@dataclass(frozen=True, eq=False)
class Characteristic:
    """log phi(t) at several t, and a bound on the absolute error of phi itself.

    ``limit`` bounds the modulus of the true phi, if more is known of it than that it is at most 1.
    """

    log_modulus: FloatArray
    argument: FloatArray
    error: FloatArray
    limit: FloatArray | None = None


def relative_error(tilted: TiltedLaw) -> float:
    """Return the relative error of a sum over the atoms.

    Sums of ``size`` products; 10 for the sines, cosines and products of one of them.
    """
    return tilted.probability_error + (tilted.probability.size + 10) * UNIT


def evaluate(tilted: TiltedLaw, t: FloatArray) -> Characteristic:
    r"""Evaluate :math:`\varphi(t)-1=-2E\sin^2(tc/2)+2iE\sin(tc/2)\cos(tc/2)`."""
    p = tilted.probability
    angle = np.multiply.outer(t, 0.5 * tilted.centred)
    sine = np.sin(angle)
    x = -2 * (sine**2 @ p)
    y = 2 * ((sine * np.cos(angle)) @ p)
    with np.errstate(divide="ignore"):
        log_modulus = 0.5 * np.log1p(np.maximum(2 * x + x * x + y * y, -1.0))
    # |e^{itc} - 1| <= min(t|c|, 2) is what a relative error of p acts on; an angle has 3
    # roundings (of t, c and their product), which move e^{itc} by as many units of t|c|.
    reach = t * tilted.mean_deviation
    error = relative_error(tilted) * np.minimum(reach, 2.0) + 4 * UNIT * reach
    return with_transform(tilted, t, Characteristic(log_modulus, np.arctan2(y, 1 + x), error))


def with_transform(tilted: TiltedLaw, t: FloatArray, found: Characteristic) -> Characteristic:
    """Add the error of the transform, if there is one."""
    if tilted.transform is None:
        return found
    limit = np.minimum(tilted.transform.modulus(t * (1 - 4 * UNIT)) * (1 + 1e-12), 1.0)
    error = found.error + tilted.transform.at(t * (1 + 4 * UNIT))
    return Characteristic(found.log_modulus, found.argument, error, limit)


def evaluate_nodes(tilted: TiltedLaw, step: float, nodes: IntArray, times: int) -> Characteristic:
    """Evaluate phi at multiples of a step for its power ``times``.

    With t = (aB + b) step and few different a, exponentials are products: that takes far fewer of
    them, and is a little less accurate. It is done for many atoms, and if the power allows it.
    """
    side = math.isqrt(nodes.size)
    many = tilted.centred.size >= _MANY_ATOMS and side >= _FEWEST_ROWS
    if not many or times * relative_error(tilted) > _ACCURATE:
        return evaluate(tilted, step * nodes.astype(np.float64))
    rows, row = np.unique(nodes // side, return_inverse=True)
    if rows.size > _MOST_ROWS * side:
        return evaluate(tilted, step * nodes.astype(np.float64))
    inner = np.exp(1j * np.multiply.outer(step * np.arange(side), tilted.centred))
    outer = np.exp(1j * np.multiply.outer(step * (side * rows), tilted.centred))
    phi = ((tilted.probability * outer) @ inner.T)[row, nodes % side]
    return from_complex(tilted, step * nodes.astype(np.float64), phi)


def from_complex(tilted: TiltedLaw, t: FloatArray, phi: NDArray[np.complex128]) -> Characteristic:
    """Return phi as it came out of a product of complex matrices."""
    with np.errstate(divide="ignore"):
        log_modulus = np.log(np.abs(phi))
    # Complex sums have twice the roundings; two exponentials and their product have 16 units; two
    # angles that add up to t c have 3 roundings each.
    error = 2 * relative_error(tilted) + 16 * UNIT + 8 * UNIT * t * tilted.mean_deviation
    return with_transform(tilted, t, Characteristic(log_modulus, np.angle(phi), error))


def bound_square(tilted: TiltedLaw, centre: FloatArray, half: FloatArray) -> FloatArray:
    r"""Bound :math:`|\varphi|^2` where t is within ``half`` of ``centre``, by its second order."""
    rows = max(_CACHED // tilted.centred.size, 1)
    square, slope = np.empty_like(centre), np.empty_like(centre)
    for begin in range(0, centre.size, rows):
        part = slice(begin, begin + rows)
        square[part], slope[part] = _square_and_slope(tilted, centre[part])
    bound = square + slope * half + tilted.variance * half**2
    # R moves by twice the error of phi; an angle t c has 3 roundings. The factors 4 and 8/3
    # that are left cover those of the slope and of the width, where they can matter: while the
    # sum of the three terms is below 1.
    bound *= 1 + 1e-12
    bound += 8 * (relative_error(tilted) + 4 * UNIT * centre * tilted.mean_deviation)
    if tilted.transform is not None:
        # Where |phi| <= 1 is off by e, its square is by at most 2e + e^2.
        error = tilted.transform.at((centre + half) * (1 + 4 * UNIT))
        bound += error * (2 + error)
        far = tilted.transform.modulus((centre - half) * (1 - 4 * UNIT)) * (1 + 1e-12)
        bound = np.minimum(bound, far**2)
    return np.minimum(bound, 1.0)


def _square_and_slope(tilted: TiltedLaw, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return :math:`|\varphi(t)|^2` and the absolute value of its derivative."""
    p, c = tilted.probability, tilted.centred
    angle = np.multiply.outer(t, c)
    sine, cosine = np.sin(angle), np.cos(angle)
    real, imag = cosine @ p, sine @ p
    real_slope, imag_slope = -(sine @ (p * c)), cosine @ (p * c)
    return real**2 + imag**2, 2 * np.abs(real * real_slope + imag * imag_slope)
