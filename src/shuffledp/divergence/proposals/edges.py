r"""Where to put the edges of cells.

A spread of variance v per summand changes log delta by about :math:`\frac12\theta^2nv`, which tells
how many edges are needed. They are chosen by the tilted law, the one that decides the answer.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.decomposition.cells import choose_edges, interpolate
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.proposals.size import estimate_saddle

_FIRST_EDGES = 150
_MAX_EDGES = 600
_SHARE_OF_RTOL = 0.3


def edges_for(law: Law, n: int, rtol: float, log_delta: float) -> FloatArray:
    """Return edges, among the values, whose cells cost about ``rtol/2`` in log delta.

    ``log_delta`` is a guess that, if far below the saddle-point estimate, says that single large
    values rule.
    """
    saddle = estimate_saddle(law, n)
    if log_delta < saddle.log_delta - 1:
        return choose_edges(law.values, _jump_measure(law, saddle.probability, n), _MAX_EDGES)
    edges = choose_edges(law.values, saddle.probability, _FIRST_EDGES)
    index, share = interpolate(law.values, edges)
    gap = np.append(np.diff(edges), 0.0)[index]
    variance = float(saddle.probability @ (share * (1 - share) * gap**2))
    loss = 0.5 * saddle.drift**2 / n * variance
    wanted = _FIRST_EDGES * math.sqrt(loss / (_SHARE_OF_RTOL * rtol))
    if wanted > _FIRST_EDGES:
        edges = choose_edges(law.values, saddle.probability, int(min(wanted, _MAX_EDGES)))
    return edges


def _jump_measure(law: Law, tilted: FloatArray, n: int) -> FloatArray:
    """Return where cells cost most if one large value makes the sum positive.

    They are the common values, and those that just make up for the drift of all others.
    """
    drift = -(n - 1) * float(law.weights @ law.values)
    common = np.where(law.values < drift / 2, law.values, 0.0)
    deviation = math.sqrt(n * float(law.weights @ common**2))
    kink = law.weights * np.exp(-0.5 * ((law.values - drift) / deviation) ** 2)
    total = float(kink.sum())
    return (tilted + law.weights + (kink / total if total > 0 else 0.0)) / 3
