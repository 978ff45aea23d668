"""From decompositions in balls to doubles with stated errors, for the engine in doubles."""

from __future__ import annotations

import numpy as np
from flint import arb

from shuffledp import newdec
from shuffledp.arrays import UNIT
from shuffledp.decomposition import Decomposition


def to_doubles(decomposition: newdec.Decomposition) -> Decomposition:
    """Return the same decomposition; what balls leave open is a stated error.

    >>> exact = newdec.Decomposition.from_coefficients([0.5, 0.5], [0.25, 0.75], [0.25, 0.5])
    >>> to_doubles(exact).residual
    0.25
    """
    parts, spread = decomposition.components, decomposition.spread
    logs = [(_log(c.log0), _log(c.log1)) for c in parts]
    weights = [_mass(c.weight) for c in parts]
    singular = [(_mass(s.a), _mass(s.b)) for s in decomposition.singular]
    residual = _mass(decomposition.residual)
    return Decomposition(
        log_ratio0=np.array([first for (first, _), _ in logs]),
        log_ratio1=np.array([second for _, (second, _) in logs]),
        weight=np.array([mass for mass, _ in weights]),
        residual=residual[0],
        log_ratio_error=np.array([max(x, y) for (_, x), (_, y) in logs]),
        weight_error=np.array([error for _, error in weights]),
        residual_error=residual[1],
        singular0=np.array([a for (a, _), _ in singular]),
        singular1=np.array([b for _, (b, _) in singular]),
        singular_error=max((max(x, y) for (_, x), (_, y) in singular), default=0.0),
        spread=None if spread is None else to_doubles(spread),
    )


def _log(log: arb | None) -> tuple[float, float]:
    if log is None:
        return -np.inf, 0.0
    return float(log), 2 * float(log.rad()) + 2 * UNIT * abs(float(log))


def _mass(mass: arb) -> tuple[float, float]:
    middle = max(float(mass), 0.0)
    return middle, 4 * UNIT + (2 * float(mass.rad()) / middle if middle else 0.0)
