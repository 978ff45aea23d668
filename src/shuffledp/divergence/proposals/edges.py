r"""Where to put the edges of cells.

A value that is spread between two edges with variance v, seen from the saddle point theta, adds
about :math:`\frac12\theta^2v` times its tilted probability to :math:`\log E[S_+]`. Where cells are
wide, as among losses that the tilt makes negligible, it adds what the larger edge has: in the
coordinate :math:`x=2e^{\theta g/2}` both are about the probability times the squared width.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.decomposition.cells import choose_edges, interpolate
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import Block, BlockSum
from shuffledp.divergence.proposals.size import estimate_saddle

_FIRST_EDGES = 150
_MAX_EDGES = 600
_SHARE_OF_RTOL = 0.3
_MAX_EXPONENT = 300.0
_FOLD, _FOLDS = 2.0, 30  # theta g: no cell is wider next to the largest value, and how often


def edges_for(total: BlockSum, rtol: float) -> list[FloatArray]:
    """Return edges for each law, among its values, whose cells cost about ``rtol/2`` in the log."""
    saddle = estimate_saddle(total)
    share = _SHARE_OF_RTOL * rtol / len(total.blocks)
    return [
        _edges(block, tilted, saddle.theta, share)
        for block, tilted in zip(total.blocks, saddle.probabilities, strict=True)
    ]


def _edges(block: Block, tilted: FloatArray, theta: float, allowance: float) -> FloatArray:
    """Return edges that cost at most about ``allowance``."""
    law = block.law
    edges = _chosen(law, theta, _FIRST_EDGES)
    index, share = interpolate(law.values, edges)
    above = edges[np.minimum(index + 1, edges.size - 1)] - law.values
    below = law.values - edges[index]
    growth = share * _growth(theta * above) + (1 - share) * _growth(-theta * below)
    loss = block.times * float(tilted @ growth)
    wanted = _FIRST_EDGES * math.sqrt(max(loss, 0.0) / allowance)
    if wanted > _FIRST_EDGES:
        edges = _chosen(law, theta, int(min(wanted, _MAX_EDGES)))
    return edges


def _growth(exponents: FloatArray) -> FloatArray:
    return np.expm1(np.minimum(exponents, _MAX_EXPONENT))


def _chosen(law: Law, theta: float, count: int) -> FloatArray:
    """Return the edges that are best for cells measured by their width in x."""
    values = np.sort(law.values)
    # In units of the largest e^{theta g/2}, so that nothing overflows.
    x = np.exp(0.5 * theta * (values - values[-1]))
    order = np.argsort(law.values, kind="stable")
    edges = choose_edges(x, law.weights[order], count)
    chosen = values[np.searchsorted(x, edges, side="right") - 1]
    # Masses that are large, but tiny in x all together, are kept from the largest values.
    steps = values[-1] - _FOLD / theta * np.arange(1, _FOLDS + 1)
    return np.union1d(chosen, values[np.searchsorted(values, steps)])
