"""Best bounds that are searched for together: those of single questions, and nothing is lost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import ShuffleAccountant, parse
from shuffledp.accounting import climbs, swap_bound
from shuffledp.accounting.climbs import climb_together
from shuffledp.accounting.swap_bound import SwapBound, SwapPoint, prepare_swaps
from shuffledp.decomposition import Decomposition
from shuffledp.interval import exp_up

MECHANISMS = [
    "krr(k=10, epsilon0=2)",
    "blh(epsilon0=1)",
    "krr(k=2, epsilon0=1)",
    "joint(krr(k=10, epsilon0=1), oue(epsilon0=1))",
    "laplace(epsilon0=1)",
    "any_pure_ldp(epsilon0=1)",
    "matrix([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])",
]


def climbing(text: str, users: list[int]) -> list[ShuffleAccountant]:
    return [ShuffleAccountant(text, n) for n in users]


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("text", MECHANISMS)
def test_epsilons_are_those_of_single_questions(text: str) -> None:
    users = [40, 300, 2500, 10**5, 10**8]
    accountants = climbing(text, users)
    bounds = [accountant.known.climbing for accountant in accountants]
    assert None not in bounds
    climb_together([bound for bound in bounds if bound is not None], [1e-6] * len(users))
    for accountant in accountants:
        found = accountant.epsilon_interval(1e-6)
        single = ShuffleAccountant(text, accountant.n).epsilon_interval(1e-6)
        assert max(found.lower, single.lower) <= min(found.upper, single.upper)
        assert found.upper == pytest.approx(single.upper, rel=1e-4)
        # The upper end keeps its word for this accountant, and nearly so for another one.
        assert accountant.get_delta(found.upper) <= 1e-6
        assert ShuffleAccountant(text, accountant.n).get_delta(found.upper) <= 1e-6 * (1 + 1e-4)


@pytest.mark.parametrize("text", MECHANISMS[:4])
def test_profiles_are_those_of_single_questions(text: str) -> None:
    accountant = ShuffleAccountant(text, 3000)
    epsilons = np.linspace(0.0, accountant.get_epsilon(1e-10), 12)
    profile = accountant.profile(epsilons)
    for epsilon, lower, upper in zip(
        epsilons.tolist(), profile.lower.tolist(), profile.upper.tolist(), strict=True
    ):
        single = ShuffleAccountant(text, 3000).delta_interval(epsilon)
        assert max(lower, single.lower) <= min(upper, single.upper)
        assert upper == pytest.approx(single.upper, rel=1e-4)


def test_a_profile_leaves_nothing_behind() -> None:
    """Single answers are functions of the question alone, whatever was asked together before."""
    text, epsilons = "krr(k=10, epsilon0=2)", [0.02, 0.04, 0.06]
    asked = ShuffleAccountant(text, 5000)
    asked.profile(epsilons)
    fresh = ShuffleAccountant(text, 5000)
    assert [asked.get_delta(e) for e in epsilons] == [fresh.get_delta(e) for e in epsilons]


def test_what_was_evaluated_together_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = parse("krr(k=10, epsilon0=2)")
    [pair] = mechanism.neighbours()
    swaps = [SwapBound(mechanism, n) for n in (5000, 6000)]
    prepare_swaps([SwapPoint(swap, pair, 0.07) for swap in swaps])
    monkeypatch.setattr(swap_bound, "swap_log_delta", lambda *_: pytest.fail("asked again"))
    values = [swap.log_delta(pair, 0.07) for swap in swaps]
    assert values[1] < values[0] < 0
    with pytest.raises(pytest.fail.Exception):
        swaps[0].log_delta(pair, 0.08)


def test_bounds_of_other_users_and_mechanisms_stay_apart() -> None:
    """In any order: each has its own laws and its own number of users."""
    points = []
    for text in ("krr(k=10, epsilon0=2)", "krr(k=10, epsilon0=1.5)", "krr(k=20, epsilon0=2)"):
        mechanism = parse(text)
        [pair] = mechanism.neighbours()
        points += [
            SwapPoint(SwapBound(mechanism, n), pair, epsilon)
            for epsilon in (0.05, 0.07)
            for n in (4000, 5000)
        ]
    prepare_swaps(points[::-1])
    for point in points:
        single = SwapBound(point.swap.randomizer, point.swap.n)
        expected = single.log_delta(point.pair, point.epsilon)
        assert point.swap.log_delta(point.pair, point.epsilon) == pytest.approx(expected, abs=1e-4)


def test_coarse_laws_cost_little_and_are_never_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of Laplace noise: fewer of them are larger in convex order."""
    mechanism = parse("laplace(epsilon0=1)")
    [pair] = mechanism.neighbours()
    for n, epsilon in ((60, 0.4), (1000, 0.1), (10**6, 0.004)):
        coarse = SwapBound(mechanism, n).log_delta(pair, epsilon)
        with monkeypatch.context() as patch:
            patch.setattr(SwapBound, "_is_coarse", False)
            fine = SwapBound(mechanism, n).log_delta(pair, epsilon)
        # Smoothing adds up to two thousandths to either.
        assert fine - 2e-3 <= coarse <= fine + 2e-3
        assert coarse == pytest.approx(fine, abs=5e-4)


def test_coarse_laws_with_singular_parts_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses that coarsening makes faint are exposed, and the swap bound has no place for them."""
    mechanism = parse("laplace(epsilon0=1.03)")
    [pair] = mechanism.neighbours()
    torn = Decomposition.from_coefficients([0.5, 0.5, 0.0], [0.4, 0.5, 0.1], [0.2, 0.3, 0.0])
    fine = swap_bound._slot_laws(mechanism, pair)
    monkeypatch.setattr(Decomposition, "coarsen", lambda *_: torn)
    assert swap_bound._slot_laws(mechanism, pair, True) is fine
    swap_bound._slot_laws.cache_clear()


def test_few_users_of_a_large_level_keep_fine_laws() -> None:
    assert not SwapBound(parse("laplace(epsilon0=4)"), 1000)._is_coarse
    assert SwapBound(parse("laplace(epsilon0=4)"), 100_000)._is_coarse
    assert not SwapBound(parse("gaussian(sigma=1)"), 10**12)._is_coarse  # no level


def test_a_search_says_where_it_evaluates() -> None:
    """What is asked for before every step is what the step needs."""
    accountant = ShuffleAccountant("blh(epsilon0=1)", 10_000)
    bound = accountant.known.climbing
    assert bound is not None
    asked, steps = [], bound.steps(1e-6)
    while True:
        try:
            epsilon, ceiling = next(steps)
            asked.append(epsilon)
            assert ceiling > math.log(1e-6)
        except StopIteration as end:
            found = end.value.guarantee.upper
            break
    assert found in asked
    assert found == bound.epsilon(1e-6).guarantee.upper
    value, _ = bound._swapped(found)
    assert exp_up(value) <= 1e-6
    assert math.isfinite(value)


def test_nobody_climbs_where_other_bounds_answer() -> None:
    for accountant in (
        ShuffleAccountant("krr(k=10, epsilon0=2)", 1000, bound="blanket"),
        ShuffleAccountant("laplace(epsilon0=1)", 1000, view="sum"),
        ShuffleAccountant("krr(k=10, epsilon0=2)", 1000, corrupted_adaptively=3),
    ):
        assert accountant.known.climbing is None
    climbs.climb_together([], [])
