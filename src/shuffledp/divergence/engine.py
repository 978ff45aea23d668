"""Certified evaluation of delta = (1/n) E[(G_1+...+G_n)_+] for one GPARV."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.contour import contour_log_mean
from shuffledp.divergence.enclosure import LogEnclosure


def log_mean_positive(law: Law, n: int, rtol: float, max_work=3e7) -> LogEnclosure:
    top = int(np.argmax(law.values))
    if law.values[top] + law.value_error[top] <= 0:
        return LogEnclosure(-math.inf, -math.inf)
    return contour_log_mean(law, n, rtol, max_work)
