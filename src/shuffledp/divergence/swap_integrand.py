r"""What stands at the nodes of the swap bound: its values, its bounds, their errors.

In units of :math:`M_0M_v^M` at the tilt, v the type with the largest transform there, a background
with the exponent :math:`\ell` has at z = 1 + it the value

.. math:: \frac{\varphi_0(t)e^{im_0t-\tau^2t^2/2+i\tau^2t}}{z^2}\,
          \sum_{k\le k_{max}}\gamma(1-\gamma)^ke^{-k\,top}e^{(M-k)(\ell-top)} .

Everything here holds for the nodes of one bound, whose parameters are numbers, and for one bound
for every node, where they are vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.characteristic import Characteristic, log_largest_modulus
from shuffledp.divergence.examined import Extent, Spread
from shuffledp.divergence.geometric import geometric_sum, log_geometric_bound

_VAGUE = 0.1  # nodes whose relative error is larger are bounded, not evaluated

#: Sums of positive terms: less than 50 units for adding them up, and exponents above -745.
ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class SlotValues:
    """The characteristic function of a tilted slot at the nodes, its centre, and its K."""

    phi: Characteristic
    mean: float | FloatArray
    log_mgf: float | FloatArray


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a contour sum, with the transforms of all types in units of the largest one's.

    Attributes:
        t: where they are.
        kernel: what the transform of a background is multiplied with.
        size: upper bounds on the modulus of the true kernel.
        error: absolute errors of the kernel.
        phase_error: relative errors of its phase.
        exponent: L - top, one row per type, the imaginary parts within pi of each other.
        largest: upper bounds on the real parts of the true ones.
        relative: absolute errors of these exponents.
    """

    t: FloatArray
    kernel: NDArray[np.complex128]
    size: FloatArray
    error: FloatArray
    phase_error: FloatArray
    exponent: NDArray[np.complex128]
    largest: FloatArray
    relative: FloatArray

    @cached_property
    def highest(self) -> FloatArray:
        """Upper bounds on the real parts of the true exponents of all types."""
        highest: FloatArray = np.minimum(self.exponent.real.max(axis=0) + self.relative, 0.0)
        return highest

    def chosen(self, some: IntArray | NDArray[np.bool_]) -> Nodes:
        """Return some of the nodes."""
        return Nodes(*(getattr(self, field.name)[..., some] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class SwapScale:
    """What turns a sum over the nodes into a bound on delta.

    Attributes:
        theta: the tilt.
        log_mgf: K of slot 0 at the tilt.
        log_mgf_error: bound on its error, and M times the largest of the types.
        value_shift: bound on the mean error of all values together, under the tilted laws.
    """

    theta: float | FloatArray
    log_mgf: float | FloatArray
    log_mgf_error: float | FloatArray
    value_shift: float | FloatArray


@dataclass(frozen=True, eq=False)
class SwapIntegrand:
    """The swap bound of one background, or of one for every node.

    Attributes:
        others: M, all users but one.
        gamma: mass of the blanket.
        log_rest: the logarithm of 1 - gamma.
        top: the largest K of a type at the tilt.
        terms: for how many k, from 0 on, the sum is taken.
        tau: deviation of the noise.
        step: distance of the nodes.
    """

    others: float | FloatArray
    gamma: float | FloatArray
    log_rest: float | FloatArray
    top: float | FloatArray
    terms: float | FloatArray
    tau: float | FloatArray
    step: float | FloatArray

    def of(self, rows: IntArray) -> SwapIntegrand:
        """Return the bounds of some rows, if these are several, one for every node."""
        return SwapIntegrand(*(np.asarray(getattr(self, own.name))[rows] for own in fields(self)))

    def log_ratio_bound(self, exponent: FloatArray) -> FloatArray:
        """Bound log q, of a term and the one before, where the real part of l - top is this.

        Its parts may cancel, and its error counts for every term: it is rounded up.
        """
        log_ratio = self.log_rest - self.top - exponent
        sizes = np.abs(self.log_rest) + np.abs(self.top) + np.abs(exponent)
        bound: FloatArray = log_ratio + 4 * UNIT * np.minimum(sizes, 1e300)  # 1 - gamma may be 0
        return bound

    def height(self, exponent: FloatArray) -> FloatArray:
        """Bound the sum over k where the real part of l - top is ``exponent``, at most."""
        series = log_geometric_bound(self.log_ratio_bound(exponent), self.terms)
        power = self.others * exponent + series
        error = 8 * UNIT * (np.abs(self.others * exponent) + np.abs(series) + self.terms + 8)
        with np.errstate(over="ignore"):
            height: FloatArray = self.gamma * np.exp(power + error) * ROUND_UP
        return height

    def bounds(self, starts: IntArray, sizes: IntArray, square: FloatArray) -> FloatArray:
        """Bound what the nodes of each stretch add, whatever the others hold.

        ``square`` bounds the square of the modulus of every type's characteristic function there.
        """
        left = np.multiply(self.step, starts.astype(np.float64))
        height = self.height(0.5 * np.log(square)) * np.exp(-0.5 * (self.tau * left) ** 2)
        bound: FloatArray = np.multiply(sizes, self.step / math.pi) * height / (1 + left**2)
        return bound

    def cut(self, count: int | IntArray, whole: FloatArray) -> FloatArray:
        """Bound what lies beyond so many nodes; ``whole`` is the height at the tilt."""
        x = np.multiply(count, self.step * self.tau * (1 - 4 * UNIT))
        gaussian = np.exp(-x * x / 2 * (1 - 4 * UNIT)) * (1 + 16 * UNIT)
        beyond: FloatArray = whole * self.tau * gaussian / (math.pi * x**3) * ROUND_UP
        return beyond

    def evaluate(
        self, numbers: IntArray, first: SlotValues, types: Sequence[SlotValues]
    ) -> tuple[Nodes, NDArray[np.bool_], FloatArray]:
        """Return the nodes with these numbers, as far as they are useful, which these are.

        Rounding makes some useless; these are bounded, as the last array says.
        """
        t = np.multiply(self.step, numbers.astype(np.float64))
        excess, largest, relative = [], [], np.zeros(t.size)
        for slot in types:
            phi = slot.phi
            modulus = np.exp(phi.log_modulus)
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = np.where(
                    modulus > 2 * phi.error, phi.error / (modulus - phi.error), math.inf
                )
            above = log_largest_modulus(phi)
            # Logarithm, argument and drift have a few roundings each.
            drift = t * slot.mean
            levels = np.abs(slot.log_mgf) + np.abs(self.top)
            sizes = np.abs(phi.log_modulus) + np.abs(phi.argument) + np.abs(drift) + levels
            relative = np.maximum(relative, worst + 8 * UNIT * np.minimum(sizes, 1e300))
            shift = slot.log_mgf - self.top
            excess.append(shift + phi.log_modulus + 1j * (phi.argument + drift))
            largest.append(shift + above + 4 * UNIT * levels)
        useful = self.others * relative < _VAGUE
        exponent = np.array(excess)
        with np.errstate(invalid="ignore"):  # of nodes that are useless
            turns = np.round((exponent.imag - exponent[0].imag) / (2 * math.pi))
            exponent = exponent - 2j * math.pi * turns
        phi0 = first.phi
        scale = (self.step / math.pi) * np.where(numbers == 0, 0.5, 1.0)
        scale = scale * np.exp(-0.5 * (self.tau * t) ** 2) / (1 + t * t)
        modulus0 = np.minimum(np.exp(phi0.log_modulus) + phi0.error, 1.0)
        phase = phi0.argument + t * first.mean + np.square(self.tau) * t - 2 * np.arctan2(t, 1.0)
        amplitude = scale * np.exp(phi0.log_modulus)
        highest = np.array(largest)
        nodes = Nodes(
            t=t,
            kernel=amplitude * (np.cos(phase) + 1j * np.sin(phase)),
            size=scale * modulus0 * ROUND_UP,
            error=scale * phi0.error,
            phase_error=8 * UNIT * (8 + np.abs(phase)),
            exponent=exponent,
            largest=highest,
            relative=relative,
        )
        if useful.all():
            return nodes, useful, np.zeros(0)
        left_out = (scale * modulus0 * self.height(highest.max(axis=0)))[~useful] * ROUND_UP
        return nodes.chosen(useful), useful, left_out

    def at(
        self, nodes: Nodes, exponent: NDArray[np.complex128], height: FloatArray
    ) -> tuple[NDArray[np.complex128], FloatArray]:
        """Return what all nodes add for backgrounds with some exponents, and the errors of it.

        ``height`` is that of upper bounds on the real parts of the true exponents.
        """
        power = self.others * exponent
        series, series_error = np.ones_like(exponent), np.zeros(exponent.shape)
        if np.max(self.terms) > 1:
            # The terms are added from the largest one on: the first, or the last where q > 1.
            log_ratio = (self.log_rest - self.top) - exponent
            grows = log_ratio.real > 0
            power = np.where(grows, power + (self.terms - 1) * log_ratio, power)
            series, series_error = geometric_sum(np.where(grows, -log_ratio, log_ratio), self.terms)
        with np.errstate(under="ignore"):
            modulus = self.gamma * np.exp(power.real)
        turned = np.cos(power.imag) + 1j * np.sin(power.imag)
        values = nodes.kernel * (modulus * turned * series)
        # e^{(M-k) l} moves by M times the error of l; products and phases are rounded.
        wobble = 2 * self.others * nodes.relative + nodes.phase_error
        wobble = wobble + 8 * UNIT * (8 + np.abs(power.real) + np.abs(power.imag))
        rounding = (nodes.size * wobble + nodes.error) * height
        rounding += nodes.size * modulus * series_error
        return values, rounding

    def spread(self, nodes: Nodes) -> Spread:
        """Bound what averages over who is examined can differ from their central terms."""
        largest = nodes.largest.max(axis=0)
        smallest = nodes.exponent.real.min(axis=0) - nodes.relative
        return Spread.of(
            height=self.height(largest),
            full=self.gamma * np.exp(self.others * largest) * ROUND_UP,
            ends=(self.log_ratio_bound(largest), self.log_ratio_bound(smallest)),
            extent=Extent.of(nodes.exponent, nodes.relative),
            terms=self.terms,
        )

    def moved(self, scale: SwapScale) -> FloatArray:
        """Bound what errors of the values may add: d e^d of the sum at t = 0, d their tilted mean.

        See the last step in :mod:`shuffledp.divergence.contour`.
        """
        shift = np.asarray(scale.value_shift)
        with np.errstate(over="ignore"):
            moved: FloatArray = self.height(np.zeros(shift.shape)) * shift * np.exp(shift)
        return moved * ROUND_UP

    def log_delta(self, total: float | FloatArray, scale: SwapScale) -> FloatArray:
        """Return the bound on log delta for a bound on the sum; infinite if that is 0."""
        users = np.add(self.others, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_total = np.where(np.greater(total, 0), np.log(total), math.inf)
        base = self.others * self.top + scale.log_mgf + 0.5 * np.square(self.tau)
        size = self.others * np.abs(self.top) + np.abs(scale.log_mgf)
        error = scale.log_mgf_error + 8 * UNIT * (size + 8)
        shift = np.log(users) + np.log(scale.theta)
        log_mean = log_total + base + error - shift
        log_mean += 8 * UNIT * (np.abs(base) + np.abs(shift) + np.abs(log_total) + 8)
        # If there are fewer terms, so many users in a row were no blanket users.
        whole = np.equal(self.terms, users)
        log_tail = np.where(whole, -math.inf, self.terms * np.asarray(self.log_rest))
        bound: FloatArray = np.logaddexp(log_mean, log_tail)
        bound += 8 * UNIT * (np.abs(bound) + np.where(whole, 0.0, np.abs(log_tail)) + 8)
        return np.where(np.isnan(bound), math.inf, bound)
