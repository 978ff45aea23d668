r"""Few atoms for many: small laws below and above a law of G, at one epsilon, in convex order.

Atoms between two edges are moved to their mean in the lower law and split between the edges in the
upper law (:mod:`shuffledp.decomposition.cells`). Any edges are valid.
"""

from __future__ import annotations

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.cells import boxes, interpolate
from shuffledp.decomposition.gparv import Law


def contract(law: Law, edges: FloatArray) -> Law:
    """Move the atoms between two edges to their mean; atoms on an edge stay."""
    edges = _with_ends(law, edges)
    _, group = np.unique(boxes(law.values, edges), return_inverse=True)
    mass = np.bincount(group, law.weights).astype(np.float64)
    mean = np.bincount(group, law.weights * law.values) / mass
    # A sum of k products has at most k roundings on the way of each; a mean has two such sums.
    rounding = (np.bincount(group) + 4) * UNIT
    error = np.bincount(group, law.weights * _value_error(law)) / mass
    error += 2 * rounding * np.bincount(group, law.weights * np.abs(law.values)) / mass
    weight_error = np.bincount(group, law.weights * law.weight_error) / mass + rounding
    return Law(mean, mass, error, weight_error)


def spread(law: Law, edges: FloatArray) -> Law:
    """Split every atom between its neighbouring edges, keeping the mean."""
    edges = _with_ends(law, edges)
    index, share = interpolate(law.values, edges)
    above = np.minimum(index + 1, edges.size - 1)
    # 1 - share would lose the digits of a small rest.
    rest, gap = edges[above] - law.values, edges[above] - edges[index]
    rest = np.clip(np.divide(rest, gap, out=np.ones(law.size), where=gap > 0), 0.0, 1.0)
    ends = np.concatenate([index, above])
    parts = np.concatenate([law.weights * rest, law.weights * share])

    def collect(factors: FloatArray) -> FloatArray:
        total = np.bincount(ends, parts * np.tile(factors, 2), edges.size)
        return total.astype(np.float64)

    used = collect(np.ones(law.size)) > 0
    mass = collect(np.ones(law.size))[used]
    # k roundings of sums, as above; a share is a quotient of two differences, times a weight.
    rounding = (np.bincount(ends, minlength=edges.size)[used] + 8) * UNIT
    error = collect(_value_error(law))[used] / mass + rounding * np.abs(edges[used])
    weight_error = collect(law.weight_error)[used] / mass + rounding
    return Law(edges[used], mass, error, weight_error)


def _with_ends(law: Law, edges: FloatArray) -> FloatArray:
    """Return the edges within the range of a law; the ends of that are edges in any case."""
    least, most = law.values.min(), law.values.max()
    inner = edges[(edges > least) & (edges < most)]
    return np.unique(np.concatenate([[least], inner, [most]]))


def _value_error(law: Law) -> FloatArray:
    """Return errors of the values when they enter means: those of the weights act on them too."""
    return law.value_error + law.weight_error * np.abs(law.values)
