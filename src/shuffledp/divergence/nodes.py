r"""The sum over the nodes of the contour, visiting only the nodes that matter.

Let :math:`\varphi_b` be the characteristic function of the centred tilted law of block b. Because
:math:`\prod_b|\varphi_b|^{n_b}` is tiny for nearly all t once there are many summands, almost every
node can be skipped, with a bound: :math:`R_b=|\varphi_b|^2=E\cos(t(G-G'))` satisfies
:math:`|R_b''|\le2s_b^2` (:math:`s_b` the standard deviation), so on a stretch of nodes with centre
c and half width r

.. math:: R_b \le B_b = R_b(c) + |R_b'(c)|\,r + s_b^2r^2,
          \qquad \prod_b|\varphi_b|^{n_b} \le \prod_b\min(B_b,1)^{n_b/2} .

Stretches whose bound is negligible are dropped and the bound is counted as an error; the others are
split until they are short. This makes the cost independent of n. When n is small nothing can be
skipped; then all nodes are evaluated together, :math:`e^{itc}` factorising over t = (aB + b) step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.divergence.characteristic import (
    Characteristic,
    evaluate_nodes,
    from_complex,
)
from shuffledp.divergence.integrand import Integrand
from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.proposals.grid import Grid
from shuffledp.divergence.proposals.stretches import (
    bound_work,
    dense_work,
    main_lobe,
    node_work,
    split_parts,
    stretch_count,
    stretch_starts,
)
from shuffledp.divergence.rough_bound import bound_powers
from shuffledp.divergence.stretches import cover, listed, split
from shuffledp.divergence.tilt import TiltedSum

_SHORT = 10  # stretches of fewer nodes are evaluated
_LITTLE_WORK = 1000  # so are all that are left if that takes no more sines and cosines
_SHARE_OF_STRETCH = 1 / 300  # of the allowance
_DENSE_SIDE = 256
_SPARSE_CHUNK = 2**19

#: Bounds are sums of at most 2^26 positive terms, added pairwise (26 + 19 units), each a product of
#: an exponential with an exponent above -745 (less than 8 * 745 units) and a few more factors.
ROUND_UP = 1 + 1e-9


@dataclass
class NodeSums:
    """Sums over the nodes for E f(X) (``mean``) and the density of X at 0, with their errors.

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
    tilted: TiltedSum,
    tau: float,
    grid: Grid,
    allowance: float,
    max_work: float,
    kernel: Kernel = HINGE,
) -> NodeSums | None:
    """Sum over the nodes of the grid.

    Nodes may be skipped while their bounds add up to about ``allowance`` for the mean and
    ``allowance/tau**2`` for the density. Returns None if that takes more than ``max_work`` atoms
    times nodes.
    """
    nodes = _Nodes(tilted, tau, grid.step, kernel)
    dense = dense_work(tilted.atoms, grid.count)
    kept = nodes.select(grid.count, allowance, min(dense, max_work))
    if kept is not None:
        nodes.add(kept, allowance)
    elif dense <= max_work:
        nodes.add_all(grid.count)
        nodes.sums.work = 2 * dense
    else:
        return None
    return nodes.sums


def integrand_of(tilted: TiltedSum, tau: float, step: float, kernel: Kernel = HINGE) -> Integrand:
    """Return the integrand of one sum."""
    return Integrand(
        theta=tilted.theta,
        curvature=kernel.curvature,
        tau=tau,
        step=step,
        times=tilted.times,
        mean=tilted.mean,
        mean_size=tilted.mean_size,
    )


class _Nodes:
    """The nodes of one sum, accumulated in ``sums``."""

    def __init__(self, tilted: TiltedSum, tau: float, step: float, kernel: Kernel = HINGE) -> None:
        self.tilted, self.tau, self.step = tilted, tau, step
        self.integrand = integrand_of(tilted, tau, step, kernel)
        self.sums = NodeSums()

    def select(self, count: int, allowance: float, max_work: float) -> IntArray | None:
        """Return the nodes that cannot be skipped, or None if finding them is too much work."""
        deviation, sigma = self.tilted.deviation, math.sqrt(self.tilted.variance)
        if sigma == 0 or stretch_count(deviation, self.step, count) > max_work:
            return None
        main = min(count, max(main_lobe(sigma, self.step), 0))
        unit = node_work(self.tilted.atoms)
        work = main * unit
        if work > max_work:
            return None
        proposed = stretch_starts(deviation, self.step, main + 1, count)
        starts, sizes = cover(proposed, main + 1, count)
        kept = [np.arange(main + 1)]
        limit = allowance * _SHARE_OF_STRETCH
        widest = int(sizes.max(initial=0))
        while starts.size:
            work += starts.size * bound_work(self.tilted.atoms)
            if work > max_work:
                self.sums = NodeSums()
                return None
            mean, density = self.bounds(starts, sizes)
            dropped = (mean <= limit) & (density <= limit / self.tau**2)
            self.sums.skipped_mean += float(mean[dropped].sum()) * ROUND_UP
            self.sums.skipped_density += float(density[dropped].sum()) * ROUND_UP
            starts, sizes = starts[~dropped], sizes[~dropped]
            if widest < _SHORT or starts.size * widest * unit <= _LITTLE_WORK:
                work += int(sizes.sum()) * unit
                if work > max_work:
                    self.sums = NodeSums()
                    return None
                kept.append(listed(starts, sizes))
                break
            parts = split_parts(self.tilted.atoms, widest)
            starts, sizes = split(starts, sizes, parts)
            widest = -(-widest // parts)
        self.sums.work = work
        return np.concatenate(kept)

    def bounds(self, starts: IntArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Bound what the nodes of each stretch add to the two sums."""
        parts = zip(self.tilted.laws, self.tilted.times, strict=True)
        squares = [bound_powers([law], self.step, starts, sizes, n)[0] for law, n in parts]
        return self.integrand.bounds(starts, sizes, squares)

    def add(self, nodes: IntArray, allowance: float = 0.0) -> None:
        """Evaluate the given nodes; products may be off by the ``allowance``, about."""
        chunk = max(_SPARSE_CHUNK // self.tilted.atoms, 1)
        for begin in range(0, nodes.size, chunk):
            k = nodes[begin : begin + chunk]
            parts = zip(self.tilted.laws, self.tilted.times, strict=True)
            found = [evaluate_nodes(law, self.step, k, n, accurate=allowance) for law, n in parts]
            self._accumulate(k, self.step * k.astype(np.float64), found)

    def add_all(self, count: int) -> None:
        """Evaluate every node; one matrix product per law and tile of consecutive nodes."""
        side = min(_DENSE_SIDE, math.isqrt(count) + 1)
        first = self.step * np.arange(side)
        inner = [np.exp(1j * np.multiply.outer(first, law.centred)) for law in self.tilted.laws]
        for begin in range(0, count + 1, side * side):
            rows = np.arange(begin, min(begin + side * side, count + 1), side)
            k = (rows[:, None] + np.arange(side)).ravel()
            inside = k <= count
            t = self.step * k[inside].astype(np.float64)
            characteristics = []
            for law, turns in zip(self.tilted.laws, inner, strict=True):
                outer = np.exp(1j * np.multiply.outer(self.step * rows, law.centred))
                phi = ((law.probability * outer) @ turns.T).ravel()[inside]
                characteristics.append(from_complex(law, t, phi))
            self._accumulate(k[inside], t, characteristics)

    def _accumulate(
        self, k: IntArray, t: FloatArray, characteristics: Sequence[Characteristic]
    ) -> None:
        """Add nodes to the sums, given the characteristic functions of all laws."""
        terms = self.integrand.terms(k, t, characteristics)
        self.sums.mean += float(terms.mean.sum())
        self.sums.density += float(terms.density.sum())
        self.sums.rounding_density += float(terms.rounding_density.sum()) * ROUND_UP
        self.sums.rounding_mean += float(terms.rounding_mean.sum()) * ROUND_UP
