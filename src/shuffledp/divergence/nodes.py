r"""The sum over the nodes of the contour, visiting only the nodes that matter.

Let :math:`\varphi` be the characteristic function of the centred tilted law. Because
:math:`|\varphi|^n` is tiny for nearly all t once n is large, almost every node can be skipped, with
a bound: :math:`R=|\varphi|^2=E\cos(t(G-G'))` satisfies :math:`|R''|\le2s^2` (s the standard
deviation), so on a stretch of nodes with centre c and half width r

.. math:: R \le R(c) + |R'(c)|\,r + s^2r^2 .

Stretches whose bound is negligible are dropped and the bound is counted as an error; the others are
split until they are short. This makes the cost independent of n. When n is small nothing can be
skipped; then all nodes are evaluated together, :math:`e^{itc}` factorising over t = (aB + b) step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.proposals.grid import Grid
from shuffledp.divergence.proposals.stretches import (
    dense_work,
    main_lobe,
    node_work,
    stretch_count,
    stretch_starts,
)
from shuffledp.divergence.tilt import TiltedLaw

_SHORT = 10  # stretches of fewer nodes are evaluated
_SHARE_OF_STRETCH = 1 / 300  # of the allowance
_DENSE_SIDE = 256
_SPARSE_CHUNK = 2**19

# Bounds are sums of at most 2^26 positive terms, added pairwise (26 + 19 units), each a product of
# an exponential with an exponent above -745 (less than 8 * 745 units) and a few more factors.
_ROUND_UP = 1 + 1e-9


@dataclass
class NodeSums:
    """Sums over the nodes for E X_+ (``mean``) and f_X(0) (``density``), with their errors.

    ``work`` counts the sines and cosines that were needed.
    """

    mean: float = 0.0
    density: float = 0.0
    rounding_mean: float = 0.0
    rounding_density: float = 0.0
    skipped_mean: float = 0.0
    skipped_density: float = 0.0
    work: float = 0.0


def sum_nodes(
    tilted: TiltedLaw, n: int, tau: float, grid: Grid, allowance: float, max_work: float
) -> NodeSums | None:
    """Sum over the nodes of the grid.

    Nodes may be skipped while their bounds add up to about ``allowance`` for the mean and
    ``allowance/tau**2`` for the density. Returns None if that takes more than ``max_work`` atoms
    times nodes.
    """
    integrand = _Integrand(tilted, n, tau, grid.step)
    dense = dense_work(tilted.probability.size, grid.count)
    kept = integrand.select(grid.count, allowance, min(dense, max_work))
    if kept is not None:
        integrand.add(kept)
    elif dense <= max_work:
        integrand.add_all(grid.count)
        integrand.sums.work = 2 * dense
    else:
        return None
    return integrand.sums


class _Integrand:
    """F(theta + it)/F(theta) at the nodes: its values and its bounds, accumulated in ``sums``."""

    def __init__(self, tilted: TiltedLaw, n: int, tau: float, step: float) -> None:
        self.tilted, self.n, self.tau, self.step = tilted, n, tau, step
        self.sums = NodeSums()
        self.deviation = math.sqrt(tilted.variance)
        # Sums of `size` products; 10 for the sines, cosines and products of one of them.
        self.relative = tilted.probability_error + (tilted.probability.size + 10) * UNIT

    def select(self, count: int, allowance: float, max_work: float) -> IntArray | None:
        """Return the nodes that cannot be skipped, or None if finding them is too much work."""
        s = self.deviation
        if s == 0 or stretch_count(s, self.step, count) > max_work:
            return None
        main = min(count, max(main_lobe(s * math.sqrt(self.n), self.step), 0))
        unit = node_work(self.tilted.probability.size)
        work = main * unit
        if work > max_work:
            return None
        proposed = stretch_starts(s, self.step, main + 1, count)
        starts, sizes = _stretches(proposed, main + 1, count)
        kept = [np.arange(main + 1)]
        limit = allowance * _SHARE_OF_STRETCH
        while starts.size:
            work += starts.size * unit
            if work > max_work:
                self.sums = NodeSums()
                return None
            mean, density = self.bounds(starts, sizes)
            dropped = (mean <= limit) & (density <= limit / self.tau**2)
            self.sums.skipped_mean += float(mean[dropped].sum()) * _ROUND_UP
            self.sums.skipped_density += float(density[dropped].sum()) * _ROUND_UP
            starts, sizes = starts[~dropped], sizes[~dropped]
            short = sizes < _SHORT
            work += int(sizes[short].sum()) * unit
            kept.append(_listed(starts[short], sizes[short]))
            starts, sizes = _quarter(starts[~short], sizes[~short])
        self.sums.work = work
        return np.concatenate(kept)

    def bounds(self, starts: IntArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Bound what the nodes of each stretch add to the two sums."""
        p, c = self.tilted.probability, self.tilted.centred
        half = 0.5 * self.step * (sizes - 1)
        left = self.step * starts
        angle = np.multiply.outer(left + half, c)
        sine, cosine = np.sin(angle), np.cos(angle)
        real, imag = cosine @ p, sine @ p
        real_slope, imag_slope = -(sine @ (p * c)), cosine @ (p * c)
        square = real**2 + imag**2
        slope = 2 * np.abs(real * real_slope + imag * imag_slope)
        bound = square + slope * half + self.tilted.variance * half**2
        # R moves by twice the error of phi; an angle t c has 3 roundings. The factors 4 and 8/3
        # that are left cover those of the slope and of the width, where they can matter: while the
        # sum of the three terms is below 1.
        bound *= 1 + 1e-12
        bound += 8 * (self.relative + 4 * UNIT * (left + half) * self.tilted.mean_deviation)
        exponent = 0.5 * self.n * np.log(np.minimum(bound, 1.0)) - 0.5 * (self.tau * left) ** 2
        density = sizes * (self.step / math.pi) * np.exp(exponent)
        return density / (self.tilted.theta**2 + left**2), density

    def add(self, nodes: IntArray) -> None:
        """Evaluate the given nodes with sums of sines and cosines of centred values."""
        p, half_c = self.tilted.probability, 0.5 * self.tilted.centred
        chunk = max(_SPARSE_CHUNK // p.size, 1)
        for begin in range(0, nodes.size, chunk):
            k = nodes[begin : begin + chunk]
            t = self.step * k.astype(np.float64)
            angle = np.multiply.outer(t, half_c)
            sine = np.sin(angle)
            x = -2 * (sine**2 @ p)
            y = 2 * ((sine * np.cos(angle)) @ p)
            with np.errstate(divide="ignore"):
                log_modulus = 0.5 * np.log1p(np.maximum(2 * x + x * x + y * y, -1.0))
            # |e^{itc} - 1| <= min(t|c|, 2) is what a relative error of p acts on; an angle has 3
            # roundings (of t, c and their product), which move e^{itc} by as many units of t|c|.
            reach = t * self.tilted.mean_deviation
            error = self.relative * np.minimum(reach, 2.0) + 4 * UNIT * reach
            self._accumulate(k, t, log_modulus, np.arctan2(y, 1 + x), error)

    def add_all(self, count: int) -> None:
        """Evaluate every node; one matrix product per tile of consecutive nodes."""
        p, c = self.tilted.probability, self.tilted.centred
        side = min(_DENSE_SIDE, math.isqrt(count) + 1)
        inner = np.exp(1j * np.multiply.outer(self.step * np.arange(side), c))
        for begin in range(0, count + 1, side * side):
            rows = np.arange(begin, min(begin + side * side, count + 1), side)
            outer = p * np.exp(1j * np.multiply.outer(self.step * rows, c))
            phi = (outer @ inner.T).ravel()
            k = (rows[:, None] + np.arange(side)).ravel()
            inside = k <= count
            phi, k = phi[inside], k[inside]
            t = self.step * k.astype(np.float64)
            with np.errstate(divide="ignore"):
                log_modulus = np.log(np.abs(phi))
            # Complex sums have twice the roundings; two exponentials and their product have 16
            # units; two angles that add up to t c have 3 roundings each.
            error = 2 * self.relative + 16 * UNIT + 8 * UNIT * t * self.tilted.mean_deviation
            self._accumulate(k, t, log_modulus, np.angle(phi), error)

    def _accumulate(
        self,
        k: IntArray,
        t: FloatArray,
        log_modulus: FloatArray,
        argument: FloatArray,
        error: FloatArray,
    ) -> None:
        """Add nodes to the sums, given the logarithm of phi and the error of phi."""
        n, theta, tau2 = self.n, self.tilted.theta, self.tau**2
        drift = (n * self.tilted.mean + tau2 * theta) * t
        exponent = n * log_modulus - 0.5 * tau2 * t * t
        amplitude = np.exp(exponent)
        phase = n * argument + drift
        scale = (self.step / math.pi) * np.where(k == 0, 0.5, 1.0)
        norm = 1 / (theta**2 + t * t)
        cosine, sine = np.cos(phase), np.sin(phase)
        density = scale * amplitude * cosine
        mean = scale * amplitude * norm**2
        mean *= (theta**2 - t * t) * cosine + 2 * theta * t * sine
        # Every part of exponent and phase has at most 8 roundings, a node has 20 of its own, and
        # pairwise sums have less than 44.
        with np.errstate(invalid="ignore"):
            wobble = 8 + np.abs(n * log_modulus) + np.abs(n * argument) + np.abs(drift)
            wobble = np.where(amplitude > 0, (wobble + tau2 * t * t) * amplitude, 0.0)
        # |x^n - y^n| <= n |x - y| max(|x|, |y|)^(n-1), and phi itself is at most 1.
        modulus = np.exp(log_modulus)
        largest = np.maximum(modulus, np.minimum(modulus + error, 1.0))
        power = np.exp((n - 1) * np.log(largest) - 0.5 * tau2 * t * t)
        rounding = scale * (n * error * power + 8 * UNIT * wobble)
        self.sums.mean += float(mean.sum())
        self.sums.density += float(density.sum())
        self.sums.rounding_density += float(rounding.sum()) * _ROUND_UP
        self.sums.rounding_mean += float((rounding * norm).sum()) * _ROUND_UP


def _stretches(proposed: IntArray, begin: int, count: int) -> tuple[IntArray, IntArray]:
    """Return starts and sizes of stretches that cover begin..count, whatever is proposed."""
    inner = proposed[(proposed > begin) & (proposed <= count)]
    starts = np.unique(np.append(inner, begin)) if begin <= count else inner
    return starts, np.diff(np.append(starts, count + 1))


def _listed(starts: IntArray, sizes: IntArray) -> IntArray:
    """Return the nodes of all stretches, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)


def _quarter(starts: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """Split every stretch into four."""
    cuts = starts[:, None] + (sizes[:, None] * np.arange(5)) // 4
    return cuts[:, :-1].ravel(), np.diff(cuts, axis=1).ravel()
