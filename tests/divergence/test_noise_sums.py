"""Sums of continuous noise by quadrature: each use of the transform's error, and all together."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_transforms import (
    gaussian_cuts,
    gaussian_densities,
    laplace_cuts,
    laplace_densities,
    transform,
)

from shuffledp.decomposition import Decomposition
from shuffledp.decomposition.smooth import Quadrature
from shuffledp.divergence import LogEnclosure, log_delta, log_delta_at, log_delta_bound_at
from shuffledp.divergence.characteristic import bound_square, evaluate, from_complex
from shuffledp.divergence.proposals import panels
from shuffledp.divergence.proposals.panels import choose_jump_rule, choose_quadrature
from shuffledp.divergence.smooth import (
    accepted_width,
    log_delta_by_jumps,
    log_delta_by_rule,
)
from shuffledp.divergence.smooth_jumps import JumpRule
from shuffledp.divergence.tilt import log_mgf, tilt
from shuffledp.randomizers import Gaussian, Laplace, LocalRandomizer, Pair

PAIR = Pair(0, 1)


def rule_of(made: Decomposition, end: float, width: float) -> Quadrature:
    assert made.smooth is not None
    return made.smooth.quadrature(min(end, made.smooth.length), width)


def exact_transform(mechanism: LocalRandomizer, end: float, epsilon: float, z: complex) -> mp.mpc:
    if isinstance(mechanism, Gaussian):
        densities, cuts = gaussian_densities(mechanism.sigma), gaussian_cuts(mechanism.sigma, end)
    else:
        assert isinstance(mechanism, Laplace)
        densities, cuts = laplace_densities(mechanism.epsilon0), laplace_cuts(mechanism.epsilon0)
    return transform(densities, cuts, epsilon, z)


def meet(first: LogEnclosure, second: LogEnclosure) -> bool:
    return first.lower <= second.upper and second.lower <= first.upper


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("mechanism", "tilts"),
    [
        (Gaussian(sigma=0.35), (1e-7, 1e-6)),
        (Gaussian(sigma=1.0), (0.004, 0.02)),
        (Gaussian(sigma=2.5), (0.1, 1.0)),
        (Laplace(epsilon0=2.0), (0.05, 0.5)),
    ],
)
def test_the_characteristic_function_of_the_true_law_is_within_its_error(mechanism, tilts):
    end, epsilon = 6.0, 0.1
    law = rule_of(mechanism.blanket(PAIR), end, 1.2).law(epsilon)
    for theta in tilts:
        tilted = tilt(law, theta)
        t = np.array([0.02, 0.6, 15.0]) / math.sqrt(tilted.variance)
        found = evaluate(tilted, t)
        product = np.exp(1j * np.multiply.outer(t, tilted.centred)) @ tilted.probability
        dense = from_complex(tilted, t, product)
        with mp.workdps(25):
            whole = exact_transform(mechanism, end, epsilon, complex(theta)).real
            assert abs(mp.log(whole) - tilted.log_mgf) <= tilted.log_mgf_error
            k, error = log_mgf(law, np.array([theta, 2 * theta, 0.1 * theta]))
            assert abs(mp.log(whole) - mp.mpf(float(k[0]))) <= float(error[0])
            for i, time in enumerate(t.tolist()):
                turn = mp.exp(-1j * mp.mpf(time) * mp.mpf(tilted.mean))
                ratio = exact_transform(mechanism, end, epsilon, complex(theta, time)) / whole
                phi = complex(turn * ratio)
                for seen in (found, dense):
                    near = np.exp(seen.log_modulus[i] + 1j * seen.argument[i])
                    assert abs(phi - near) <= seen.error[i] + 1e-15
                    assert seen.limit is not None
                    assert abs(phi) <= seen.limit[i] * (1 + 1e-12)
                at, half = np.array([time * 1.05]), np.array([time * 0.1])
                assert abs(phi) ** 2 <= bound_square(tilted, at, half)[0] * (1 + 1e-12)


def test_errors_far_out_are_those_of_panels_nobody_can_resolve():
    law = rule_of(Gaussian(sigma=1.0).blanket(PAIR), 6.5, 0.6).law(0.06)
    tilted = tilt(law, 0.0186)
    assert tilted.transform is not None
    deviation = math.sqrt(tilted.variance)
    near, half, far = tilted.transform.at(np.array([0.01, 1.0, 1e4]) / deviation)
    assert near < 1e-7 < half < 1e-3 < far
    assert tilted.value_shift == 0


def test_values_that_are_off_by_their_errors_turn_the_characteristic_function():
    off = 1e-4
    law = rule_of(Gaussian(sigma=1.0).blanket(PAIR), 6.5, 0.3).law(0.06)
    tilted = tilt(replace(law, value_error=law.value_error + off), 0.0186)
    t = np.array([0.01, 0.1, 1.0, 5.0]) / math.sqrt(tilted.variance)
    found = evaluate(tilted, t)
    # All values are larger by as much: the transform is what it was, times a phase.
    moved = np.abs(np.exp(found.log_modulus)) * np.abs(np.expm1(1j * off * t))
    assert tilted.transform is not None
    assert (found.error >= moved).all()
    assert (tilted.transform.at(t) >= off * t).all()


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_rule_that_cannot_follow_its_law_says_nothing():
    law = rule_of(Gaussian(sigma=0.5).blanket(PAIR), 36.0, 1.2).law(0.0)
    tilted = tilt(law, 1.0)
    assert tilted.transform is not None
    assert tilted.log_mgf_error == math.inf
    assert (tilted.transform.at(np.array([0.0, 1.0])) == math.inf).all()


MECHANISMS = [
    Gaussian(sigma=0.35),
    Gaussian(sigma=0.6),
    Gaussian(sigma=1.0),
    Gaussian(sigma=4.0),
    Laplace(epsilon0=0.5),
    Laplace(epsilon0=3.0),
]


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(MECHANISMS),
    st.sampled_from([None, 0, 1]),
    st.integers(2, 10**9),
    st.floats(0.3, 12.0),
    st.floats(4.0, 10.0),
    st.sampled_from([1.2, 0.6, 0.3]),
)
def test_any_rule_meets_the_cells(mechanism, holder, n, depth, end, width):
    made = mechanism.blanket(PAIR) if holder is None else mechanism.background(PAIR, holder)
    epsilon = depth / math.sqrt(n)
    cells = log_delta(made.at(epsilon), n, rtol=1e-2)
    found = log_delta_by_rule(rule_of(made, end, width), n, epsilon, 1e-3)
    assert found.lower <= found.upper
    assert meet(found, cells)
    assert log_delta_bound_at(made, n, epsilon) >= max(found.lower, cells.lower)


@pytest.mark.heavy
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([Gaussian(sigma=0.35), Gaussian(sigma=0.5), Gaussian(sigma=1.0)]),
    st.sampled_from([None, 1]),
    st.integers(5, 10**7),
    st.floats(0.5, 60.0),
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
)
def test_any_division_into_jumps_meets_the_cells(mechanism, holder, n, depth, seed, orders):
    made = mechanism.blanket(PAIR) if holder is None else mechanism.background(PAIR, holder)
    rng = np.random.default_rng(seed)
    epsilon = depth / math.sqrt(n)
    rule = rule_of(made, 8.0, 0.5)
    first = int(rng.integers(4, rule.panels.count - 2))
    coarse = rule.panels.edges
    inside = np.sort(rng.uniform(coarse[first], coarse[-1], 5))
    fine = [*coarse[: first + 1].tolist(), *inside.tolist(), float(coarse[-1])]
    assert made.smooth is not None
    cuts = (first, *sorted(rng.choice(range(first + 1, len(fine) - 1), 2, replace=False).tolist()))
    plan = JumpRule(rule, first, made.smooth.rule(fine), (*cuts, len(fine) - 1), orders)
    found = log_delta_by_jumps(plan, n, epsilon, 1e-2)
    assert meet(found, log_delta(made.at(epsilon), n, rtol=1e-2))


@pytest.mark.parametrize("sigma", [30.0, 1e4, 1e6])
def test_faint_signals(sigma):
    """Where G is tiny, it keeps its relative accuracy."""
    made, n = Gaussian(sigma=sigma).blanket(PAIR), 10**9
    epsilon = 2e-5 / sigma
    found = log_delta_at(made, n, epsilon, rtol=1e-4)
    assert found.width <= 1e-4
    assert meet(found, log_delta(made.at(epsilon), n, rtol=1e-3))


def test_values_beyond_what_the_engine_can_hold_say_nothing():
    made = Gaussian(sigma=1.0).blanket(PAIR)
    rule = rule_of(made, 8.0, 0.5)
    plan = JumpRule(rule, 8, rule, (8, rule.panels.count), 2)
    assert not rule.law(299.0).is_moderate
    assert log_delta_by_rule(rule, 1000, 299.0, 1e-3).width == math.inf
    assert log_delta_by_jumps(plan, 1000, 299.0, 1e-3).width == math.inf


def test_terms_that_are_too_vague_are_not_followed():
    """A division with one wide class: the enclosure is valid, and soon given up if asked for."""
    made, n, epsilon = Gaussian(sigma=0.5).blanket(PAIR), 100, 6.69
    rule = rule_of(made, 8.0, 0.5)
    plan = JumpRule(rule, 8, rule, (8, rule.panels.count), 2)
    whole = log_delta_by_jumps(plan, n, epsilon, 1e-2)
    assert meet(whole, log_delta(made.at(epsilon), n, rtol=1e-2))
    assert log_delta_by_jumps(plan, n, epsilon, 1e-2, whole.width).width == whole.width
    assert log_delta_by_jumps(plan, n, epsilon, 1e-2, 1e-9).width == math.inf


def test_a_division_that_leaves_something_out_says_nothing():
    made = Gaussian(sigma=1.0).blanket(PAIR)
    rule = rule_of(made, 8.0, 0.5)
    other = rule_of(made, 8.0, 0.8)
    last = rule.panels.count
    assert JumpRule(rule, 8, rule, (8, 10, last), 2).is_whole
    for first, fine, cuts in (
        (8, rule, (9, last)),
        (8, rule, (7, last)),
        (8, rule, (8, last - 1)),
        (8, rule, (8, 10, 10, last)),
        (8, other, (8, other.panels.count)),
        (0, rule, (0, last)),
    ):
        plan = JumpRule(rule, first, fine, cuts, 2)
        assert not plan.is_whole
        assert log_delta_by_jumps(plan, 1000, 0.1, 1e-3).width == math.inf


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon"),
    [
        (Gaussian(sigma=1.0), 100, 0.93),
        (Gaussian(sigma=0.7), 10**4, 0.167),
        (Gaussian(sigma=0.5), 10**6, 0.0611),
    ],
)
def test_large_jumps_are_followed(mechanism, n, epsilon):
    made = mechanism.blanket(PAIR)
    found = log_delta_at(made, n, epsilon, rtol=1e-4)
    assert found.width <= 1e-4
    assert meet(found, log_delta(made.at(epsilon), n, rtol=1e-2))


@pytest.mark.parametrize("mechanism", [Gaussian(sigma=1.0), Gaussian(sigma=3.0)])
@pytest.mark.parametrize("end", [3.0, 4.5, 6.0])
def test_what_lies_beyond_the_end_is_covered(mechanism, end):
    made, n, epsilon = mechanism.blanket(PAIR), 1000, 0.02
    exact = log_delta_at(made, n, epsilon, rtol=1e-4)
    found = log_delta_by_rule(rule_of(made, end, 0.6), n, epsilon, 1e-4)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.upper >= exact.lower


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon"),
    [
        (Gaussian(sigma=1.0), 10**4, 0.06),
        (Gaussian(sigma=2.0), 100, 0.24),
        (Gaussian(sigma=5.0), 10**9, 3e-5),
        (Laplace(epsilon0=1.0), 100, 0.44),
        (Laplace(epsilon0=4.0), 10**6, 0.05),
    ],
)
def test_answers_are_narrow_and_inside_those_of_cells(mechanism, n, epsilon):
    assert log_delta_at(mechanism.blanket(PAIR), n, epsilon, rtol=1e-4).width <= 1e-4
    for made in (mechanism.blanket(PAIR), mechanism.background(PAIR, 0)):
        found = log_delta_at(made, n, epsilon, rtol=1e-4)
        cells = log_delta(made.at(epsilon), n, rtol=1e-4)
        assert found.width <= max(1e-4, cells.width)
        assert meet(found, cells)
        assert found == log_delta_at(made, n, epsilon, rtol=1e-4)


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon"),
    [
        (Gaussian(sigma=0.5), 100, 6.7),
        (Gaussian(sigma=1.0), 3, 1.0),
        (Laplace(epsilon0=2.0), 100, 1.9999),
        (Laplace(epsilon0=1.0), 1000, 1.0),
        (Laplace(epsilon0=1.0), 1000, 1.5),
        (Gaussian(sigma=1.0), 1000, 300.0),
        (Gaussian(sigma=1.0), 1000, -300.0),
    ],
)
def test_where_jumps_or_few_users_rule_cells_answer(mechanism, n, epsilon):
    made = mechanism.blanket(PAIR)
    found = log_delta_at(made, n, epsilon, rtol=1e-2)
    assert meet(found, log_delta(made.at(epsilon), n, rtol=1e-2))


def test_neighbouring_epsilons_share_a_rule() -> None:
    """Which one it is hangs on the question alone, whatever was asked before."""
    smooth = Laplace(epsilon0=2.0).blanket(Pair(0, 1)).smooth
    assert smooth is not None
    rules = [choose_quadrature(smooth, 10_000, epsilon, 1e-4) for epsilon in (0.0801, 0.0802)]
    assert rules[0] is rules[1] is not None
    panels._choose.cache_clear()
    again = choose_quadrature(smooth, 10_000, 0.0802, 1e-4)
    assert again is not None
    assert again.panels.edges.tolist() == rules[0].panels.edges.tolist()
    assert choose_quadrature(smooth, 10_000, 1.999, 1e-4) is not rules[0]
    assert choose_quadrature(smooth, 10_000, 2.0, 1e-4) is None
    assert choose_quadrature(smooth, 10, 0.08, 1e-4) is None


@pytest.mark.parametrize("holder", [None, 0, 1])
@pytest.mark.parametrize("epsilon0", [1.0, 4.0, 7.5])
@pytest.mark.parametrize("n", [1000, 10**6])
def test_rules_that_are_chosen_are_good_enough(epsilon0: float, n: int, holder: int | None) -> None:
    """What errors of waves are expected to add decides, and it is what they add."""
    noise = Laplace(epsilon0=epsilon0)
    made = noise.blanket(Pair(0, 1)) if holder is None else noise.background(Pair(0, 1), holder)
    assert made.smooth is not None
    epsilon = min(0.3 * epsilon0, math.expm1(epsilon0 / 2) * 8 / math.sqrt(n))
    rule = choose_quadrature(made.smooth, n, epsilon, 1e-4)
    if rule is None:  # left to cells
        assert epsilon0 > 4
        assert n == 1000
        return
    found = log_delta_by_rule(rule, n, epsilon, 1e-4)
    assert found.width <= 1e-4
    cells = log_delta(made.at(epsilon), n, rtol=1e-3)
    assert cells.lower <= found.upper
    assert found.lower <= cells.upper


@pytest.mark.parametrize(
    ("sigma", "n", "epsilon", "width"),
    [
        (0.7, 10**4, 0.0543758, 1e-4),  # panels that are too fine, where jumps do better
        (0.55, 10**6, 0.005118, 1e-4),
        (0.5, 10**5, 0.471355, 1e-4),  # smaller jumps than are tried first
        (0.4, 10**7, 0.173686, 1e-3),  # cells that are much too wide
        (0.35, 10**9, 7.5e-6, 5e-4),  # ratios that only cells can follow
    ],
)
def test_a_second_plan_helps_where_the_first_is_not_good_enough(
    sigma: float, n: int, epsilon: float, width: float
) -> None:
    noise = Gaussian(sigma).blanket(Pair(0, 1))
    found = log_delta_at(noise, n, epsilon)
    cells = log_delta(noise.at(epsilon), n, rtol=1e-2)
    assert found.width <= width
    assert meet(found, cells)


def test_the_second_plan_goes_further_out_or_takes_smaller_jumps() -> None:
    smooth = Gaussian(0.5).blanket(Pair(0, 1)).smooth
    assert smooth is not None
    first = choose_jump_rule(smooth, 10**5, 0.471355, 1e-4)
    lower = choose_jump_rule(smooth, 10**5, 0.471355, 1e-4, (-math.inf, math.inf))
    further = choose_jump_rule(smooth, 10**5, 0.471355, 1e-4, (-40.0, -30.0))
    assert first is not None
    assert lower is not None
    assert further is not None
    assert lower.orders == first.orders + 1
    assert lower.rule.panels.edges[lower.first] < first.rule.panels.edges[first.first]
    assert further.orders == first.orders
    assert further.rule.panels.edges[-1] > first.rule.panels.edges[-1]


@pytest.mark.parametrize(("n", "sigma", "epsilon"), [(40, 0.53, 3.75), (100, 0.46, 5.62)])
def test_cells_are_quicker_where_few_users_have_many_kinds_of_jumps(
    n: int, sigma: float, epsilon: float
) -> None:
    few, more = Gaussian(sigma).blanket(PAIR).smooth, Gaussian(0.7).blanket(PAIR).smooth
    assert few is not None
    assert more is not None
    assert choose_jump_rule(few, n, epsilon, 1e-4) is None
    assert choose_jump_rule(few, n, epsilon, 1e-4, (-math.inf, math.inf)) is None
    assert choose_jump_rule(few, 1000, epsilon, 1e-4) is not None
    assert choose_jump_rule(more, n, 2.0, 1e-4) is not None


@pytest.mark.parametrize(("sigma", "epsilon"), [(0.5, 3.3402), (0.55, 3.3257)])
def test_a_second_plan_follows_cells_that_fail(sigma: float, epsilon: float) -> None:
    """Cells of 300 users are twenty times as wide as they should be, now and then."""
    noise = Gaussian(sigma).blanket(PAIR)
    found, cells = log_delta_at(noise, 300, epsilon), log_delta(noise.at(epsilon), 300)
    assert found.width < 1e-4
    assert cells.width > 7e-4
    assert meet(found, cells)


def test_cells_of_steep_laws_are_accepted_if_they_are_no_wider():
    """Fifty times the tolerance, 0.005, or the tolerance if that is more; of others, that alone."""
    steep, gentle = (Gaussian(sigma=sigma).blanket(PAIR) for sigma in (0.3, 1.0))
    for rtol, expected in ((1e-5, 5e-4), (1e-3, 5e-3), (2e-2, 2e-2)):
        assert accepted_width(steep, rtol) == pytest.approx(expected)
        assert accepted_width(gentle, rtol) == rtol
        assert accepted_width(Decomposition.silent(), rtol) == rtol
