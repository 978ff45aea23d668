"""The paper's own algorithm, which benchmarks compare with, is what its docstring says."""

from __future__ import annotations

import doctest
import math
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import enumerated_delta, law_of
from rational import exact_delta
from strategies import blanket, coefficients, exp_epsilons, randomized_response, randomizers

from shuffledp import KRR, Pair
from shuffledp.basics.balls import lower_double, upper_double
from shuffledp.decomposition import Decomposition

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import paper_grid
from paper_grid import grid_delta, grid_epsilon, paper_interval_length

#: What round-off may add to a small case.
NOISE = 1e-12

sides = pytest.mark.parametrize("rounding", ["up", "down"])


def atoms(values, weights) -> SimpleNamespace:
    """Gains of one law, which is known exactly."""
    law = law_of(values, weights)
    return SimpleNamespace(lower=law, upper=law, exposed=(arb(0), arb(0)))


def test_examples():
    assert doctest.testmod(paper_grid) == (0, 7)


def krr(k: int, epsilon0: float) -> Decomposition:
    p = 1 / (math.expm1(epsilon0) + k)
    return Decomposition.from_coefficients(
        [math.exp(epsilon0) * p, p, (k - 2) * p],
        [p, math.exp(epsilon0) * p, (k - 2) * p],
        [p, p, (k - 2) * p],
    )


def convolved_delta(gains, n: int, step: float, rounding: str) -> float:
    """The same rounded law, convolved one summand at a time without any transform."""
    law = gains.upper if rounding == "up" else gains.lower
    end = upper_double if rounding == "up" else lower_double
    ends = np.array([end(atom.value) for atom in law.atoms])
    ticks = (np.ceil if rounding == "up" else np.floor)(ends / step).astype(int)
    bottom = int(ticks.min())
    mass = np.bincount(ticks - bottom, law.masses)
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, mass)
    sums = n * bottom + np.arange(total.size)
    return float(np.maximum(sums, 0) @ total) * step / n


@given(
    coefficients(max_components=3, singular=True),
    st.integers(1, 6),
    exp_epsilons(),
    st.floats(0.01, 2),
)
def test_rounding_encloses_the_exact_value_within_one_step(parts, n, exp_epsilon, step):
    gains = parts.decomposition().at(math.log(exp_epsilon))
    exact = float(parts.delta(n, exp_epsilon))
    # Ratios reach 256, and noise is relative to the range of G.
    noise = NOISE * max(1, float(np.abs(gains.upper.values).max()))
    up = grid_delta(gains, n, interval_length=step, rounding="up")
    down = grid_delta(gains, n, interval_length=step, rounding="down")
    assert exact - noise <= up <= exact + step + noise
    assert exact - step - noise <= down <= exact + noise


@settings(max_examples=50)
@given(coefficients(max_components=3), st.integers(1, 30), exp_epsilons(), st.floats(0.05, 2))
@sides
def test_nothing_wraps_around(rounding, parts, n, exp_epsilon, step):
    gains = parts.decomposition().at(math.log(exp_epsilon))
    value = grid_delta(gains, n, interval_length=step, rounding=rounding)
    expected = convolved_delta(gains, n, step, rounding)
    noise = NOISE * max(1, float(np.abs(gains.upper.values).max()))
    assert value == pytest.approx(expected, abs=noise)


@sides
@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_the_ends_of_the_range_are_kept_apart(n, rounding):
    # All mass at the two ends: a shorter transform would put the top onto the bottom.
    gains = atoms([5.0, -7.0], [0.5, 0.5])
    expected = sum(math.comb(n, i) * max(5 * i - 7 * (n - i), 0) for i in range(n + 1)) / (n * 2**n)
    assert grid_delta(gains, n, interval_length=1.0, rounding=rounding) == pytest.approx(
        expected, abs=1e-13
    )


@sides
@pytest.mark.parametrize(("value", "expected"), [(3.0, 3.0), (-3.0, 0.0), (0.0, 0.0)])
def test_a_constant(value, expected, rounding):
    delta = grid_delta(atoms([value], [1.0]), 9, interval_length=0.5, rounding=rounding)
    assert delta == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("value", "rounding", "expected"),
    [
        (0.3, "up", 0.5),
        (0.3, "down", 0.25),
        (-0.3, "up", 0.0),
        (0.5, "up", 0.5),
        (0.5, "down", 0.5),
    ],
)
def test_values_move_to_the_next_multiple(value, rounding, expected):
    gains = atoms([value, -1.0], [1.0, 0.0])
    assert grid_delta(gains, 1, interval_length=0.25, rounding=rounding) == pytest.approx(
        expected, abs=1e-15
    )


def test_values_on_the_grid_are_exact_from_both_sides():
    rows = randomized_response(4, Fraction(5))
    parts, exp_epsilon = blanket(rows, 0, 1), Fraction(3, 2)
    exact = float(parts.delta(8, exp_epsilon))
    gains = atoms([3.5, -6.5, -0.5, 0.0], [1 / 8, 1 / 8, 2 / 8, 4 / 8])
    for rounding in ("up", "down"):
        value = grid_delta(gains, 8, interval_length=0.5, rounding=rounding)
        assert value == pytest.approx(exact, abs=1e-14)


@given(coefficients(max_components=3), st.integers(1, 5), exp_epsilons())
def test_finer_grids_are_tighter_and_converge(parts, n, exp_epsilon):
    gains = parts.decomposition().at(math.log(exp_epsilon))
    exact = float(parts.delta(n, exp_epsilon))
    noise = NOISE * max(1, float(np.abs(gains.upper.values).max()))
    steps = [1 / 2**i for i in range(0, 9, 2)]
    ups = [grid_delta(gains, n, interval_length=step, rounding="up") for step in steps]
    downs = [grid_delta(gains, n, interval_length=step, rounding="down") for step in steps]
    # The multiples of a step contain those of twice the step.
    assert (np.diff(ups) <= noise).all()
    assert (np.diff(downs) >= -noise).all()
    assert ups[-1] - exact <= steps[-1] + noise
    assert exact - downs[-1] <= steps[-1] + noise


@given(coefficients(max_components=3), st.integers(1, 5), exp_epsilons())
def test_each_side_uses_its_own_law(parts, n, exp_epsilon):
    law = parts.decomposition().at(math.log(exp_epsilon)).lower
    wide = law_of(2 * law.values, law.masses)
    gains = SimpleNamespace(lower=law, upper=wide, exposed=(arb(0.125), arb(0.5)))
    step = 1 / 64
    up, down = (grid_delta(gains, n, interval_length=step, rounding=r) for r in ("up", "down"))
    scale = max(1, float(np.abs(wide.values).max()))
    assert up == pytest.approx(enumerated_delta(wide, n) + 0.5, abs=step + NOISE * scale)
    assert down == pytest.approx(enumerated_delta(law, n) + 0.125, abs=step + NOISE * scale)


def test_singular_part_is_added():
    parts = Decomposition.from_coefficients([0.5, 0.5], [0.25, 0.75], [0.0, 0.75])
    with_part = grid_delta(parts.at(0.0), 3, interval_length=0.01)
    law = parts.at(0.0).upper
    assert with_part == pytest.approx(0.25 + enumerated_delta(law, 3), abs=0.01)


def test_agrees_with_exact_fractions_at_a_hundred_users():
    # The largest case here whose exact value is quick; delta is about 1e-5.
    ratios = [Fraction(3), Fraction(1)], [Fraction(1), Fraction(3)], [Fraction(1, 4)] * 2
    exp_epsilon = Fraction(13, 8)
    exact = float(exact_delta(*ratios, 100, exp_epsilon))
    gains = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25] * 2).at(
        math.log(exp_epsilon)
    )
    up = grid_delta(gains, 100, interval_length=1 / 512, rounding="up")
    down = grid_delta(gains, 100, interval_length=1 / 512, rounding="down")
    # 11/8 and -31/8 lie on the grid, up to the rounding of log and exp.
    assert down - NOISE <= exact <= up + NOISE
    assert up - down < 0.1 * exact
    assert 1e-8 < exact < 1e-4


@sides
def test_epsilon_is_the_safe_end_of_a_narrow_bracket(rounding):
    decomposition, n, target, step = krr(4, 1.0), 50, 1e-4, 1e-2

    def delta(epsilon):
        return grid_delta(decomposition.at(epsilon), n, interval_length=step, rounding=rounding)

    epsilon = grid_epsilon(
        decomposition, n, target_delta=target, interval_length=step, rounding=rounding
    )
    if rounding == "up":
        assert delta(epsilon) <= target < delta(epsilon * (1 - 2e-4))
    else:
        assert delta(epsilon) > target >= delta(epsilon * (1 + 2e-4))


@settings(max_examples=40)
@given(randomizers(max_outputs=3), st.integers(1, 6), st.floats(1e-6, 0.3))
def test_epsilons_enclose_the_exact_one(rows, n, target):
    # Diluted with the uniform law: no ratio exceeds 7.
    even = Fraction(1, len(rows[0]))
    parts = blanket([tuple((p + even) / 2 for p in row) for row in rows], 0, 1)
    decomposition = parts.decomposition()
    arguments = {"target_delta": target, "interval_length": 0.05, "tolerance": 1e-2}
    up = grid_epsilon(decomposition, n, rounding="up", **arguments)
    down = grid_epsilon(decomposition, n, rounding="down", **arguments)
    assert 0 <= down <= up <= decomposition.max_epsilon
    # e^epsilon is a double, hence a fraction.
    assert parts.delta(n, Fraction(math.exp(up))) <= target + 1e-9
    assert down == 0 or parts.delta(n, Fraction(math.exp(down))) >= target - 1e-9


def test_epsilon_converges_to_the_exact_root():
    # Exact delta of 2-RR with odds 3 at n = 20, on both sides of the answer.
    parts = blanket(randomized_response(2, Fraction(3)), 0, 1)
    arguments = {"target_delta": 1e-3, "interval_length": 1e-3, "tolerance": 1e-5}
    up, down = (
        grid_epsilon(parts.decomposition(), 20, rounding=rounding, **arguments)
        for rounding in ("up", "down")
    )
    assert down < up < 1.01 * down
    assert parts.delta(20, Fraction(math.exp(up))) <= Fraction(1, 1000)
    assert parts.delta(20, Fraction(math.exp(down))) >= Fraction(1, 1000)


@sides
def test_a_generous_target_needs_no_epsilon(rounding):
    epsilon = grid_epsilon(
        krr(3, 0.5), 10, target_delta=0.9, interval_length=0.01, rounding=rounding
    )
    assert epsilon == 0.0


def test_one_user_and_no_delta_give_the_local_level():
    decomposition = krr(3, 0.5)
    epsilon = grid_epsilon(decomposition, 1, target_delta=1e-12, interval_length=1e-3)
    assert epsilon <= decomposition.max_epsilon
    assert epsilon == pytest.approx(0.5, rel=1e-2)


def test_down_stops_near_zero_although_the_grid_jumps_there():
    # Rounding 1 - e^epsilon down costs a whole step as soon as epsilon > 0.
    decomposition = KRR(k=10, epsilon0=0.1).decomposition(Pair(0, 1))
    at_zero = grid_delta(decomposition.at(0.0), 20, interval_length=0.05, rounding="down")
    above = grid_delta(decomposition.at(1e-9), 20, interval_length=0.05, rounding="down")
    assert above < at_zero
    epsilon = grid_epsilon(
        decomposition,
        20,
        target_delta=(above + at_zero) / 2,
        interval_length=0.05,
        rounding="down",
    )
    assert 0 <= epsilon <= 1e-6


def test_a_component_without_counterpart_still_has_a_finite_answer():
    # b = 0 somewhere, so no epsilon makes delta vanish, but a finite one reaches the target.
    decomposition = Decomposition.from_coefficients([0.875, 0.125], [1.0, 0.0], [0.75, 0.125])
    assert decomposition.max_epsilon == math.inf
    arguments = {"target_delta": 0.13, "interval_length": 0.01}
    epsilon = grid_epsilon(decomposition, 3, **arguments)
    assert 0 <= epsilon < 1
    assert grid_delta(decomposition.at(epsilon), 3, interval_length=0.01) <= 0.13


def test_no_epsilon_at_all():
    # A component that only one input can produce, kept apart from the crowd.
    decomposition = Decomposition.from_coefficients([0.5, 0.5], [1.0, 0.0], [1e-6, 0.0])
    up = grid_epsilon(decomposition, 1, target_delta=0.25, interval_length=1e140)
    down = grid_epsilon(decomposition, 1, target_delta=0.25, interval_length=1e140, rounding="down")
    assert up == math.inf
    assert down > 100


@pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 4.0])
def test_step_of_the_paper(epsilon0):
    assert paper_interval_length(epsilon0) == pytest.approx(
        (math.exp(epsilon0) - 1) / 1200, rel=1e-9
    )
    # 1200 steps from 1 to e^epsilon0, so 2400 from the smallest to the largest value at epsilon 0.
    values = krr(10, epsilon0).at(0.0).upper.values
    assert np.ptp(values) / paper_interval_length(epsilon0) == pytest.approx(2400)


def test_grids_that_do_not_fit_are_refused_before_anything_is_allocated():
    gains = atoms([1.0, -1.0], [0.5, 0.5])
    for n, step in [(10**6, 1e-3), (1, 1e-9), (2, 1e-320), (2**53, 1.0)]:
        with pytest.raises(ValueError, match="use a larger step or fewer users"):
            grid_delta(gains, n, interval_length=step)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "n must be"),
        ({"interval_length": 0.0}, "interval_length must be greater than 0, got 0.0"),
        ({"interval_length": math.nan}, "interval_length must be finite"),
        ({"rounding": "nearest"}, 'rounding must be "up" or "down", got \'nearest\''),
    ],
)
def test_bad_arguments(changes, message):
    arguments = {"n": 3, "interval_length": 0.1, "rounding": "up"} | changes
    n = arguments.pop("n")
    with pytest.raises(ValueError, match=message):
        grid_delta(krr(3, 1.0).at(0.1), n, **arguments)
    with pytest.raises(ValueError, match=message):
        grid_epsilon(krr(3, 1.0), n, target_delta=0.1, **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_delta": -0.1}, "target_delta must be between 0 and 1, got -0.1"),
        ({"tolerance": 0.0}, "tolerance must be between"),
    ],
)
def test_bad_targets(changes, message):
    with pytest.raises(ValueError, match=message):
        grid_epsilon(krr(3, 1.0), 3, **({"target_delta": 0.1, "interval_length": 0.1} | changes))


@pytest.mark.slow
def test_paper_setting():
    # 10-RR, epsilon0 = 0.1, n = 1000, delta = 1e-6: both sides of one number.
    arguments = {"target_delta": 1e-6, "interval_length": paper_interval_length(0.1)}
    up = grid_epsilon(krr(10, 0.1), 1000, rounding="up", **arguments)
    down = grid_epsilon(krr(10, 0.1), 1000, rounding="down", **arguments)
    assert down < up < 1.03 * down
