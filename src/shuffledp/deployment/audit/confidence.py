"""Confidence limits of a probability, from how often an event was seen."""

from __future__ import annotations

import numpy as np

from shuffledp.basics.arrays import FloatArray, IntArray

#: The quantiles below are good to more digits than this; the limits are moved by it, outwards.
_ACCURACY = 1e-9


def lower_limit(hits: IntArray | int, runs: int, risk: float) -> FloatArray:
    r"""Return a p that is at most the probability of the event, except with probability ``risk``.

    The limit of Clopper and Pearson (1934): at p the event is seen as often or more often with
    probability ``risk``.

    >>> bool(0.4 < lower_limit(50, 100, 0.05) < 0.5), float(lower_limit(0, 100, 0.05))
    (True, 0.0)
    """
    from scipy.special import betaincinv

    seen = np.asarray(hits)
    # The parameter 0 of a Beta law is no number for scipy; the limit of "never seen" is 0.
    quantile = betaincinv(np.maximum(seen, 1), runs - seen + 1, risk)
    return np.where(seen == 0, 0.0, quantile) * (1 - _ACCURACY)


def upper_limit(hits: IntArray | int, runs: int, risk: float) -> FloatArray:
    """Return a p that is at least the probability of the event, except with probability ``risk``.

    >>> bool(0.5 < upper_limit(50, 100, 0.05) < 0.6), float(upper_limit(100, 100, 0.05))
    (True, 1.0)
    """
    from scipy.special import betainccinv

    seen = np.asarray(hits)
    quantile = betainccinv(seen + 1, np.maximum(runs - seen, 1), risk)
    return np.minimum(np.where(seen == runs, 1.0, quantile) * (1 + _ACCURACY), 1.0)
