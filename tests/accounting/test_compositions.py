"""Answers about compositions fit together, and follow from what can be computed from a report."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_mechanisms import any_mechanism, compositions, deltas, mechanisms, user_counts

from shuffledp import ShuffleAccountant, joint, subsample
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.mechanisms import LocalRandomizer, OneOf

#: What one rounding of exp or log may do to a comparison of doubles.
HAIR = 1e-12


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


def reveals_less(smaller: LocalRandomizer, larger: LocalRandomizer, n: int, share: float) -> None:
    level = min(larger.epsilon0, 8.0)
    for epsilon in {0.0, share * level, share * level / math.sqrt(n)}:
        low = ShuffleAccountant(smaller, n).log_delta_interval(epsilon).lower
        high = ShuffleAccountant(larger, n).log_delta_interval(epsilon).upper
        assert low <= high + 1e-9, epsilon


@pytest.mark.heavy
@settings(max_examples=40)
@given(compositions(), user_counts, deltas)
def test_epsilon_and_delta_contradict_nobody(
    randomizer: LocalRandomizer, n: int, delta: float
) -> None:
    accountant = ShuffleAccountant(randomizer, n)
    interval = accountant.epsilon_interval(delta)
    assert 0 <= interval.lower <= interval.upper <= randomizer.epsilon0 * (1 + HAIR)
    assert 0 <= accountant.epsilon_lower_bound(delta) <= interval.upper
    if interval.upper > 0:
        assert accountant.delta_interval(interval.upper).lower <= delta * (1 + HAIR)
    if interval.lower > 0:
        assert accountant.delta_interval(interval.lower).upper >= delta * (1 - HAIR)
    assert accountant.delta_lower_bound(interval.lower) <= accountant.get_delta(interval.lower)


@pytest.mark.heavy
@settings(max_examples=20)
@given(any_mechanism, user_counts, st.integers(1, 5), st.floats(0, 1))
def test_more_users_reveal_less(
    randomizer: LocalRandomizer, n: int, factor: int, share: float
) -> None:
    few, many = ShuffleAccountant(randomizer, n), ShuffleAccountant(randomizer, n * factor + 1)
    for epsilon in (0.0, share * min(randomizer.epsilon0, 8.0) / math.sqrt(n)):
        assert many.log_delta_interval(epsilon).lower <= few.log_delta_interval(epsilon).upper


@pytest.mark.heavy
@settings(max_examples=20)
@given(mechanisms(), user_counts, st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0, 1))
def test_taking_part_less_often_reveals_less(
    randomizer: LocalRandomizer, n: int, rate: float, less: float, share: float
) -> None:
    often = subsample(randomizer, rate)
    reveals_less(often, randomizer, n, share)
    reveals_less(subsample(randomizer, rate * less), often, n, share)


@pytest.mark.heavy
@settings(max_examples=20)
@given(mechanisms(), mechanisms(), user_counts, st.integers(1, 15), st.floats(0, 1))
def test_all_attributes_reveal_more_than_one_of_them(
    first: LocalRandomizer, second: LocalRandomizer, n: int, sixteenths: int, share: float
) -> None:
    """From the reports of all attributes those of one, or of one drawn at random, can be made."""
    both = joint(first, second)
    reveals_less(first, both, n, share)
    reveals_less(joint(first, second, at_most=1), both, n, share)
    weight = sixteenths / 16
    reveals_less(OneOf((first, second), (weight, 1 - weight)), both, n, share)
