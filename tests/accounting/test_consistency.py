"""Answers of one accountant must fit together, for any mechanism, n, epsilon and delta.

No reference values here: a certified number must not be contradicted by another certified number.
"""

from __future__ import annotations

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from blankets import blanket_accountant, width_asked
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    HadamardResponse,
    Interval,
    Laplace,
    LocalHash,
    ShuffleAccountant,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.accounting.setting import BOUNDS, Bound
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.mechanisms import LocalRandomizer

#: What one rounding of exp or log may do to a comparison of doubles.
HAIR = 1e-12

logarithmic = st.floats(math.log(0.01), math.log(10.0)).map(math.exp)
user_counts = st.one_of(st.integers(1, 10), st.floats(0, 12).map(lambda x: max(1, round(10.0**x))))
deltas = st.one_of(st.floats(math.log(1e-200), math.log(0.5)).map(math.exp), st.floats(1e-4, 0.5))
bounds = st.sampled_from(BOUNDS)


@st.composite
def support_mechanisms(draw: st.DrawFn) -> LocalRandomizer:
    epsilon0 = draw(logarithmic)
    domain = draw(st.sampled_from([None, 2, 3, 5, 100]))
    kind = draw(st.integers(0, 8))
    if kind == 0:
        return KRR(k=draw(st.sampled_from([2, 3, 4, 10, 1000])), epsilon0=epsilon0)
    if kind == 1:
        size = draw(st.sampled_from([2, 3, 5, 20]))
        return SubsetSelection(epsilon0, size, draw(st.integers(1, size - 1)))
    if kind == 2:
        odds = draw(st.floats(0.05, 20.0))
        q = draw(st.floats(0.02, 0.9))
        p = odds * q / (1 - q + odds * q)
        if abs(math.log(odds)) >= 0.01 and 0.001 < p < 0.999:
            return UnaryEncoding(p=p, q=q, domain_size=domain)
    if kind == 3:
        return LocalHash(epsilon0, draw(st.sampled_from([None, 3, 8])), domain)
    if kind == 4:
        return AnyPureLDP(epsilon0)
    return [BinaryLocalHash, RAPPOR, OUE, HadamardResponse][kind % 4](epsilon0, domain)


def tight(randomizer: LocalRandomizer, n: int) -> ShuffleAccountant:
    return blanket_accountant(randomizer, n, rtol=1e-9)


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


@settings(max_examples=250)
@given(randomizer=support_mechanisms(), n=user_counts, delta=deltas)
def test_epsilon_is_narrow_and_its_ends_are_certified(
    randomizer: LocalRandomizer, n: int, delta: float
) -> None:
    interval = blanket_accountant(randomizer, n).epsilon_interval(delta)
    if not isinstance(randomizer, UnaryEncoding):  # its level is rounded: see the next test
        assert interval.width <= 1e-4 * interval.upper
    assert 0 <= interval.lower <= interval.upper <= randomizer.epsilon0 * (1 + HAIR)
    # Delta at the upper end is at most the target, so no enclosure of it may lie above, and
    # the other way round at the lower end.
    if interval.upper > 0:
        assert tight(randomizer, n).delta_interval(interval.upper).lower <= delta * (1 + HAIR)
    if interval.lower > 0:
        assert tight(randomizer, n).delta_interval(interval.lower).upper >= delta * (1 - HAIR)
    else:
        assert tight(randomizer, n).delta_interval(0.0).lower <= delta * (1 + 1e-3) or (
            interval.upper > 0
        )


@pytest.mark.parametrize("n", [1, 2, 50])
@pytest.mark.parametrize("delta", [1e-6, 1e-14, 1e-20, 1e-130])
@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (2 / 3, 0.5), (0.1, 0.9)])
def test_epsilon_is_narrow_also_where_the_level_is_rounded(
    p: float, q: float, n: int, delta: float
) -> None:
    """Delta vanishes within a few ulps of the level, which is no reason to know nothing below."""
    randomizer = UnaryEncoding(p=p, q=q)
    interval = blanket_accountant(randomizer, n).epsilon_interval(delta)
    assert interval.width <= 1e-4 * interval.upper
    assert interval.upper <= randomizer.epsilon0 * (1 + HAIR)


@pytest.mark.heavy
@settings(max_examples=150)
@given(randomizer=support_mechanisms(), n=user_counts, delta=deltas, bound=bounds)
def test_asking_back(randomizer: LocalRandomizer, n: int, delta: float, bound: Bound) -> None:
    """get_delta at get_epsilon is the target again, up to the width that was asked for."""
    accountant = ShuffleAccountant(randomizer, n, bound=bound)
    epsilon = accountant.get_epsilon(delta)
    assert accountant.get_delta(epsilon) <= delta * (1 + 2e-4)


@settings(max_examples=200)
@given(randomizer=support_mechanisms(), n=user_counts, share=st.floats(0.0, 1.0))
def test_delta_is_narrow_and_above_the_lower_bound(
    randomizer: LocalRandomizer, n: int, share: float
) -> None:
    epsilon = share**3 * randomizer.epsilon0
    accountant = blanket_accountant(randomizer, n)
    log = accountant.log_delta_interval(epsilon)
    delta = accountant.delta_interval(epsilon)
    assert 0 <= delta.lower <= delta.upper <= 1
    assert delta.lower <= math.exp(log.upper) * (1 + HAIR)
    assert delta.upper >= math.exp(log.lower) * (1 - HAIR)
    if log.upper > -600 and share < 0.999:
        assert log.width <= 1.05 * width_asked(accountant, epsilon)
    assert accountant.get_delta(epsilon) == delta.upper
    assert accountant.delta_lower_bound(epsilon) <= delta.upper


@pytest.mark.heavy
@settings(max_examples=150)
@given(randomizer=support_mechanisms(), n=user_counts, delta=deltas)
def test_the_lower_bound_of_epsilon_is_below_the_upper_one(
    randomizer: LocalRandomizer, n: int, delta: float
) -> None:
    accountant = ShuffleAccountant(randomizer, n)
    lower, upper = accountant.epsilon_lower_bound(delta), accountant.get_epsilon(delta)
    assert 0 <= lower <= upper
    if 0 < lower < randomizer.epsilon0 * (1 - 1e-9):
        # What the datasets reveal at that epsilon is at least the target.
        found = tight(randomizer, n).delta_lower_bound(lower)
        assert found >= delta * (1 - 2e-4)


@pytest.mark.heavy
@settings(max_examples=150)
@given(
    randomizer=support_mechanisms(),
    n=st.integers(1, 10**11),
    factor=st.integers(1, 10),
    share=st.floats(0, 1),
    bound=bounds,
)
def test_delta_falls_with_n(
    randomizer: LocalRandomizer, n: int, factor: int, share: float, bound: Bound
) -> None:
    more = n * factor + (factor == 1)
    epsilon = min(3 * share * randomizer.epsilon0 / math.sqrt(n), randomizer.epsilon0)
    few, many = (
        ShuffleAccountant(randomizer, m, bound=bound).log_delta_interval(epsilon) for m in (n, more)
    )
    assert many.lower <= few.upper


@settings(max_examples=150)
@given(randomizer=support_mechanisms(), n=user_counts, share=st.floats(0.01, 1), bound=bounds)
def test_delta_is_convex_and_falls_with_e_to_the_epsilon(
    randomizer: LocalRandomizer, n: int, share: float, bound: Bound
) -> None:
    top = min(4 * share * randomizer.epsilon0 / math.sqrt(n), randomizer.epsilon0)
    scale = np.linspace(1.0, math.exp(top), 5)
    profile = ShuffleAccountant(randomizer, n, bound=bound).profile(np.log(scale))
    for i in range(1, 5):
        assert profile.lower[i] <= profile.upper[i - 1]
        # 1-Lipschitz in e^epsilon.
        step = scale[i] - scale[i - 1]
        assert profile.lower[i - 1] - profile.upper[i] <= step * (1 + HAIR)
    for i in range(1, 4):
        chord = 0.5 * (profile.upper[i - 1] + profile.upper[i + 1])
        assert profile.lower[i] <= chord * (1 + HAIR)


def test_a_profile_holds_the_single_answers() -> None:
    accountant = ShuffleAccountant(KRR(k=5, epsilon0=1.5), 200)
    epsilons = [0.0, 0.1, 0.25, 1.0, 1.5, 2.0]
    profile = accountant.profile(epsilons)
    assert profile.epsilons.tolist() == epsilons
    for epsilon, lower, upper in zip(epsilons, profile.lower, profile.upper, strict=True):
        single = accountant.delta_interval(epsilon)
        assert max(single.lower, lower) <= min(single.upper, upper)
        assert upper <= single.upper * (1 + accountant.rtol)
        assert lower >= single.lower * (1 - accountant.rtol)


def test_a_profile_leaves_the_accountant_as_it_was() -> None:
    """What was evaluated together is not what single answers promise to keep their word by."""
    asked = ShuffleAccountant(KRR(k=5, epsilon0=1.5), 200)
    epsilon = asked.get_epsilon(1e-6)
    before = asked.delta_interval(epsilon)
    asked.profile([0.1, 0.2, epsilon, 0.3])
    assert asked.delta_interval(epsilon) == before
    assert before.upper <= 1e-6


def test_profiles_of_no_and_of_all_kinds_of_points() -> None:
    accountant = ShuffleAccountant(KRR(k=5, epsilon0=1.5), 200)
    epsilons = [0.0, 0.1, 0.25, 1.0, 1.5, 2.0]
    profile = accountant.profile(epsilons)
    assert accountant.profile([]).upper.size == 0
    assert accountant.profile(e for e in epsilons).upper.tolist() == profile.upper.tolist()


DEEP = [
    (KRR(k=10, epsilon0=2.0), 10**6, 1.0),
    (KRR(k=2, epsilon0=2.0), 10**6, 1.5),
    (RAPPOR(epsilon0=4.0), 10**6, 3.0),
    (OUE(epsilon0=1.0), 10**6, 0.9),
    (BinaryLocalHash(epsilon0=0.5), 10**7, 0.1),
    (AnyPureLDP(epsilon0=3.0), 20_000, 2.9),
    (Laplace(epsilon0=1.0), 10**6, 0.5),
    (DiscreteLaplace(epsilon0=1.0, bound=4), 10**6, 0.5),
]


@pytest.mark.parametrize(("randomizer", "n", "epsilon"), DEEP, ids=str)
def test_delta_below_the_smallest_double_is_known_by_its_logarithm(
    randomizer: LocalRandomizer, n: int, epsilon: float
) -> None:
    accountant = blanket_accountant(randomizer, n)
    log = accountant.log_delta_interval(epsilon)
    assert -math.inf < log.lower <= log.upper < -750
    assert log.width <= -1e-5 * log.lower
    delta = accountant.delta_interval(epsilon)
    assert delta.lower == 0
    assert 0 < delta.upper <= 1e-300  # never rounded down to 0
    sooner, later = (accountant.log_delta_interval(x * epsilon) for x in (0.99, 1.01))
    assert sooner.lower > log.upper
    assert later.upper < log.lower


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize(
    "randomizer",
    [KRR(k=3, epsilon0=1.0), RAPPOR(epsilon0=2.0), Laplace(epsilon0=1.0), AnyPureLDP(0.5)],
    ids=str,
)
@pytest.mark.parametrize("n", [1, 10, 10_000, 10**12])
def test_epsilon_falls_with_delta(randomizer: LocalRandomizer, n: int) -> None:
    accountant = ShuffleAccountant(randomizer, n)
    targets = [0.0, 5e-324, 1e-200, 1e-50, 1e-12, 1e-6, 1e-3, 0.1, 0.9, 1.0]
    intervals = [accountant.epsilon_interval(delta) for delta in targets]
    for small, large in pairwise(intervals):
        assert large.lower <= small.upper
    assert intervals[0].lower <= randomizer.epsilon0 <= intervals[0].upper
    assert intervals[-1] == Interval(0.0, 0.0)


@pytest.mark.slow
@settings(max_examples=3000)
@given(randomizer=support_mechanisms(), n=user_counts, delta=deltas)
def test_epsilon_at_length(randomizer: LocalRandomizer, n: int, delta: float) -> None:
    test_epsilon_is_narrow_and_its_ends_are_certified.hypothesis.inner_test(randomizer, n, delta)
    accountant = ShuffleAccountant(randomizer, n)
    assert accountant.epsilon_lower_bound(delta) <= accountant.get_epsilon(delta)
