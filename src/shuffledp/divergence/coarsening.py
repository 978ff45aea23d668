r"""Few atoms for many: enclose a law of G, at one epsilon, between two small laws.

Edges are chosen among the atoms by the tilted law, the one that decides the answer. Atoms between
two edges are moved to their mean in the lower law and split between the edges in the upper law
(:mod:`shuffledp.decomposition.cells`). A spread of variance v per summand changes log delta by
about :math:`\frac12\theta^2nv`, which tells how many edges are needed.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.decomposition.arithmetic import UNIT, FloatArray
from shuffledp.decomposition.cells import boxes, choose_edges, interpolate
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.tail import estimate_saddle

#: Laws with at most this many atoms are used as they are.
MAX_ATOMS = 200

_FIRST_EDGES = 150
_MAX_EDGES = 600
_SHARE_OF_RTOL = 0.3


def coarsen_law(law: Law, n: int, rtol: float, log_delta: float = math.inf) -> tuple[Law, Law]:
    """Return (lower, upper) with ``lower <=cx law <=cx upper`` and few atoms.

    The two differ by about ``rtol/2`` in log delta where that takes no more than 600 edges. Laws of
    up to 200 atoms are returned unchanged. ``log_delta`` is a guess that, if far below the
    saddle-point estimate, says that single large values rule.
    """
    if law.size <= MAX_ATOMS or law.values.max() <= 0:
        return law, law
    saddle = estimate_saddle(law, n)
    if log_delta < saddle.log_delta - 1:
        edges = choose_edges(law.values, _jump_measure(law, saddle.probability, n), _MAX_EDGES)
        return _contract(law, edges), _spread(law, edges)
    edges = choose_edges(law.values, saddle.probability, _FIRST_EDGES)
    index, share = interpolate(law.values, edges)
    gap = np.append(np.diff(edges), 0.0)[index]
    variance = float(saddle.probability @ (share * (1 - share) * gap**2))
    loss = 0.5 * saddle.drift**2 / n * variance
    wanted = _FIRST_EDGES * math.sqrt(loss / (_SHARE_OF_RTOL * rtol))
    if wanted > _FIRST_EDGES:
        edges = choose_edges(law.values, saddle.probability, int(min(wanted, _MAX_EDGES)))
    return _contract(law, edges), _spread(law, edges)


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


def _contract(law: Law, edges: FloatArray) -> Law:
    """Move the atoms between two edges to their mean; atoms on an edge stay."""
    _, group = np.unique(boxes(law.values, edges), return_inverse=True)
    mass = np.bincount(group, law.weights).astype(np.float64)
    mean = np.bincount(group, law.weights * law.values) / mass
    rounding = (np.bincount(group) + 4) * UNIT
    error = np.bincount(group, law.weights * _value_error(law)) / mass
    error += rounding * np.bincount(group, law.weights * np.abs(law.values)) / mass
    weight_error = np.bincount(group, law.weights * law.weight_error) / mass + rounding
    return Law(mean, mass, error, weight_error)


def _spread(law: Law, edges: FloatArray) -> Law:
    """Split every atom between its neighbouring edges, keeping the mean."""
    index, share = interpolate(law.values, edges)
    ends = np.concatenate([index, np.minimum(index + 1, edges.size - 1)])
    parts = np.concatenate([law.weights * (1 - share), law.weights * share])

    def collect(factors: FloatArray) -> FloatArray:
        total = np.bincount(ends, parts * np.tile(factors, 2), edges.size)
        return total.astype(np.float64)

    used = collect(np.ones(law.size)) > 0
    mass = collect(np.ones(law.size))[used]
    rounding = (np.bincount(ends, minlength=edges.size)[used] + 8) * UNIT
    error = collect(_value_error(law))[used] / mass + rounding * np.abs(edges[used])
    weight_error = collect(law.weight_error)[used] / mass + rounding
    return Law(edges[used], mass, error, weight_error)


def _value_error(law: Law) -> FloatArray:
    """Return errors of the values when they enter means: those of the weights act on them too."""
    return law.value_error + law.weight_error * np.abs(law.values)
