r"""Few atoms for many: enclose a law of G, at one epsilon, between two small laws.

Edges are chosen among the atoms by the tilted law, the one that decides the answer. Atoms between
two edges are moved to their mean in the lower law and split between the edges in the upper law
(:mod:`shuffledp.decomposition.cells`). A spread of variance v per summand changes log delta by about
:math:`\frac12\theta^2nv`, which tells how many edges are needed.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.decomposition.arithmetic import UNIT
from shuffledp.decomposition.cells import boxes, choose_edges, interpolate, split_to_edges
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.tilt import saddle_point, tilt

#: Laws with at most this many atoms are used as they are.
MAX_ATOMS = 200

_FIRST_EDGES = 150
_MAX_EDGES = 1500
_SHARE_OF_RTOL = 0.2


def coarsen_law(law: Law, n: int, rtol: float) -> tuple[Law, Law]:
    """Return (lower, upper) with ``lower <=cx law <=cx upper`` and few atoms.

    Laws of up to 200 atoms are returned unchanged.
    """
    if law.size <= MAX_ATOMS or law.values.max() <= 0:
        return law, law
    tilted = tilt(law, saddle_point(law, n))
    edges = choose_edges(law.values, tilted.probability, _FIRST_EDGES)
    index, share = interpolate(law.values, edges)
    gap = np.append(np.diff(edges), 0.0)[index]
    variance = float(tilted.probability @ (share * (1 - share) * gap**2))
    loss = 0.5 * tilted.theta**2 * n * variance
    wanted = _FIRST_EDGES * math.sqrt(loss / (_SHARE_OF_RTOL * rtol))
    if wanted > _FIRST_EDGES:
        edges = choose_edges(law.values, tilted.probability, int(min(wanted, _MAX_EDGES)))
    error = float(law.value_error.max())
    weight_error = law.weight_error + 8 * UNIT
    _, group = np.unique(boxes(law.values, edges), return_inverse=True)
    mass = np.bincount(group, law.weights)
    mean = np.bincount(group, law.weights * law.values) / mass
    mean_error = np.zeros(mass.size)
    np.maximum.at(mean_error, group, law.value_error + 16 * UNIT * np.abs(law.values))
    lower = Law(mean, mass, mean_error, weight_error)
    split = split_to_edges(law.values, law.weights, edges)
    used = split > 0
    upper = Law(edges[used], split[used], np.full(int(used.sum()), error), weight_error)
    return lower, upper
