r"""Where to put the edges of cells.

A spread of variance v per summand changes :math:`\log E[S_+]` by about :math:`\frac12\theta^2nv`,
which tells how many edges are needed. They are chosen by the tilted law, the one that decides the
answer.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.decomposition.cells import choose_edges, interpolate
from shuffledp.divergence.blocks import Block, BlockSum
from shuffledp.divergence.proposals.size import estimate_saddle

_FIRST_EDGES = 150
_MAX_EDGES = 600
_SHARE_OF_RTOL = 0.3


def edges_for(total: BlockSum, rtol: float, log_mean: float) -> list[FloatArray]:
    """Return edges for each law, among its values, whose cells cost about ``rtol/2`` in the log.

    ``log_mean`` is a guess that, if far below the saddle-point estimate, says that single large
    values rule.
    """
    saddle = estimate_saddle(total)
    share = _SHARE_OF_RTOL * rtol / len(total.blocks)
    pairs = list(zip(total.blocks, saddle.probabilities, strict=True))
    if log_mean < saddle.log_mean - 1:
        return [
            choose_edges(block.law.values, _jump_measure(total, block, tilted), _MAX_EDGES)
            for block, tilted in pairs
        ]
    return [_edges(block, tilted, saddle.theta, share) for block, tilted in pairs]


def _edges(block: Block, tilted: FloatArray, theta: float, allowance: float) -> FloatArray:
    """Return edges that cost at most about ``allowance``."""
    values = block.law.values
    edges = choose_edges(values, tilted, _FIRST_EDGES)
    index, share = interpolate(values, edges)
    gap = np.append(np.diff(edges), 0.0)[index]
    variance = float(tilted @ (share * (1 - share) * gap**2))
    loss = 0.5 * theta**2 * block.times * variance
    wanted = _FIRST_EDGES * math.sqrt(loss / allowance)
    if wanted > _FIRST_EDGES:
        edges = choose_edges(values, tilted, int(min(wanted, _MAX_EDGES)))
    return edges


def _jump_measure(total: BlockSum, block: Block, tilted: FloatArray) -> FloatArray:
    """Return where cells cost most if one large value makes the sum positive.

    They are the common values, and those that just make up for the drift of all others.
    """
    law = block.law
    means = [float(b.law.weights @ b.law.values) for b in total.blocks]
    drift = -sum(b.times * mean for b, mean in zip(total.blocks, means, strict=True))
    drift += float(law.weights @ law.values) + total.offset
    spread = 0.0
    for b in total.blocks:
        common = np.where(b.law.values < drift / 2, b.law.values, 0.0)
        spread += b.times * float(b.law.weights @ common**2)
    kink = law.weights * np.exp(-0.5 * ((law.values - drift) / math.sqrt(spread)) ** 2)
    weight = float(kink.sum())
    return (tilted + law.weights + (kink / weight if weight > 0 else 0.0)) / 3
