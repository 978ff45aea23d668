"""From decompositions in doubles, whose errors are stated, to decompositions in balls."""

from __future__ import annotations

import math

from flint import arb

from shuffledp import newdec
from shuffledp.decomposition import Decomposition
from shuffledp.engine.balls import precision


def from_doubles(decomposition: Decomposition) -> newdec.Decomposition:
    """Return the same decomposition, every number with its stated error as its radius.

    >>> pairs = Decomposition.from_coefficients([0.5, 0.5], [0.25, 0.75], [0.25, 0.5])
    >>> round(float(from_doubles(pairs).residual), 12)
    0.25
    """
    with precision():
        spread = decomposition.spread
        return newdec.Decomposition(
            tuple(
                newdec.Component(_log(log0, error), _log(log1, error), _mass(weight, relative))
                for log0, log1, weight, error, relative in zip(
                    decomposition.log_ratio0.tolist(),
                    decomposition.log_ratio1.tolist(),
                    decomposition.weight.tolist(),
                    decomposition.log_ratio_error.tolist(),
                    decomposition.weight_error.tolist(),
                    strict=True,
                )
            ),
            _mass(decomposition.residual, decomposition.residual_error),
            tuple(
                newdec.Singular(*(_mass(mass, decomposition.singular_error) for mass in pair))
                for pair in zip(
                    decomposition.singular0.tolist(), decomposition.singular1.tolist(), strict=True
                )
            ),
            None if spread is None else from_doubles(spread),
        ).merged()


def _log(log: float, error: float) -> arb | None:
    return None if log == -math.inf else arb(log, error)


def _mass(mass: float, error: float) -> arb:
    return arb(mass) * arb(1, error)
