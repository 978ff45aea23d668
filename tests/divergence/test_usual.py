"""Sums whose summands nearly all have their usual value, against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_sums import ExactSum, contains
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, Kernel, contour, usual
from shuffledp.divergence.elementary import can_be_positive
from shuffledp.divergence.kernel import HINGE
from shuffledp.divergence.usual import usual_log_mean


def random_block(rng: np.random.Generator, most: int) -> tuple[list, int]:
    """Atoms in sixteenths, one of which has most of the mass."""
    atoms = int(rng.integers(2, 5))
    values = [Fraction(int(v), 16) for v in rng.choice(np.arange(-400, 60), atoms, replace=False)]
    weights = [Fraction(int(w), 2**20) for w in rng.integers(1, 2**14, atoms - 1)]
    return list(zip(values, [*weights, 1 - sum(weights)], strict=True)), int(rng.integers(1, most))


@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_encloses_the_exact_mean(curvature: float) -> None:
    rng, said = np.random.default_rng(5), 0
    for _ in range(examples(300)):
        blocks = [random_block(rng, 8)]
        if rng.random() < 0.3:
            blocks.append(random_block(rng, 4))
        exact = ExactSum(blocks)
        total = exact.doubles()
        if not can_be_positive(total):
            continue
        found = usual_log_mean(total, 1e-6, Kernel(curvature))
        if found is not None:
            said += 1
            assert contains(found, exact.mean(curvature))
            assert found.width < 1e-6
    assert said > 5


@settings(max_examples=200)
@given(data=st.data())
def test_any_tilt_and_any_windows_are_valid(data: st.DataObject) -> None:
    """A window may name no usual atom, several of them, or leave out all that matters."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    exact = ExactSum([random_block(rng, 6), random_block(rng, 3)])
    total = exact.doubles()
    if not can_be_positive(total):
        return
    tilt = data.draw(st.floats(0.01, 3.0), label="tilt")
    windows = [
        np.array(data.draw(st.lists(st.integers(-1, 7), min_size=size, max_size=size)))
        for size in (law.size for law in total.laws)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contour, "saddle_point", lambda *_: tilt)
        patch.setattr(usual, "choose_windows", lambda *_: windows)
        found = usual_log_mean(total, 1e-4)
    assert found is not None
    assert contains(found, exact.mean_positive())


def test_what_lies_outside_is_counted() -> None:
    """With windows of 0 nothing is enumerated but the usual values; the bound is all there is."""
    law = Law(np.array([1.0, 0.0]), np.array([0.25, 0.75]), np.zeros(2), np.zeros(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usual, "choose_windows", lambda *_: [np.array([0, -1])])
        found = usual_log_mean(BlockSum.of((law, 3)), 1e-4)
    assert found is not None
    assert found.lower == -math.inf
    assert math.log(0.75) <= found.upper < math.log(0.75) + 3


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_many_summands_against_a_binomial_law(n: int) -> None:
    """Gains of 1 beside losses that no gains make up for: E[S_+] = n w (1 - v)^(n-1)."""
    w, v = 2.0**-40, 2.0 ** -math.ceil(math.log2(n) - 2)
    law = Law(np.array([1.0, -1e12, 0.0]), np.array([w, v, 1 - w - v]), *np.zeros((2, 3)))
    found = usual_log_mean(BlockSum.of((law, n)), 1e-6)
    assert found is not None
    assert found.width < 1e-6
    with mpmath.workdps(50):
        exact = mpmath.log(n) + mpmath.log(w) + (n - 1) * mpmath.log(1 - mpmath.mpf(v))
        assert found.lower <= exact <= found.upper


def test_errors_of_the_data_widen_the_enclosure() -> None:
    rng = np.random.default_rng(3)
    values, weights = np.array([2.0, -30.0, 0.0]), np.array([0.01, 0.2, 0.79])
    law = Law(values, weights, np.full(3, 1e-3), np.full(3, 1e-3))
    found = usual_log_mean(BlockSum.of((law, 8)), 1e-6, HINGE)
    assert found is not None
    for _ in range(20):
        moved = weights * np.exp(rng.uniform(-1e-3, 1e-3, 3))
        moved[2] = 1 - moved[0] - moved[1]
        if abs(math.log(moved[2] / weights[2])) > 1e-3:
            continue
        other = Law(values + rng.uniform(-1e-3, 1e-3, 3), moved, np.zeros(3), np.zeros(3))
        exact = usual_log_mean(BlockSum.of((other, 8)), 1e-9)
        assert exact is not None
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper


def test_too_many_outcomes_are_left_to_others() -> None:
    law = Law(np.arange(-50.0, 50.0), np.full(100, 0.01), np.zeros(100), np.zeros(100))
    assert usual_log_mean(BlockSum.of((law, 100)), 1e-4) is None
