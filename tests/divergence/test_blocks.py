"""Sums of different laws: every method against exact fractions, and against sums of one law."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_sums import ExactSum, contains
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp import KRR, BinaryLocalHash, Laplace
from shuffledp.decomposition import Law
from shuffledp.divergence import (
    Block,
    BlockSum,
    LogEnclosure,
    elementary,
    log_mean_bound,
    log_mean_positive,
    tilt,
)
from shuffledp.divergence.characteristic import Characteristic
from shuffledp.divergence.contour import (
    assemble,
    bound_grid,
    chernoff_log_mean,
    contour_log_mean,
)
from shuffledp.divergence.elementary import elementary_log_mean
from shuffledp.divergence.enumeration import enumerate_log_mean
from shuffledp.divergence.mean import _coarsened
from shuffledp.divergence.nodes import _Nodes, sum_nodes
from shuffledp.divergence.proposals.grid import Grid
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import log_mgf_of_sum, tilt_sum


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


BINARY = make_law([1.7, -2.3, 0.0], [0.25, 0.25, 0.5])
SKEWED = make_law([0.9, -0.4, -1.1], [0.3, 0.3, 0.4])
RARE = make_law([30.0, -5.5, 0.0], [0.001, 0.1, 0.9])


@st.composite
def exact_blocks(draw: st.DrawFn) -> ExactSum:
    """One to three blocks of dyadic laws; the number of outcomes stays small."""
    blocks = []
    for most in draw(st.sampled_from([(6,), (4, 3), (1, 5), (2, 2, 2), (1, 1, 4)])):
        size = draw(st.integers(1, 3))
        values = draw(st.lists(st.integers(-40, 40), min_size=size, max_size=size))
        counts = draw(st.lists(st.integers(1, 60), min_size=size - 1, max_size=size - 1))
        weights = [Fraction(k, 256) for k in counts]
        weights.append(1 - sum(weights))
        atoms = [(Fraction(v, 8), w) for v, w in zip(values, weights, strict=True)]
        blocks.append((atoms, draw(st.integers(1, most))))
    return ExactSum(blocks)


# -- against exact fractions ----------------------------------------------------------------------


@settings(max_examples=150)
@given(case=exact_blocks(), rtol=st.sampled_from([1e-2, 1e-4, 1e-7]))
def test_every_method_encloses_the_exact_mean(case: ExactSum, rtol: float) -> None:
    total, exact = case.doubles(), case.mean_positive()
    assert contains(elementary_log_mean(total), exact)
    enumerated = enumerate_log_mean(total)
    assert contains(enumerated, exact)
    assert exact == 0 or enumerated.width < 1e-12
    enclosure = log_mean_positive(total, total, rtol=rtol).enclosure
    assert contains(enclosure, exact)
    assert exact == 0 or enclosure.width <= rtol
    bound = LogEnclosure(-math.inf, log_mean_bound(total))
    assert exact == 0 or contains(bound, exact)
    if total.largest[0] > 0:
        assert contains(contour_log_mean(total, rtol, 1e6), exact)
        assert contains(LogEnclosure(-math.inf, chernoff_log_mean(total)), exact)


@settings(max_examples=100)
@given(
    case=exact_blocks(),
    tau=st.floats(0.01, 1.0),
    theta=st.floats(0.05, 3.0),
    step=st.floats(0.02, 0.5),
)
def test_any_parameters_are_valid(case: ExactSum, tau: float, theta: float, step: float) -> None:
    """The error terms themselves, without the engine's choice of tilt, noise and step."""
    total, exact = case.doubles(), case.mean_positive()
    tilted = tilt_sum(total, theta)
    mgfs = log_mgf_of_sum(total, np.array([0.5 * theta, 2 * theta]))
    grid = Grid(step, math.ceil(6 / (tau * step)), 0, 1)
    sums = sum_nodes(tilted, tau, grid, 1e-6, 1e8)
    assert sums is not None
    found = assemble(tilted, tau, bound_grid(mgfs, tilted, tau, grid), sums)
    assert contains(found.enclosure, exact)


@settings(max_examples=60)
@given(case=exact_blocks(), noise=st.data())
def test_errors_of_values_and_weights_are_covered(case: ExactSum, noise: st.DataObject) -> None:
    """The engine sees numbers that are off by what they say."""
    exact = case.mean_positive()
    laws = []
    for law in case.doubles().laws:
        tips = np.array(
            noise.draw(st.lists(st.floats(-1, 1), min_size=law.size, max_size=law.size))
        )
        value_error = 1e-3 * np.abs(law.values) + 1e-4
        weight_error = np.full(law.size, 1e-3)
        seen = Law(law.values + tips * value_error * 0.999, law.weights, value_error, weight_error)
        tilts = np.exp(0.4e-3 * tips[::-1])
        laws.append(replace(seen, weights=law.weights * tilts / float(law.weights @ tilts)))
    total = case.doubles().with_laws(laws)
    assert contains(elementary_log_mean(total), exact)
    assert contains(enumerate_log_mean(total), exact)
    assert contains(log_mean_positive(total, total, rtol=1e-6).enclosure, exact)
    assert exact == 0 or log_mean_bound(total) >= math.log(exact) - 1e-12
    if elementary.can_be_positive(total):
        assert contains(contour_log_mean(total, 1e-6, 1e6), exact)


def test_a_common_value_near_zero_was_found_to_miss() -> None:
    """A relative error of the answer, of first order in those of the values, is not enough.

    The likely value may be 1e-9 or -1e-9 while the answer is that of a rare gain.
    """
    weights = np.array([1 - 2.0**-20, 2.0**-20])
    law = Law(np.array([0.0, 1.0]), weights, np.array([1e-9, 0.0]), np.zeros(2))
    total = BlockSum.of((law, 2))
    enclosure = contour_log_mean(total, 1e-6, 1e6)
    for likely in (Fraction(1, 10**9), -Fraction(1, 10**9)):
        atoms = [(likely, Fraction(weights[0])), (Fraction(1), Fraction(weights[1]))]
        assert contains(enclosure, ExactSum([(atoms, 2)]).mean_positive())


# -- one block, several blocks --------------------------------------------------------------------


def laws_of(name: str, epsilon: float) -> Law:
    randomizer = {
        "krr": KRR(k=10, epsilon0=2.0),
        "blh": BinaryLocalHash(epsilon0=1.0),
        "laplace": Laplace(epsilon0=1.0),
    }[name]
    return randomizer.blanket(randomizer.neighbours()[0]).at(epsilon).lower


@pytest.mark.parametrize("name", ["krr", "blh", "laplace"])
@pytest.mark.parametrize("n", [12, 1000, 10**6, 10**12])
@pytest.mark.parametrize("share", [0.5, 0.001])
def test_two_blocks_of_one_law_are_one(name: str, n: int, share: float) -> None:
    law = laws_of(name, 3.0 / n**0.5)
    part = max(int(share * n), 1)
    one, two = BlockSum.of((law, n)), BlockSum.of((law, part), (law, n - part))
    first, second = (log_mean_positive(total, total, rtol=1e-4).enclosure for total in (one, two))
    assert first.lower <= second.upper
    assert second.lower <= first.upper
    assert second.width <= max(2 * first.width, 1e-4)
    assert log_mean_bound(two) == pytest.approx(
        log_mean_bound(one), abs=1e-3 if name == "laplace" else 1e-9 * n**0.5
    )


@pytest.mark.parametrize("n", [30, 10**4, 10**8])
def test_the_order_of_blocks_does_not_matter(n: int) -> None:
    blocks = (BINARY, n), (SKEWED, n // 2), (RARE, 1)
    first = BlockSum.of(*blocks)
    second = BlockSum.of(*reversed(blocks))
    one, two = (log_mean_positive(total, total, rtol=1e-4).enclosure for total in (first, second))
    assert one.lower <= two.upper
    assert two.lower <= one.upper
    assert max(one.width, two.width) <= 1e-4


@pytest.mark.parametrize("n", [10, 1000, 10**6])
def test_a_block_of_one_constant_shifts_the_sum(n: int) -> None:
    """Values 1/2 and -1/2 and a constant 1/2: the sum is on another lattice, known by binomials."""
    fair = make_law([0.5, -0.5], [0.5, 0.5])
    constant = make_law([0.5], [1.0])
    total = BlockSum.of((fair, n - 1), (constant, 1))
    enclosure = log_mean_positive(total, total, rtol=1e-4).enclosure
    # E(S_(n-1) + 1/2)_+ for a symmetric walk of an odd number of steps +-1/2: exactly
    # E|S|/2 + P(S > 0)/2 with P(S > 0) = 1/2 and E|S| = m C(m-1, (m-1)/2) 2^-m, m = n - 1.
    m = n - 1
    log_choose = math.lgamma(m) - 2 * math.lgamma((m - 1) / 2 + 1)
    exact = 0.25 + 0.5 * math.exp(math.log(m) + log_choose - m * math.log(2))
    assert math.exp(enclosure.lower) <= exact * (1 + 1e-9)
    assert math.exp(enclosure.upper) >= exact * (1 - 1e-9)
    assert enclosure.width <= 1e-4


def test_heavy_and_many_atoms_in_different_blocks() -> None:
    """Jumps and cells of one block leave the others alone; the answer lies between simple ones."""
    rng = np.random.default_rng(5)
    many = make_law(rng.normal(-0.1, 1.0, 900).tolist(), rng.dirichlet(np.ones(900)).tolist())
    heavy = make_law(
        [*(10.0**k for k in range(1, 9)), 1.0, -2.0],
        [*(10.0 ** (-3 * k - 2) for k in range(1, 9)), 0.5, 0.5],
    )
    total = BlockSum.of((many, 200), (heavy, 50), (BINARY, 3))
    lower, upper = _coarsened(total, total, 1e-3)
    assert lower.laws[2] is upper.laws[2] is BINARY
    assert lower.laws[0].size < 900
    wide, narrow = (log_mean_positive(total, total, rtol=rtol).enclosure for rtol in (1e-2, 1e-3))
    assert narrow.lower <= wide.upper
    assert wide.lower <= narrow.upper
    assert narrow.width <= 2e-3
    without = BlockSum.of((many, 200), (make_law([1.0, -2.0], [0.5, 0.5]), 50), (BINARY, 3))
    assert log_mean_positive(without, without, rtol=1e-3).enclosure.lower <= narrow.upper


def test_blocks_that_are_none() -> None:
    for blocks in ((), (Block(BINARY, 0),), (Block(BINARY, 2), Block(SKEWED, -1))):
        with pytest.raises(ValueError, match="at least one copy"):
            BlockSum(blocks)


# -- totals and bounds ----------------------------------------------------------------------------


def test_totals_of_a_tilted_sum_are_those_of_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = np.array([1e-6, 2e-6, 0.0])
    vague = Law(BINARY.values, BINARY.weights, errors, errors)
    total = BlockSum.of((vague, 3), (RARE, 5))
    monkeypatch.setattr(tilt, "UNIT", 0.0)
    tilted = tilt_sum(total, 0.4)
    one, two = tilted.laws
    assert tilted.log_mgf == pytest.approx(3 * one.log_mgf + 5 * two.log_mgf, rel=1e-14)
    assert tilted.mean == pytest.approx(3 * one.mean + 5 * two.mean, rel=1e-13)
    assert tilted.mean_size == pytest.approx(3 * abs(one.mean) + 5 * abs(two.mean), rel=1e-13)
    assert tilted.variance == pytest.approx(3 * one.variance + 5 * two.variance, rel=1e-14)
    zeros = one.zero_probability**3 * two.zero_probability**5
    assert tilted.log_zero == pytest.approx(math.log(zeros), rel=1e-13)
    assert tilted.zero_error == pytest.approx(3 * one.zero_error + 5 * two.zero_error, rel=1e-12)
    assert tilted.log_mgf_error == pytest.approx(3 * one.log_mgf_error, rel=1e-12)
    assert tilted.value_shift == pytest.approx(3 * one.value_shift, rel=1e-12)
    assert tilt_sum(BlockSum.of((BINARY, 3), (SKEWED, 1)), 0.4).log_zero == -math.inf
    monkeypatch.setattr(tilt, "UNIT", 1e-6)
    rounded = tilt_sum(total, 0.4)
    one, two = rounded.laws
    own = 3 * one.log_mgf_error + 5 * two.log_mgf_error
    assert rounded.log_mgf_error >= own + 2e-6 * (3 * abs(one.log_mgf) + 5 * abs(two.log_mgf))


def test_the_moment_generating_function_of_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.array([0.1, 0.5])
    total = BlockSum.of((BINARY, 3), (SKEWED, 4))
    mgfs = log_mgf_of_sum(total, points)
    for i, s in enumerate(points):
        exact = 3 * math.log(BINARY.weights @ np.exp(s * BINARY.values))
        exact += 4 * math.log(SKEWED.weights @ np.exp(s * SKEWED.values))
        assert mgfs.values[i] == pytest.approx(exact, rel=1e-13)
        assert 0 < mgfs.errors[i] < 1e-13
    vague = replace(BINARY, weight_error=np.full(3, 1e-6))
    errors = log_mgf_of_sum(BlockSum.of((vague, 30), (vague, 40)), np.array([2.0, 9.0])).errors
    assert errors == pytest.approx([70e-6, 70e-6], rel=1e-6)
    monkeypatch.setattr(tilt, "UNIT", 1e-6)
    assert (log_mgf_of_sum(total, points).errors >= 3e-6 * np.abs(mgfs.values)).all()


@settings(max_examples=60)
@given(
    times=st.tuples(st.integers(1, 300), st.integers(1, 30)),
    start=st.integers(1, 3000),
    size=st.integers(1, 200),
)
def test_the_bound_of_a_stretch_bounds_the_product(
    times: tuple[int, int], start: int, size: int
) -> None:
    total = BlockSum.of((BINARY, times[0]), (SKEWED, times[1]))
    tilted = tilt_sum(total, saddle_point(total))
    step, tau = 0.003, 0.02
    mean_, density = _Nodes(tilted, tau, step).bounds(np.array([start]), np.array([size]))
    t = step * np.arange(start, start + size)
    terms = np.exp(-0.5 * (tau * t) ** 2) * step / math.pi
    for law, n in zip(tilted.laws, tilted.times, strict=True):
        terms = (
            terms * np.abs(np.exp(1j * np.multiply.outer(t, law.centred)) @ law.probability) ** n
        )
    assert float(terms.sum()) <= density[0] * (1 + 1e-12)
    assert float((terms / (tilted.theta**2 + t**2)).sum()) <= mean_[0] * (1 + 1e-12)
    one = _Nodes(tilt_sum(BlockSum.of((BINARY, times[0])), tilted.theta), tau, step)
    assert density[0] <= one.bounds(np.array([start]), np.array([size]))[1][0]


@settings(max_examples=30)
@given(times=st.tuples(st.integers(1, 50), st.integers(1, 50)))
def test_dense_and_sparse_evaluation_of_blocks_agree(times: tuple[int, int]) -> None:
    total = BlockSum.of((BINARY, times[0]), (SKEWED, times[1]))
    tilted = tilt_sum(total, saddle_point(total))
    step, count, tau = 0.05 / math.sqrt(tilted.variance), 2000, 0.02
    sparse, dense = _Nodes(tilted, tau, step), _Nodes(tilted, tau, step)
    sparse.add(np.arange(count + 1))
    dense.add_all(count)
    first, second = sparse.sums, dense.sums
    assert abs(first.mean - second.mean) <= first.rounding_mean + second.rounding_mean
    assert abs(first.density - second.density) <= first.rounding_density + second.rounding_density
    assert second.rounding_mean <= 1e-10 * max(first.mean, 1e-3 * first.density)


@settings(max_examples=100)
@given(
    logs=st.lists(st.tuples(st.floats(-3, 0), st.floats(-3, 3)), min_size=2, max_size=2),
    errors=st.tuples(st.floats(0, 0.3), st.floats(0, 0.3)),
    turns=st.tuples(st.floats(-3.2, 3.2), st.floats(-3.2, 3.2)),
    times=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_errors_of_several_factors_are_covered(
    logs: list[tuple[float, float]],
    errors: tuple[float, float],
    turns: tuple[float, float],
    times: tuple[int, int],
) -> None:
    """Each phi moves by its error in any direction, but stays at most 1 in modulus."""
    tilted = tilt_sum(BlockSum.of((BINARY, times[0]), (SKEWED, times[1])), 1e-6)
    integrand = _Nodes(tilted, 1e-3, math.pi)
    values = [
        Characteristic(*(np.array([x]) for x in (*log, error)))
        for log, error in zip(logs, errors, strict=True)
    ]
    integrand._accumulate(np.array([1]), np.array([1e-3]), values)
    computed, moved = complex(1), complex(1)
    for (log, argument), error, turn, n in zip(logs, errors, turns, times, strict=True):
        phi = complex(math.exp(log)) * complex(math.cos(argument), math.sin(argument))
        other = phi + error * complex(math.cos(turn), math.sin(turn))
        assume(abs(other) <= 1)
        computed, moved = computed * phi**n, moved * other**n
    assert abs(computed - moved) <= integrand.sums.rounding_density * (1 + 1e-4) + 1e-12


# -- the largest sum ------------------------------------------------------------------------------


def test_the_largest_sum_and_its_error() -> None:
    top = Law(
        np.array([1.0, 0.98, -3.0]), np.full(3, 1 / 3), np.array([0.01, 0.1, 0.0]), np.zeros(3)
    )
    value, error = BlockSum.of((top, 4), (SKEWED, 10)).largest
    assert value == pytest.approx(4 * 1.0 + 10 * 0.9)
    assert error == pytest.approx(4 * 0.08, rel=1e-9)  # the second value may be the largest
    vague = replace(top, value_error=np.array([0.2, 0.1, 0.0]))
    assert BlockSum.of((vague, 4)).largest[1] == pytest.approx(0.8, rel=1e-9)


@pytest.mark.parametrize("gap", [1e-17, -1e-17, 1e-13, -1e-13, 0.0])
def test_a_largest_sum_near_zero_is_not_called_positive_or_zero_by_rounding(gap: float) -> None:
    """0.3 + 0.1 * 3 against 0.6: whether the sum can be positive is decided with its rounding."""
    first, second = make_law([0.3, -1.0], [0.5, 0.5]), make_law([0.1, -1.0], [0.5, 0.5])
    loss = make_law([-0.6 + gap, -2.0], [0.5, 0.5])
    total = BlockSum.of((first, 1), (second, 3), (loss, 1))
    exact = sum(Fraction(law.values[0]) * n for law, n in zip(total.laws, (1, 3, 1), strict=True))
    mean_positive = max(exact, Fraction(0)) / 2**5
    enclosure = log_mean_positive(total, total, rtol=1e-4).enclosure
    assert contains(enclosure, mean_positive) or (
        mean_positive == 0 and enclosure.lower == -math.inf
    )
    bound = log_mean_bound(total)
    assert mean_positive == 0 or bound >= math.log(mean_positive)


def test_only_losses_beyond_doubt_are_moved_together() -> None:
    """A loss of 1e150 with an error of as much may be none."""
    values = np.array([1.0, -1e150, -1e150, -1e300])
    vague = Law(values, np.full(4, 0.25), np.array([0.0, 1e150, 1e140, 0.0]), np.zeros(4))
    law = BlockSum.of((vague, 3)).in_units(1e10).laws[0]
    assert law.values[1:].tolist() == [pytest.approx(-1e160), -1e100, -1e100]
    assert law.value_error[1] >= 1e160
    assert law.value_error[2:].tolist() == [0.0, 0.0]


def test_losses_that_overflow_in_other_units_stay_finite() -> None:
    total = BlockSum.of((make_law([1e-300, -1e200], [0.5, 0.5]), 2))
    assert total.in_units(1e300).laws[0].values.tolist() == [pytest.approx(1.0), -1e100]
