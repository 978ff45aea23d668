"""Few atoms for many: where to put the edges between which atoms are moved.

Any choice of edges gives a proved bound (:meth:`shuffledp.certification.law.Law.on`); this one
makes it a sharp one, in the way of :mod:`shuffledp.divergence.coarsening`.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb

from shuffledp.certification.law import Law
from shuffledp.certification.tilt import FloatArray, relative_values, saddle_point
from shuffledp.engine.balls import logarithm

#: Laws with at most this many atoms are used as they are.
MAX_ATOMS = 200

_FIRST_EDGES = 150
_FEW_EDGES, _MAX_EDGES = 600, 1600
_COARSE_RTOL = 5e-4
_SHARE_OF_RTOL = 0.3


def choose_edges(law: Law, n: int, rtol: float, hint: arb) -> list[int]:
    """Return the places of the atoms to keep, the first and the last included.

    The loss of a cell is its tilted mass times its squared width; the total is least when edges
    have the density mass^(1/3). A spread of variance v per summand changes log delta by about
    theta^2 n v/2, which tells how many edges are needed.
    """
    values, logs = relative_values(law)
    theta = float((saddle_point(law, n) * law.atoms[-1].value).mid())
    exponent = theta * values + logs
    tilted = np.exp(exponent - exponent.max())
    log_mgf = float(exponent.max() + np.log(tilted.sum()))
    tilted /= tilted.sum()
    mean = float(tilted @ values)
    spread = n * float(tilted @ (values - mean) ** 2) + 2 / theta**2
    saddle = n * log_mgf - 2 * math.log(theta) - math.log(n) - 0.5 * math.log(2 * math.pi * spread)
    heights, mass = values[:-1], tilted[:-1]
    if logarithm(hint / law.atoms[-1].value) < saddle - 1:
        count = _FEW_EDGES if rtol >= _COARSE_RTOL else _MAX_EDGES
        return _place(heights, mass + _jumps(values, np.exp(logs), n), count)
    edges = _place(heights, mass, _FIRST_EDGES)
    loss = 0.5 * theta**2 * n * _variance(heights, mass, edges)
    wanted = _FIRST_EDGES * math.sqrt(loss / (_SHARE_OF_RTOL * rtol))
    return _place(heights, mass, int(min(max(wanted, _FIRST_EDGES), _MAX_EDGES)))


def _place(values: FloatArray, mass: FloatArray, count: int) -> list[int]:
    """Return about ``count`` places by equal increments of the density; heavy atoms are kept."""
    local = np.maximum(mass[1:], mass[:-1])
    position = np.concatenate([[0.0], np.cumsum(np.cbrt(local * np.diff(values) ** 2))])
    heavy = np.flatnonzero(mass * (count // 2) >= mass.sum())
    chosen = np.searchsorted(position, np.linspace(0.0, position[-1], max(count - heavy.size, 2)))
    picked = np.unique(np.concatenate([chosen, heavy, [0, values.size - 1]]))
    return [int(i) for i in np.minimum(picked, values.size - 1)]


def _variance(values: FloatArray, mass: FloatArray, edges: list[int]) -> float:
    """Return what splitting between the edges adds to the variance."""
    ends = values[edges]
    index = np.clip(np.searchsorted(ends, values, side="right") - 1, 0, ends.size - 2)
    gap = ends[index + 1] - ends[index]
    share = np.divide(values - ends[index], gap, out=np.zeros_like(gap), where=gap > 0)
    return float(mass @ (share * (1 - share) * gap**2))


def _jumps(values: FloatArray, weights: FloatArray, n: int) -> FloatArray:
    """Return where cells cost most if one large value makes the sum positive.

    They are the common values, and those that just make up for the drift of all others.
    """
    drift = -(n - 1) * float(weights @ values)
    common = np.where(values < drift / 2, values, 0.0)
    deviation = math.sqrt(n * float(weights @ common**2)) or 1.0
    kink = weights * np.exp(-0.5 * ((values - drift) / deviation) ** 2)
    size = float(kink.sum())
    measure: FloatArray = weights + (kink / size if size > 0 else 0.0)
    return measure[:-1]
