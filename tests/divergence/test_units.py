"""Sums of huge and of tiny values: they are evaluated in units in which squares stay finite."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.decomposition import GPARV, Law
from shuffledp.divergence import BlockSum, log_delta, log_delta_bound, log_mean_positive, mean


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


PLAIN = make_law([2.0, -2.5, 0.0, 0.5], [0.1, 0.15, 0.7, 0.05])
WIDER = make_law([3.0, -3.0, 0.0, 0.5], [0.1, 0.15, 0.7, 0.05])


def scaled(factor: float) -> GPARV:
    return GPARV(
        Law(factor * PLAIN.values, PLAIN.weights, PLAIN.value_error, PLAIN.weight_error),
        Law(factor * WIDER.values, WIDER.weights, WIDER.value_error, WIDER.weight_error),
        0.125 * factor,
        0.25 * factor,
    )


@pytest.mark.parametrize("n", [1, 3, 500])
def test_huge_values_are_scaled_down(n: int) -> None:
    shift = math.log(1e150)
    plain, huge = log_delta(scaled(1.0), n), log_delta(scaled(1e150), n)
    assert huge.lower - shift == pytest.approx(plain.lower, abs=1e-9)
    assert huge.upper - shift == pytest.approx(plain.upper, abs=1e-9)
    bound = log_delta_bound(scaled(1e150), n)
    assert bound - shift == pytest.approx(log_delta_bound(scaled(1.0), n), abs=1e-9)


def test_the_scale_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    total = BlockSum.of((scaled(1e150).lower, 3))
    plain, bound = log_mean_positive(total, total, rtol=1e-4).enclosure, mean.log_mean_bound(total)
    monkeypatch.setattr(mean, "UNIT", 1e-6)
    wide = log_mean_positive(total, total, rtol=1e-4).enclosure
    shift = math.log(1e150)
    assert plain.lower - wide.lower >= 2e-6 * shift
    assert wide.upper - plain.upper >= 2e-6 * shift
    assert mean.log_mean_bound(total) - bound >= 2e-6 * shift


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_huge_loss_is_scaled_down_as_well(sign: int) -> None:
    """The largest value counts by its size, in either sum and any block."""
    law = make_law([sign * 1e150, -sign * 1.0, 0.0], [0.2, 0.3, 0.5])
    other = make_law([0.5, -1.0, 0.0], [0.2, 0.3, 0.5])
    huge, usual = BlockSum.of((other, 2), (law, 1)), BlockSum.of((other, 3))
    assert mean._safe_factor({usual}) == 1
    assert mean._safe_factor({huge, usual}) == mean._safe_factor({huge}) == 1e-150


@pytest.mark.parametrize("unit", [1e-150, 1e-305, 5e-324])
def test_tiny_values_are_scaled_up(unit: float) -> None:
    factor = mean._safe_factor({BlockSum.of((make_law([unit, -unit], [0.5, 0.5]), 2))})
    assert factor == pytest.approx(min(1 / unit, 1e300) if unit > 1e-308 else 1e300)
    assert mean._safe_factor({BlockSum.of((make_law([0.0], [1.0]), 2))}) == 1
