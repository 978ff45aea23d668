"""How often each atom may be drawn, if nearly all summands have their usual value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.divergence.blocks import BlockSum

_SHARE_OF_RTOL = 1e-5  # of a bound from one tilt, which is many times too large
_MOST_DRAWS = 300
_MOST_OUTCOMES = 150_000
_FEW_GAINS = 1.0


def choose_windows(
    log_rates: Sequence[FloatArray], times: Sequence[int], rtol: float
) -> list[IntArray] | None:
    """Return for each block how often its atoms are drawn, at most, -1 for the usual one.

    Args:
        log_rates: the logarithms of how often atoms are drawn on average, as seen from the tilt.
        times: number of summands of each block.
        rtol: what may be left out.

    Returns:
        None if there are too many outcomes inside.

    >>> [window.tolist() for window in choose_windows([np.log([50.0, 0.1, 1e-9])], [50], 1e-3)]
    [[-1, 5, 0]]
    """
    allowed = math.log(_SHARE_OF_RTOL * rtol / sum(rates.size for rates in log_rates))
    windows, log_outcomes = [], 0.0
    for rates, most in zip(log_rates, times, strict=True):
        window = np.zeros(rates.size, dtype=np.int64)
        usual = int(np.argmax(rates))
        open_ = np.delete(np.arange(rates.size), usual)
        # What is allowed at once is so for all that are fewer: the difference is concave, 0 for 0.
        last = _MOST_DRAWS * rates[open_] - math.lgamma(_MOST_DRAWS + 1)
        if most >= _MOST_DRAWS and np.any(last > allowed):
            return None
        for draws in range(1, _MOST_DRAWS + 1):
            open_ = open_[draws * rates[open_] - math.lgamma(draws + 1) > allowed]
            log_outcomes += float(open_.size) * math.log1p(1 / draws)
            if draws > most or not open_.size:
                break
            if log_outcomes > math.log(_MOST_OUTCOMES):
                return None
            window[open_] = draws
        else:
            return None
        window[usual] = -1
        windows.append(window)
    return windows


def has_few_gains(total: BlockSum) -> bool:
    """Whether, on average, so few summands are positive that windows are worth a try at once."""
    counts = (
        block.times * float(block.law.weights @ (block.law.values > 0)) for block in total.blocks
    )
    return sum(counts) < _FEW_GAINS
