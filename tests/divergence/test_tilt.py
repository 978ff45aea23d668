"""Moment generating functions, tilted laws and saddle points against high precision."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import log_mgf, tilt

SCALES = [1e-9, 1e-3, 0.1, 1.0, 1.5, 30.0, 2000.0]


def make_law(values: list[float], weights: list[float]) -> Law:
    """Probabilities are multiples of 2**-50 whose sum is 1, not only up to rounding."""
    mass = np.floor(np.array(weights) / sum(weights) * 2.0**50)
    mass[np.argmax(mass)] += 2.0**50 - mass.sum()
    zeros = np.zeros(len(values))
    return Law(np.array(values), mass / 2.0**50, zeros, zeros.copy())


@st.composite
def laws(draw: st.DrawFn, *, largest: float = 5.0) -> Law:
    size = draw(st.integers(2, 8))
    values = draw(st.lists(st.floats(-5, largest), min_size=size, max_size=size))
    weights = draw(st.lists(st.floats(1e-6, 1.0), min_size=size, max_size=size))
    return make_law([*values[:-1], abs(values[-1]) + 0.01], weights)


def exact_mgf(law: Law, theta: float) -> mpmath.mpf:
    """E e^{theta G}."""
    assert mpmath.fsum(law.weights.tolist()) == 1
    pairs = zip(law.values.tolist(), law.weights.tolist(), strict=True)
    return mpmath.fsum(mpmath.mpf(w) * mpmath.exp(mpmath.mpf(theta) * g) for g, w in pairs)


@settings(max_examples=200)
@given(law=laws(), scale=st.sampled_from(SCALES))
def test_log_mgf(law: Law, scale: float) -> None:
    theta = scale / float(np.abs(law.values).max())
    with mpmath.workdps(60):
        exact = mpmath.log(exact_mgf(law, theta))
        (computed,), (stated,) = log_mgf(law, np.array([theta]))
        size = max(1.0, scale) if scale >= 0.5 else scale
        assert abs(computed - exact) <= 2e-15 * size
        assert abs(computed - exact) <= stated <= 1e-14 * size


@settings(max_examples=200)
@given(law=laws(), scale=st.sampled_from(SCALES))
def test_the_stated_error_of_a_tilt_covers_the_true_one(law: Law, scale: float) -> None:
    theta = scale / float(np.abs(law.values).max())
    tilted = tilt(law, theta)
    with mpmath.workdps(60):
        mgf = exact_mgf(law, theta)
        assert abs(tilted.log_mgf - mpmath.log(mgf)) <= tilted.log_mgf_error + 1e-300
        # Tight as well: a few units in the last place of what is summed.
        assert tilted.log_mgf_error <= 2e-14 * (min(scale, 1.0) + scale)
        for p, g, w in zip(tilted.probability, law.values, law.weights, strict=True):
            exact = mpmath.mpf(w) * mpmath.exp(mpmath.mpf(theta) * mpmath.mpf(g)) / mgf
            assert abs(p - exact) <= (1e-14 * (1 + scale)) * exact + 1e-300


@settings(max_examples=100)
@given(law=laws(), error=st.sampled_from([1e-12, 1e-9, 1e-6]))
def test_errors_of_values_and_weights_enter_the_error_of_the_mgf(law: Law, error: float) -> None:
    theta = 1.5 / float(np.abs(law.values).max())
    errors = np.full(law.size, error)
    stated = tilt(Law(law.values, law.weights, errors, errors), theta)
    with mpmath.workdps(60):
        for sign in (-1, 1):
            moved = Law(law.values + sign * error, law.weights, errors, errors)
            shift = abs(stated.log_mgf - mpmath.log(exact_mgf(moved, theta)))
            assert shift <= stated.log_mgf_error + theta * stated.value_shift
            top = law.values.max()
            tipped = law.weights * (1 + sign * error * np.where(law.values == top, 1.0, -1.0))
            total = mpmath.fsum(
                mpmath.mpf(w) * mpmath.exp(mpmath.mpf(theta) * g)
                for g, w in zip(law.values.tolist(), tipped.tolist(), strict=True)
            )
            # Either reading of the missing mass: as it is, or at the value 0.
            missing = 1 - mpmath.fsum(tipped.tolist())
            gaps = [abs(stated.log_mgf - mpmath.log(total + m)) for m in (missing, 0)]
            assert min(gaps) <= stated.log_mgf_error


def test_a_tilted_law_is_centred_and_knows_its_zero() -> None:
    law = make_law([2.0, -1.0, 0.0, 0.0], [0.2, 0.3, 0.4, 0.1])
    tilted = tilt(law, 0.7)
    weights = law.weights * np.exp(0.7 * law.values)
    p = weights / weights.sum()
    assert tilted.probability == pytest.approx(p, rel=1e-14)
    assert tilted.zero_probability == pytest.approx(p[2] + p[3], rel=1e-14)
    mean = float(p @ law.values)
    assert tilted.mean == pytest.approx(mean, rel=1e-13)
    assert tilted.variance == pytest.approx(float(p @ (law.values - mean) ** 2), rel=1e-13)
    assert tilted.mean_deviation == pytest.approx(float(p @ np.abs(law.values - mean)), rel=1e-13)
    assert float(tilted.probability @ tilted.centred) == pytest.approx(0, abs=1e-15)


def test_no_atom_at_zero() -> None:
    tilted = tilt(make_law([1.0, -1.0], [0.5, 0.5]), 1.0)
    assert tilted.zero_probability == 0
    assert tilted.zero_error == 0


@settings(max_examples=200)
@given(law=laws(), n=st.sampled_from([1, 2, 30, 10**4, 10**8, 10**12, 2**53]))
def test_the_saddle_point_minimises_the_integrand(law: Law, n: int) -> None:
    theta = saddle_point(BlockSum.of((law, n)))
    assert theta > 0
    exponent = theta * law.values + np.log(law.weights)
    p = np.exp(exponent - exponent.max())
    p /= p.sum()
    mean = float(p @ law.values)
    variance = float(p @ (law.values - mean) ** 2)
    curvature = n * variance + 2 / theta**2
    assert abs(n * mean - 2 / theta) <= 0.11 * curvature**0.5


@pytest.mark.parametrize("n", [1, 10, 10**6, 10**12])
@pytest.mark.parametrize("top", [1e-12, 1e-3, 1.0, 1e6])
def test_the_saddle_point_exists_however_rare_or_small_the_positive_value(
    n: int, top: float
) -> None:
    for weight in (1e-12, 1e-3, 0.5):
        law = make_law([top, -1.0, 0.0], [weight, 0.3, 0.7 - weight])
        theta = saddle_point(BlockSum.of((law, n)))
        p = law.weights * np.exp(theta * (law.values - top))
        p /= p.sum()
        mean = float(p @ law.values)
        scale = (n * float(p @ (law.values - mean) ** 2) + 2 / theta**2) ** 0.5
        assert abs(n * mean - 2 / theta) <= 0.11 * scale


@pytest.mark.parametrize("most", [0, 1, 4, 11, 12, 100])
@pytest.mark.parametrize("count", [0, 1, 7, 9])
def test_parts_have_so_many_angles(most, count):
    """Four atoms: one t at a time, or as many as there may be angles."""
    tilted = tilt(make_law([2.0, -1.0, 0.5, -3.0], [1.0, 2.0, 3.0, 2.0]), 0.3)
    step = max(most // 4, 1)
    expected = [list(range(k, min(k + step, count))) for k in range(0, count, step)]
    found = list(tilted.parts(count, most))
    assert [list(range(count)[part]) for part, _, _ in found] == expected
    assert all(p is tilted.probability and c is tilted.centred for _, p, c in found)
