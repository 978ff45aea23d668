"""Halving, and Gaussian losses, with which a search guesses; nothing certified uses them."""

from __future__ import annotations

import math
from collections.abc import Callable

_HALVINGS = 80


def end_of(condition: Callable[[float], bool], low: float, high: float) -> float:
    """Return about where a condition ends that holds from ``low`` on and not at ``high``."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if condition(middle) else (low, middle)
    return high


def gaussian_spread(epsilon: float, delta: float) -> float:
    """Return the standard deviation of the Gaussian loss that has this delta at this epsilon.

    >>> round(gaussian_epsilon(gaussian_spread(0.5, 1e-8), 1e-8), 9)
    0.5
    """
    low, high = 0.0, 1.0
    while _delta(high, epsilon) < delta:
        low, high = high, 2 * high
    return end_of(lambda spread: _delta(spread, epsilon) < delta, low, high)


def gaussian_epsilon(spread: float, delta: float) -> float:
    """Return the epsilon at which a Gaussian loss of this standard deviation has this delta."""
    low, high = 0.0, spread
    while _delta(spread, high) > delta:
        low, high = high, 2 * high
    return end_of(lambda epsilon: _delta(spread, epsilon) > delta, low, high)


def _delta(spread: float, epsilon: float) -> float:
    from scipy.special import log_ndtr

    ahead = float(log_ndtr(spread / 2 - epsilon / spread))
    behind = epsilon + float(log_ndtr(-spread / 2 - epsilon / spread))
    return math.exp(ahead) - math.exp(min(behind, 0.0))
