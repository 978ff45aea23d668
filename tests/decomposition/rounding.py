"""Decompositions with stated errors, and a unit round-off that can be set."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp.decomposition import Decomposition
from shuffledp.decomposition import boxes as boxes_module
from shuffledp.decomposition import components as components_module
from shuffledp.decomposition import decomposition as module
from shuffledp.decomposition import faint as faint_module
from shuffledp.decomposition import gains as gains_module
from shuffledp.decomposition import masses as masses_module
from shuffledp.decomposition import mixture as mixture_module
from shuffledp.decomposition import product as product_module
from shuffledp.decomposition import segments as segments_module

INF = math.inf
ROUNDED = (
    boxes_module,
    components_module,
    faint_module,
    gains_module,
    masses_module,
    mixture_module,
    module,
    product_module,
    segments_module,
)

A, B = np.array([0.5, 0.2, 0.2]), np.array([0.1, 0.3, 0.5])  # the rest of both is singular
C = np.array([0.2, 0.1, 0.3])
VAGUE = Decomposition(
    log_ratio0=np.log(A / C),
    log_ratio1=np.log(B / C),
    weight=C,
    residual=0.4,
    log_ratio_error=[1e-4, 3e-4, 2e-4],
    weight_error=[2e-4, 1e-4, 5e-4],
    residual_error=3e-4,
    singular0=[0.08, 0.02],
    singular1=[0.01, 0.09],
    singular_error=7e-4,
)
OTHER = Decomposition(
    log_ratio0=np.log([2.0, 0.5]),
    log_ratio1=np.log([0.5, 2.0]),
    weight=[0.25, 0.25],
    residual=0.5,
    log_ratio_error=[4e-4, 1e-4],
    weight_error=[1e-4, 6e-4],
    residual_error=1e-4,
    singular0=[0.375],
    singular1=[0.375],
    singular_error=2e-4,
)


UNEVEN = replace(OTHER, log_ratio_error=[0.0, 5e-3], weight_error=[0.0, 0.0])


@pytest.fixture
def no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse_unit(monkeypatch, 0.0)


def coarse_unit(monkeypatch: pytest.MonkeyPatch, unit: float) -> None:
    for place in ROUNDED:
        monkeypatch.setattr(place, "UNIT", unit)
    monkeypatch.setattr(mixture_module, "_ROUNDING", 8 * unit)
