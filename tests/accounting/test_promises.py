"""Answers keep their word: what one question has certified, the next one must not take back.

All comparisons here are exact, without any tolerance, unless the promise itself has one.
"""

from __future__ import annotations

import math
import warnings

import mpmath
import pytest
from blankets import blanket_accountant, enclose_log_delta
from hypothesis import given, settings
from hypothesis import strategies as st
from random_mechanisms import any_mechanism, deltas, matrices, user_counts

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    MatrixRandomizer,
    ShuffleAccountant,
    SubsetSelection,
    UnaryEncoding,
    calibrate_epsilon0,
    joint,
    required_users,
    subsample,
)
from shuffledp.accounting.setting import BOUNDS, Bound
from shuffledp.basics.errors import AccuracyWarning, NoAnswerError
from shuffledp.basics.interval import exp_up, log_target
from shuffledp.comparison.published import BASELINES
from shuffledp.mechanisms import LocalRandomizer, parse_family
from shuffledp.planning import plan

mechanisms = st.one_of(any_mechanism, matrices(zeros=True))
bounds = st.sampled_from(BOUNDS)
tolerances = st.sampled_from([1e-4, 1e-4, 1e-2, 0.3, 1e-7])


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


def check_delta_of_epsilon(accountant: ShuffleAccountant, delta: float) -> None:
    epsilon = accountant.get_epsilon(delta)
    if epsilon <= 300:
        assert accountant.get_delta(epsilon) <= delta
        fresh = ShuffleAccountant(accountant.randomizer, accountant.n, rtol=accountant.rtol)
        assert fresh.get_delta(epsilon) <= delta


@pytest.mark.heavy
@settings(max_examples=80)
@given(randomizer=mechanisms, n=user_counts, delta=deltas, rtol=tolerances)
def test_delta_of_epsilon_is_at_most_the_target(
    randomizer: LocalRandomizer, n: int, delta: float, rtol: float
) -> None:
    check_delta_of_epsilon(ShuffleAccountant(randomizer, n, rtol=rtol), delta)


EXTREMES: list[LocalRandomizer] = [
    KRR(k=3, epsilon0=1.0),
    KRR(k=10**6, epsilon0=12.0),
    KRR(k=2, epsilon0=300.0),
    UnaryEncoding(p=0.75, q=0.1),
    UnaryEncoding(p=1e-9, q=1e-3),
    RAPPOR(epsilon0=2.0),
    SubsetSelection(1.3, 10, 3),
    DiscreteLaplace(epsilon0=0.7, bound=3),
    Laplace(epsilon0=1.0),
    Gaussian(sigma=1.0),
    joint(KRR(k=3, epsilon0=0.3), OUE(epsilon0=0.7)),
    subsample(KRR(k=3, epsilon0=2.0), 0.3),
    MatrixRandomizer([[0.5, 0.5], [0.5, 0.5]]),
    MatrixRandomizer([[0.7, 0.3, 0.0], [0.6, 0.3, 0.1]]),
    MatrixRandomizer([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]),
]


@pytest.mark.heavy
@pytest.mark.parametrize("randomizer", EXTREMES, ids=str)
def test_extreme_targets_are_kept(randomizer: LocalRandomizer) -> None:
    for n in (1, 7) if isinstance(randomizer, Laplace | Gaussian) else (1, 2, 50, 10**13):
        accountant = ShuffleAccountant(randomizer, n)
        for delta in (0.0, 5e-324, 1e-322, 1e-310, 1e-300, 0.9, 1 - 2**-53, 1.0):
            check_delta_of_epsilon(accountant, delta)


@pytest.mark.heavy
@settings(max_examples=60)
@given(randomizer=mechanisms, n=user_counts, share=st.floats(0.0, 1.1), delta=deltas, bound=bounds)
def test_a_comparison_agrees_with_the_number(
    randomizer: LocalRandomizer, n: int, share: float, delta: float, bound: Bound
) -> None:
    epsilon = share**3 * min(randomizer.epsilon0, 10.0)
    accountant = ShuffleAccountant(randomizer, n, bound=bound)
    found = accountant.get_delta(epsilon)
    for target in (delta, found, math.nextafter(found, 0.0), min(1.5 * found, 1.0)):
        fresh = ShuffleAccountant(randomizer, n, bound=bound)
        assert fresh.meets(epsilon, target) == (found <= target)


@pytest.mark.heavy
@settings(max_examples=30)
@given(randomizer=mechanisms, n=user_counts, share=st.floats(0.0, 1.1), rtol=tolerances)
def test_epsilon_of_delta_is_the_epsilon_up_to_rtol(
    randomizer: LocalRandomizer, n: int, share: float, rtol: float
) -> None:
    """The enclosure begins at or below the epsilon; that of the blanket is as narrow as it says."""
    epsilon = share**3 * min(randomizer.epsilon0, 10.0)
    accountant = ShuffleAccountant(randomizer, n, rtol=rtol)
    assert accountant.epsilon_interval(accountant.get_delta(epsilon)).lower <= epsilon
    accountant = blanket_accountant(randomizer, n, rtol=rtol)
    report = accountant.epsilon_report(accountant.get_delta(epsilon))
    assert report.guarantee.lower <= epsilon
    if report.rtol_reached and report.guarantee.upper < math.inf:
        assert report.guarantee.upper * (1 - rtol) <= epsilon * (1 + 1e-15)


def check_target(randomizer: LocalRandomizer, n: int, epsilon: float, delta: float) -> None:
    accountant = ShuffleAccountant(randomizer, n)
    assert accountant.get_epsilon(delta) <= epsilon
    assert accountant.get_delta(epsilon) <= delta
    assert accountant.epsilon_report(delta).guarantee.upper <= epsilon
    assert accountant.delta_report(epsilon).guarantee.upper <= delta


FAMILIES = [
    "krr(k=10)",
    "krr(k=2)",
    "oue()",
    "rappor()",
    "subset(domain_size=10, size=2)",
    "olh()",
    "any_pure_ldp()",
    "discrete_laplace(bound=3)",
    "joint(krr(k=3), oue())",
    "joint(krr(k=3), krr(k=4), at_most=1)",
]


@pytest.mark.heavy
@settings(max_examples=12)
@given(
    family=st.sampled_from(FAMILIES),
    n=st.floats(0, 6).map(lambda x: round(10.0**x)),
    epsilon=st.floats(math.log(1e-3), math.log(3.0)).map(math.exp),
    delta=st.one_of(st.sampled_from([0.0, 1e-6, 1e-8, 1.0]), deltas),
)
def test_a_calibrated_level_keeps_both_targets(
    family: str, n: int, epsilon: float, delta: float
) -> None:
    level = calibrate_epsilon0(family, n=n, target_epsilon=epsilon, target_delta=delta)
    check_target(parse_family(family)(level.epsilon0), n, epsilon, delta)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.3])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1 / 3])
def test_the_example_that_broke_its_word(epsilon: float, delta: float) -> None:
    for family in ("krr(k=10)", "rappor()"):
        level = calibrate_epsilon0(family, n=1000, target_epsilon=epsilon, target_delta=delta)
        check_target(parse_family(family)(level.epsilon0), 1000, epsilon, delta)


@pytest.mark.heavy
def test_a_continuous_family_keeps_both_targets() -> None:
    level = calibrate_epsilon0("laplace()", n=1000, target_epsilon=0.1, target_delta=1e-6)
    check_target(Laplace(level.epsilon0), 1000, 0.1, 1e-6)


@pytest.mark.heavy
@settings(max_examples=20)
@given(
    randomizer=any_mechanism,
    epsilon=st.floats(math.log(0.01), math.log(3.0)).map(math.exp),
    delta=st.floats(math.log(1e-12), math.log(0.3)).map(math.exp),
)
def test_the_number_of_users_keeps_both_targets(
    randomizer: LocalRandomizer, epsilon: float, delta: float
) -> None:
    n = required_users(randomizer, target_epsilon=epsilon, target_delta=delta).n
    check_target(randomizer, n, epsilon, delta)


@pytest.mark.heavy
@pytest.mark.parametrize("task", [{"domain_size": 8}, {"domain_size": 5, "task": "mean"}], ids=str)
def test_plans_keep_both_targets(task: dict[str, object]) -> None:
    question = {"n": 2000, "target_delta": 1e-6, **task}
    made = plan(target_epsilon=0.3, **question)  # type: ignore[arg-type]
    for option in made.options:
        assert option.ours.epsilon == 0.3
        check_target(option.ours.randomizer, 2000, 0.3, 1e-6)
    back = plan(target_error=made.best.ours.error, **question)  # type: ignore[arg-type]
    for option in back.options:
        check_target(option.ours.randomizer, 2000, option.ours.epsilon, 1e-6)


@settings(max_examples=20)
@given(level=st.floats(0.1, 4.0), n=user_counts, delta=deltas)
def test_clones_keep_their_word_too(level: float, n: int, delta: float) -> None:
    for name in ("standard_clone", "stronger_clone"):
        baseline = BASELINES[name](KRR(k=4, epsilon0=level), n)
        try:
            epsilon = baseline.get_epsilon(delta)
        except NoAnswerError:
            continue
        assert baseline.get_delta(epsilon) <= delta


@settings(max_examples=500)
@given(
    st.one_of(
        st.floats(5e-324, 1.0),
        st.floats(-745, 0).map(math.exp).filter(bool),
        st.integers(1, 200).map(lambda i: i * 5e-324),
        st.integers(1, 200).map(lambda i: 1 - i * 2**-53),
    )
)
def test_a_logarithm_below_the_target_is_that_of_a_smaller_delta(delta: float) -> None:
    target = log_target(delta)
    log = target.lower
    for _ in range(20):
        assert exp_up(log) <= delta
        log = math.nextafter(log, -math.inf)
    assert exp_up(math.nextafter(target.lower, 1.0)) > delta
    with mpmath.workdps(30):
        assert target.lower <= mpmath.log(delta) <= target.upper
    assert target.width < 1e-14 * abs(target.upper) + 1e-15 or delta < 1e-300


def test_where_delta_is_flat_a_closer_look_is_taken() -> None:
    """Delta moves by a hundredth of what epsilon moves by."""
    randomizer, n, epsilon = KRR(k=10, epsilon0=2.0), 100_000, 1e-5
    (pair,) = randomizer.neighbours()
    value = enclose_log_delta(randomizer.decomposition(pair), n, epsilon, 1e-4)
    assert value.width < 1e-5
    accountant = blanket_accountant(randomizer, n)
    report = accountant.epsilon_report(accountant.get_delta(epsilon))
    assert report.rtol_reached
    assert report.guarantee.upper == pytest.approx(epsilon, rel=2e-4)


@pytest.mark.heavy(keep=0)
@pytest.mark.parametrize("delta", [1e-3, 9.9e-4])
def test_where_delta_is_flat_and_ratios_are_steep_a_closer_look_is_taken(delta: float) -> None:
    """Delta at epsilon = 0 is 1.0037e-3: cells alone leave a tenth of epsilon open."""
    found = blanket_accountant(Gaussian(sigma=0.35), 10**9).epsilon_interval(delta)
    assert 0 < found.lower < found.upper < 1.02 * found.lower


def test_epsilon_zero_is_found() -> None:
    """Where delta at epsilon = 0 is small enough, the answer is 0 and not a little more."""
    for randomizer, n in ((KRR(k=3, epsilon0=0.5), 100), (Laplace(epsilon0=0.1), 1000)):
        accountant = ShuffleAccountant(randomizer, n)
        assert accountant.get_epsilon(accountant.get_delta(0.0)) == 0


@pytest.mark.slow
@settings(max_examples=2000)
@given(randomizer=mechanisms, n=user_counts, delta=deltas, rtol=tolerances)
def test_delta_of_epsilon_at_length(
    randomizer: LocalRandomizer, n: int, delta: float, rtol: float
) -> None:
    check_delta_of_epsilon(ShuffleAccountant(randomizer, n, rtol=rtol), delta)
