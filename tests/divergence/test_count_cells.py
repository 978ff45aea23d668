"""Counts in cells: against all counts, against mpmath and against the engine."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import OUE, RAPPOR, UnaryEncoding
from shuffledp.accounting.sum_view import search_of
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import log_delta
from shuffledp.divergence.count_cells import MAX_TILT, cell_law, cells_delta
from shuffledp.divergence.count_grid import Grid, Part
from shuffledp.divergence.two_counts import Bit, count_law, counts_delta

MECHANISMS = [OUE(1.0), OUE(2.0), RAPPOR(1.0), RAPPOR(3.0), UnaryEncoding(0.2, 0.6)]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(MECHANISMS),
    st.integers(20_000, 100_000),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 2.0),
)
def test_single_datasets_are_enclosed(mechanism, n, first, second, scale):
    u = round(first * (n - 1))
    v = round(second * (n - 1 - u))
    epsilon = scale * 5 * mechanism.epsilon0 / math.sqrt(n)
    search = search_of(n, mechanism.aggregate, epsilon)
    if search.grid is None:
        return
    exact = search._at((u, u), (v, v), 0.0, 1e-90)
    cells = search._at((u, u), (v, v), 0.0, 0.0)
    assert cells.lower <= exact.upper
    assert exact.lower <= cells.upper
    assert cells.upper - cells.lower <= 0.03 * exact.upper + 1e-40


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(MECHANISMS),
    st.tuples(st.integers(0, 40_000), st.integers(0, 40_000), st.integers(0, 40_000)),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 2),
)
def test_any_tilt_will_do(mechanism, numbers, up, down, scale):
    """Tilts decide how narrow an enclosure is, never whether it is one."""
    seen = mechanism.aggregate
    own, other = Bit(*seen.own), Bit(*seen.other)
    numbers = (numbers[0] + 9_000, numbers[1] + 9_000, numbers[2])
    a, b = seen.ones
    mass = own.zero + other.one
    bits = [(own, a), (other, b), (Bit(other.one / mass, own.zero / mass), b / (1 - a + b))]
    parts = [Part(m, bit, p) for m, (bit, p) in zip(numbers, bits, strict=True)]
    deviation = math.sqrt(sum(part.variance for part in parts))
    grid = Grid.between(deviation, deviation)
    if grid is None:
        return
    epsilon = scale * 3 * mechanism.epsilon0 / math.sqrt(sum(numbers))
    u, v = (
        cell_law(parts, grid, own, other, math.expm1(sign * share * MAX_TILT / deviation))
        for sign, share in ((1, up), (-1, down))
    )
    law = count_law([(part.number, part.bit) for part in parts], 1e-90)
    exact = counts_delta(law, law, own, other, epsilon)
    found = cells_delta(u, v, epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(MECHANISMS),
    st.integers(20_000, 60_000),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.sampled_from([3.0, 8.0]),
)
def test_rectangles_bound_all_of_their_datasets(mechanism, n, first, second, scale):
    low, high = (round(x * (n - 1)) for x in sorted(first))
    below, above = (round(x * (n - 1 - low)) for x in sorted(second))
    epsilon = scale * mechanism.epsilon0 / math.sqrt(n)
    search = search_of(n, mechanism.aggregate, epsilon)
    if search.grid is None:
        return
    bound = search._at((low, high), (below, above), 1e-10 if scale < 5 else 1e-40, 0.0).upper
    for u, v in ((low, below), (low, above), (high, below), ((low + high) // 2, below)):
        if u + v <= n - 1:
            assert search._at((u, u), (v, v), 0.0, 1e-90).lower <= bound


@pytest.mark.parametrize("n", [10**5, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("mechanism", [OUE(1.0), RAPPOR(2.0)], ids=str)
def test_a_third_value_against_the_engine(mechanism, n):
    """If all others hold a third value, the ratio is linear in the counts: a decomposition."""
    seen = mechanism.aggregate
    (a, not_a), (b, not_b) = seen.own, seen.other
    high, low = math.log(a / b), math.log(not_a / not_b)
    decomposition = Decomposition(
        log_ratio0=np.array([high, high, low, low]),
        log_ratio1=np.array([high, low, high, low]),
        weight=np.array([b * b, b * not_b, b * not_b, not_b * not_b]),
        residual=0.0,
        log_ratio_error=1e-15,
        weight_error=1e-15,
    )
    for scale in (1.0, 3.0, 5.0, 9.0, 14.0):
        epsilon = scale * math.sqrt(2 * (a - b) ** 2 / (b * not_b) / n)
        engine = log_delta(decomposition.at(epsilon), n, rtol=1e-6)
        search = search_of(n, seen, epsilon)
        if search.grid is None:
            continue
        cells = search._at((0, 0), (0, 0), 0.0, 0.0)
        assert cells.lower <= math.exp(engine.upper)
        assert math.exp(engine.lower) <= cells.upper
        assert cells.upper <= math.exp(engine.upper) * 1.02
        assert cells.lower >= math.exp(engine.lower) * 0.98


@pytest.mark.parametrize("tilt", [0.0, 0.02, -0.05])
def test_probabilities_of_cells_against_exact_sums(tilt):
    p, m = Fraction(3, 8), 12_000
    bit = Bit(0.375, 0.625)
    deviation = math.sqrt(m * 0.375 * 0.625)
    grid = Grid.between(deviation, deviation)
    own, other = Bit(0.5, 0.5), Bit(0.25, 0.75)
    law = cell_law([Part(m, bit, p)], grid, own, other, tilt)
    log_mass = [
        math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
        + k * math.log(0.375) + (m - k) * math.log(0.625)
        for k in range(m + 1)
    ]  # fmt: skip
    exact = np.convolve(np.exp(log_mass), [0.75, 0.25])
    half = law.cells.free.size // 2
    centre = math.floor(m * p * (1 + Fraction(tilt)) / (1 + p * Fraction(tilt)))
    first = centre - half * grid.width
    cells = exact[first : first + 2 * half * grid.width].reshape(-1, grid.width).sum(axis=1)
    scaled = cells / math.exp(law.log_scale)
    assert (np.abs(law.cells.free - scaled) <= law.cells.error + 1e-10 * scaled).all()
    assert law.cells.error[half] < 1e-13
    atoms = law.weights[0] + law.weights[1]
    assert (atoms >= scaled * (1 - 1e-10)).all()
    known = scaled > 1e8 * law.cells.error
    np.testing.assert_allclose(atoms[known], scaled[known], rtol=1e-3)
    below, above = exact[:first].sum(), exact[first + 2 * half * grid.width :].sum()
    assert below <= law.below * math.exp(law.log_scale)
    assert above <= law.above * math.exp(law.log_scale)


def test_few_users_need_no_cells():
    assert Grid.between(30.0, 40.0) is None
