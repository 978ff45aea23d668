r"""The sum over the nodes of the contour, visiting only the nodes that matter.

Let :math:`\varphi` be the characteristic function of the centred tilted law. Because
:math:`|\varphi|^n` is tiny for nearly all t once n is large, almost every node can be skipped, with
a bound: :math:`R=|\varphi|^2=E\cos(t(G-G'))` satisfies :math:`|R''|\le2s^2` (s the standard
deviation), so on a block with centre c and half width r

.. math:: R \le R(c) + |R'(c)|\,r + s^2r^2 .

Blocks whose bound is negligible are dropped and the bound is counted as an error; the others are
split until they are small. This makes the cost independent of n. When n is small nothing can be
skipped; then all nodes are evaluated together, :math:`e^{itc}` factorising over t = (aB + b) step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.decomposition.arithmetic import UNIT, FloatArray
from shuffledp.divergence.tilt import TiltedLaw

_MAIN_LOBE = 7.5  # in standard deviations of the sum
_BLOCK_GROWTH = 1.45
_BLOCK_WIDTH = 0.7  # in units of 1/s
_SMALL_BLOCK = 10
_DENSE_SIDE = 256
_DENSE_COST = 0.1  # of an atom at a node, in units of a sine and a cosine
_NODE_COST = 10  # of a node beyond its atoms, same unit
_SPARSE_CHUNK = 2**19


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
    tilted: TiltedLaw,
    n: int,
    tau: float,
    step: float,
    count: int,
    allowance: float,
    max_work: float,
) -> NodeSums | None:
    """Sum over the nodes t_k = k step, k = 0..count, of the contour.

    Nodes may be skipped while their bounds add up to about ``allowance`` for the mean and
    ``allowance/tau**2`` for the density. Returns None if that takes more than ``max_work`` atoms
    times nodes.
    """
    contour = _Contour(tilted, n, tau, step)
    dense_work = count * (_DENSE_COST * tilted.probability.size + _NODE_COST)
    kept = contour.select(count, allowance, min(dense_work, max_work))
    if kept is not None:
        contour.add(kept)
    elif dense_work <= max_work:
        contour.add_all(count)
        contour.sums.work = 2 * dense_work
    else:
        return None
    return contour.sums


class _Contour:
    """Evaluates and bounds the integrand; accumulates into ``sums``."""

    def __init__(self, tilted: TiltedLaw, n: int, tau: float, step: float) -> None:
        self.tilted, self.n, self.tau, self.step = tilted, n, tau, step
        self.sums = NodeSums()
        self.deviation = math.sqrt(tilted.variance)
        self.relative = tilted.probability_error + (tilted.probability.size + 10) * UNIT

    def select(self, count: int, allowance: float, max_work: float) -> NDArray[np.int64] | None:
        """Return the nodes that cannot be skipped, or None if finding them is too much work."""
        s = self.deviation
        if s == 0 or count * self.step * s / _BLOCK_WIDTH > max_work:
            return None
        main = min(count, int(_MAIN_LOBE / (s * math.sqrt(self.n) * self.step)) + 1)
        unit = self.tilted.probability.size + _NODE_COST
        work = main * unit
        if work > max_work:
            return None
        starts, sizes = self._partition(main + 1, count)
        kept = [np.arange(main + 1)]
        limit = allowance / 300
        while starts.size:
            work += starts.size * unit
            if work > max_work:
                self.sums = NodeSums()
                return None
            mean, density = self._bounds(starts, sizes)
            dropped = (mean <= limit) & (density <= limit / self.tau**2)
            self.sums.skipped_mean += float(mean[dropped].sum())
            self.sums.skipped_density += float(density[dropped].sum())
            starts, sizes = starts[~dropped], sizes[~dropped]
            small = sizes < _SMALL_BLOCK
            work += int(sizes[small].sum()) * unit
            kept.append(_listed(starts[small], sizes[small]))
            starts, sizes = _quarter(starts[~small], sizes[~small])
        self.sums.work = work
        return np.concatenate(kept)

    def _partition(self, begin: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cut the nodes begin..count into blocks that grow and then keep the width 0.7/s."""
        edges = [begin]
        widest = max(int(_BLOCK_WIDTH / (self.deviation * self.step)), 1)
        while edges[-1] <= count:
            width = int((_BLOCK_GROWTH - 1) * edges[-1]) + 1
            if width >= widest:
                break
            edges.append(edges[-1] + width)
        tail = np.arange(edges[-1], count + 1 + widest, widest)
        starts = np.concatenate([np.array(edges[:-1], dtype=np.int64), tail])
        starts = starts[starts <= count]
        return starts, np.diff(np.append(starts, count + 1))

    def _bounds(
        self, starts: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray]:
        """Bound what the nodes of each block add to the two sums."""
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
        bound *= 1 + 1e-12
        bound += 8 * (self.relative + 4 * UNIT * (left + half) * self.tilted.mean_deviation)
        exponent = 0.5 * self.n * np.log(np.minimum(bound, 1.0)) - 0.5 * (self.tau * left) ** 2
        density = sizes * (self.step / math.pi) * np.exp(exponent)
        return density / (self.tilted.theta**2 + left**2), density

    def add(self, nodes: NDArray[np.int64]) -> None:
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
            error = 2 * self.relative + 16 * UNIT + 8 * UNIT * t * self.tilted.mean_deviation
            self._accumulate(k, t, log_modulus, np.angle(phi), error)

    def _accumulate(
        self,
        k: NDArray[np.int64],
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
        with np.errstate(invalid="ignore"):
            wobble = 4 + np.abs(n * log_modulus) + np.abs(n * argument) + np.abs(drift)
            wobble = np.where(amplitude > 0, (wobble + tau2 * t * t) * amplitude, 0.0)
        modulus = np.minimum(np.exp(log_modulus) + error, 1.0)
        power = np.exp((n - 1) * np.log(modulus) - 0.5 * tau2 * t * t)
        rounding = scale * (n * error * power + 8 * UNIT * wobble)
        self.sums.mean += float(mean.sum())
        self.sums.density += float(density.sum())
        self.sums.rounding_density += float(rounding.sum()) * (1 + 1e-9)
        self.sums.rounding_mean += float((rounding * norm).sum()) * (1 + 1e-9)


def _listed(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nodes of all blocks, one block after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)


def _quarter(
    starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split every block into four."""
    cuts = starts[:, None] + (sizes[:, None] * np.arange(5)) // 4
    return cuts[:, :-1].ravel(), np.diff(cuts, axis=1).ravel()
