"""Where to look for the epsilon of a bound that lies a little above the truth."""

from __future__ import annotations

import math

import pytest

from shuffledp.accounting.climb import Climb


def climb(bound, slope, low, ceiling, target, most=16):
    """Return where the bound was found to meet the target, and how often it was evaluated."""
    guide, found = Climb(low, ceiling, target), math.inf
    for count in range(most):
        epsilon = guide.next()
        if epsilon is None:
            return found, count
        assert low <= epsilon < min(ceiling, found)
        value = bound(epsilon)
        if value <= target:
            found = epsilon
        guide.see(epsilon, value, slope, meets=value <= target)
    return found, most


@pytest.mark.parametrize("flatter", [1, 3, 10, 30])
def test_a_bound_that_is_flatter_than_the_truth_is_followed(flatter):
    """The truth falls with slope -10; the bound starts 1 above the target, and falls less."""
    root = 1 + flatter / 10
    found, count = climb(lambda e: -20 + 1 - 10 * (e - 1) / flatter, -10.0, 1.0, 6.0, -20.0)
    assert root <= found <= root * (1 + 3e-4)
    assert count <= 10


def test_a_bound_close_to_the_truth_needs_few_looks():
    found, count = climb(lambda e: -20 + 1e-3 - 10 * (e - 1), -10.0, 1.0, 6.0, -20.0)
    assert 1.0001 <= found <= 1.0004
    assert count <= 3


def test_a_bound_that_never_meets_the_target_is_left():
    found, count = climb(lambda e: -19.0 - 1e-6 * e, -10.0, 1.0, 1.5, -20.0)
    assert found == math.inf
    assert count <= 16


def test_a_bound_that_falls_too_slowly_is_left_soon():
    found, count = climb(lambda e: -5.0 - 0.5 * e, -10.0, 1.0, 9.0, -20.0)
    assert found == math.inf
    assert count == 3


def test_a_target_that_the_truth_could_not_reach_is_left_sooner():
    """The ceiling is so near that not even four times the slope of the truth leads there."""
    found, count = climb(lambda e: -15.0 - 0.5 * e, -10.0, 1.0, 1.1, -20.0)
    assert found == math.inf
    assert count == 2


def test_a_bound_with_a_kink_needs_few_looks():
    """It is steep above the target and flat below: a line through both ends moves slowly."""
    found, count = climb(lambda e: -20 - min(12 * (e - 2), 3 * (e - 2)), -20.0, 1.0, 6.0, -20.0)
    assert 2.0 <= found <= 2.0 * (1 + 2e-4)
    assert count <= 9


@pytest.mark.parametrize("bend", [1.0, 3.0, 10.0, 20.0])
@pytest.mark.parametrize("slope", [0.5, 1.0, 3.0])
def test_a_bound_that_bends_is_followed(bend: float, slope: float) -> None:
    """Lines through its points miss the target again and again, halves take fifteen looks."""

    def bound(epsilon: float) -> float:
        return -20 - slope * (epsilon - 2) + bend * (0.25 - max(epsilon - 1.5, 0.0) ** 2)

    found, count = climb(bound, -20.0, 1.0, 6.0, -20.0)
    assert 2.0 <= found <= 2.0 * (1 + 2e-4)
    assert count <= 12


@pytest.mark.parametrize(("rise", "enough"), [(1.0, 2e-3), (-1e-3, 2.5e-4)])
def test_a_bound_that_falls_all_at_once_is_halved(rise: float, enough: float) -> None:
    """Lines lead nowhere; where the bound even rises before it falls, that is the end sooner."""
    guide = Climb(1.0, 6.0, -20.0)
    tear, seen = 1.7321, [1.01, 2.0, 1.3, 1.31]

    def bound(epsilon: float) -> float:
        return -19 + rise * (epsilon - 1) if epsilon < tear else -25.0

    for epsilon in seen:
        guide.see(epsilon, bound(epsilon), -10.0, meets=epsilon >= tear)
    while (epsilon := guide.next()) is not None:
        seen.append(epsilon)
        guide.see(epsilon, bound(epsilon), -10.0, meets=epsilon >= tear)
    best = min(epsilon for epsilon in seen if epsilon >= tear)
    assert best <= tear * (1 + enough)
    assert len(seen) <= 4 + math.log2(0.5 / enough) + 1


def test_a_target_that_is_met_at_0_is_the_last():
    guide = Climb(0.0, 1.0, -1.0)
    assert guide.next() == 0.0
    guide.see(0.0, -2.0, -1.0, meets=True)
    assert guide.next() is None
