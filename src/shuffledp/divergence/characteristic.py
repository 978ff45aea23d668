r"""The characteristic function of a centred tilted law: its values, its bounds, their errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.proposals.stretches import FEWEST_ATOMS, side_of_rows
from shuffledp.divergence.tilt import TiltedLaw

#: So many angles are treated at a time, for the processor's cache.
_CACHED = 1 << 16

#: Powers of what a product of matrices returns may be off by so much, relatively.
_ACCURATE = 1e-6

#: The same of bounds on stretches, where a factor of e does no harm.
_ROUGH = 0.05

_FEW = 1000  # sines and cosines that are as quick one by one


class ErrorOfTransform(Protocol):
    """What is known of the characteristic function of the true law; grows and falls with t."""

    def at(self, t: FloatArray) -> FloatArray:
        """Bound the error of the characteristic function at every t >= 0."""
        ...

    def modulus(self, t: FloatArray) -> FloatArray:
        """Bound the modulus of the true characteristic function from some t > 0 on."""
        ...


class Atoms(Protocol):
    """What a characteristic function is made of: a tilted law, or one for every t.

    For one law all but the atoms are numbers, for one law for every t they are vectors.
    """

    @property
    def size(self) -> int:
        """Number of atoms."""
        ...

    def parts(self, count: int, most: int) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield parts of so many t with the probabilities and centred values of their atoms.

        These are vectors, or have a row for each t; together there are about ``most`` angles.
        """
        ...

    @property
    def probability_error(self) -> float | FloatArray:
        """Bound on the mean relative error of the probabilities."""
        ...

    @property
    def mean_deviation(self) -> float | FloatArray:
        """E|G - m|."""
        ...

    @property
    def variance(self) -> float | FloatArray:
        """Variance."""
        ...

    @property
    def transform(self) -> ErrorOfTransform | None:
        """The error of the transform, if atoms are nodes of a quadrature."""
        ...


def _angles(t: FloatArray, centred: FloatArray) -> FloatArray:
    return np.multiply.outer(t, centred) if centred.ndim == 1 else t[:, None] * centred


def _mean(terms: FloatArray, probability: FloatArray) -> FloatArray:
    """Return the mean over the atoms, for every t."""
    if probability.ndim == 1:
        return terms @ probability
    mean: FloatArray = np.einsum("ij,ij->i", terms, probability)
    return mean


@dataclass(frozen=True, eq=False)
class Characteristic:
    """log phi(t) at several t, and a bound on the absolute error of phi itself.

    ``limit`` bounds the modulus of the true phi, if more is known of it than that it is at most 1.
    """

    log_modulus: FloatArray
    argument: FloatArray
    error: FloatArray
    limit: FloatArray | None = None


def log_largest_modulus(phi: Characteristic) -> FloatArray:
    """Bound the logarithm of the modulus of the true phi, which is at most 0, to a few units of it.

    Powers of a modulus next to 1 leave nothing of a logarithm that is good to a unit of 1.
    """
    modulus, error = np.exp(phi.log_modulus), phi.error
    # Exponential, quotient and logarithm are good to 4, 1 and 4 units; where the error is the
    # larger one, the logarithm is that of a sum, which is good to 5 units.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = phi.log_modulus + np.log1p(error / modulus) * (1 + 16 * UNIT)
        if not (clear := modulus > error).all():
            above = np.where(clear, above, np.log(modulus + error) + 8 * UNIT)
    return np.minimum(above, 0.0)


def relative_error(tilted: Atoms) -> float | FloatArray:
    """Return the relative error of a sum over the atoms.

    Sums of ``size`` products; 10 for the sines, cosines and products of one of them.
    """
    return tilted.probability_error + (tilted.size + 10) * UNIT


def evaluate(tilted: Atoms, t: FloatArray) -> Characteristic:
    r"""Evaluate :math:`\varphi(t)-1=-2E\sin^2(tc/2)+2iE\sin(tc/2)\cos(tc/2)`."""
    x, y = np.empty_like(t), np.empty_like(t)
    for part, p, c in tilted.parts(t.size, _CACHED):
        angle = _angles(t[part], 0.5 * c)
        sine = np.sin(angle)
        x[part] = -2 * _mean(sine**2, p)
        y[part] = 2 * _mean(sine * np.cos(angle), p)
    with np.errstate(divide="ignore"):
        log_modulus = 0.5 * np.log1p(np.maximum(2 * x + x * x + y * y, -1.0))
    # |e^{itc} - 1| <= min(t|c|, 2) is what a relative error of p acts on; an angle has 3
    # roundings (of t, c and their product), which move e^{itc} by as many units of t|c|.
    reach = t * tilted.mean_deviation
    error = relative_error(tilted) * np.minimum(reach, 2.0) + 4 * UNIT * reach
    return with_transform(tilted, t, Characteristic(log_modulus, np.arctan2(y, 1 + x), error))


def with_transform(tilted: Atoms, t: FloatArray, found: Characteristic) -> Characteristic:
    """Add the error of the transform, if there is one."""
    if tilted.transform is None:
        return found
    limit = np.minimum(tilted.transform.modulus(t * (1 - 4 * UNIT)) * (1 + 1e-12), 1.0)
    error = found.error + tilted.transform.at(t * (1 + 4 * UNIT))
    return Characteristic(found.log_modulus, found.argument, error, limit)


def evaluate_nodes(
    tilted: TiltedLaw,
    step: float,
    nodes: IntArray,
    times: int,
    *,
    accurate: float = _ACCURATE,
    side: int | None = None,
) -> Characteristic:
    """Evaluate phi at multiples of a step for its power ``times``.

    With t = (aB + b) step and few different a and b, exponentials are products: that takes far
    fewer of them, and is a little less accurate. It is done if it pays, and if the power allows it.
    B is ``side``, or what is proposed; 0 if nothing pays.
    """
    t = step * nodes.astype(np.float64)
    if tilted.centred.size < FEWEST_ATOMS:
        return evaluate(tilted, t)
    side = _side(tilted, nodes) if side is None else side
    if times * float(relative_error(tilted)) > accurate or not side:
        return evaluate(tilted, t)
    (phi,) = transforms_of(tilted.centred, step, nodes, side, tilted.probability)
    return from_complex(tilted, t, phi)


def evaluate_all(
    laws: Sequence[TiltedLaw], step: float, nodes: IntArray, times: int
) -> list[Characteristic]:
    """Do as ``evaluate_nodes`` for several laws, in the same rows."""
    side = side_of_rows(nodes, max(law.centred.size for law in laws))
    return [evaluate_nodes(law, step, nodes, times, side=side) for law in laws]


def _side(tilted: TiltedLaw, numbers: IntArray) -> int:
    """Return the length of rows into which to put multiples of a step, 0 if that does not pay."""
    few = numbers.size * tilted.centred.size <= _FEW
    return 0 if few else side_of_rows(numbers, tilted.centred.size)


def transforms_of(
    values: FloatArray, step: float, numbers: IntArray, side: int, *weights: FloatArray
) -> list[NDArray[np.complex128]]:
    """Return the sums of weights times e^{itc} at multiples of a step, rows of any length."""
    least = int(numbers.min())
    rows, row = np.unique((numbers - least) // side, return_inverse=True)
    columns, column = np.unique((numbers - least) % side, return_inverse=True)
    outer = _turns(step * (least + side * rows).astype(np.float64), values)
    inner = _turns(step * columns.astype(np.float64), values).T
    return [((weight * outer) @ inner)[row, column] for weight in weights]


def _turns(t: FloatArray, values: FloatArray) -> NDArray[np.complex128]:
    """Return e^{itc} for all t and all values."""
    angle = np.multiply.outer(t, values)
    turns = np.empty(angle.shape, dtype=np.complex128)
    np.cos(angle, out=turns.real)
    np.sin(angle, out=turns.imag)
    return turns


def from_complex(tilted: Atoms, t: FloatArray, phi: NDArray[np.complex128]) -> Characteristic:
    """Return phi as it came out of a product of complex matrices."""
    with np.errstate(divide="ignore"):
        log_modulus = np.log(np.abs(phi))
    # Complex sums have twice the roundings; two exponentials and their product have 16 units; two
    # angles that add up to t c have 3 roundings each.
    error = 2 * relative_error(tilted) + 16 * UNIT + 8 * UNIT * t * tilted.mean_deviation
    return with_transform(tilted, t, Characteristic(log_modulus, np.angle(phi), error))


def bound_square(tilted: Atoms, centre: FloatArray, half: FloatArray) -> FloatArray:
    r"""Bound :math:`|\varphi|^2` where t is within ``half`` of ``centre``, by its second order."""
    square, slope = np.empty_like(centre), np.empty_like(centre)
    for part, p, c in tilted.parts(centre.size, _CACHED):
        square[part], slope[part] = _square_and_slope(p, c, centre[part])
    # R moves by twice the error of phi; an angle t c has 3 roundings. The factors 4 and 8/3
    # that are left cover those of the slope and of the width, where they can matter: while the
    # sum of the three terms is below 1.
    error = 8 * (relative_error(tilted) + 4 * UNIT * centre * tilted.mean_deviation)
    return bounded(tilted, centre, half, square, slope, error)


def bound_stretches(
    tilted: TiltedLaw,
    step: float,
    starts: IntArray,
    sizes: IntArray,
    times: int,
    side: int | None = None,
) -> FloatArray:
    r"""Bound :math:`|\varphi|^2` on stretches of nodes, for its power ``times``.

    Their centres are multiples of half a step, so that exponentials may be products as above. Then
    phi is off by at most :math:`e=2r+16u+8ut\,E|c|`, r the relative error of a sum over the atoms
    and u that of a rounding, and its derivative by
    :math:`e'=(2r+16u)E|c|+8ut\,Ec^2`. Where the bound is below 1 the half width h is less than 1
    over the deviation s, so R and hR' together move by at most
    :math:`2e+2h(e\,E|c|+e')\le6(2r+16u+8uts)`; 16 in place of 12 covers squares of e.
    """
    half = 0.5 * step * (sizes - 1).astype(np.float64)
    t = step * starts.astype(np.float64) + half
    if tilted.centred.size < FEWEST_ATOMS:
        return bound_square(tilted, t, half)
    centres = 2 * starts + sizes - 1
    rough = float(relative_error(tilted)) + 8 * UNIT
    side = _side(tilted, centres) if side is None else side
    if times * rough > _ROUGH or not side:
        return bound_square(tilted, t, half)
    p, c = tilted.probability, tilted.centred
    phi, slope = transforms_of(c, 0.5 * step, centres, side, p, p * c)
    square = phi.real**2 + phi.imag**2
    slopes = 2 * np.abs(phi.imag * slope.real - phi.real * slope.imag)
    error = 16 * (rough + 4 * UNIT * t * math.sqrt(tilted.variance) * (1 + 1e-12))
    return bounded(tilted, t, half, square, slopes, error)


def bound_all(
    laws: Sequence[TiltedLaw], step: float, starts: IntArray, sizes: IntArray, times: int
) -> list[FloatArray]:
    """Do as ``bound_stretches`` for several laws, in the same rows."""
    side = _side(max(laws, key=lambda law: law.centred.size), 2 * starts + sizes - 1)
    return [bound_stretches(law, step, starts, sizes, times, side) for law in laws]


def bounded(
    tilted: Atoms,
    centre: FloatArray,
    half: FloatArray,
    square: FloatArray,
    slope: FloatArray,
    error: FloatArray,
) -> FloatArray:
    """Return the bound of second order, given R and R' up to an error of both together."""
    bound = square + slope * half + tilted.variance * half**2
    bound *= 1 + 1e-12
    bound += error
    if tilted.transform is not None:
        # Where |phi| <= 1 is off by e, its square is by at most 2e + e^2.
        error = tilted.transform.at((centre + half) * (1 + 4 * UNIT))
        bound += error * (2 + error)
        bound = np.minimum(bound, bound_far(tilted, centre, half))
    return np.minimum(bound, 1.0)


def bound_far(tilted: Atoms, centre: FloatArray, half: FloatArray) -> FloatArray:
    r"""Bound :math:`|\varphi|^2` as ``bound_square`` does, by what is known without the atoms."""
    if tilted.transform is None:
        return np.ones_like(centre)
    far = tilted.transform.modulus((centre - half) * (1 - 4 * UNIT)) * (1 + 1e-12)
    return np.minimum(far, 1.0) ** 2


def _square_and_slope(p: FloatArray, c: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return :math:`|\varphi(t)|^2` and the absolute value of its derivative."""
    angle = _angles(t, c)
    sine, cosine = np.sin(angle), np.cos(angle)
    real, imag = _mean(cosine, p), _mean(sine, p)
    real_slope, imag_slope = -_mean(sine, p * c), _mean(cosine, p * c)
    return real**2 + imag**2, 2 * np.abs(real * real_slope + imag * imag_slope)
