"""The bound for any epsilon0-LDP randomizer: above every matrix, below the standard clone."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from blankets import blanket_accountant, enclose_epsilon, enclose_log_delta
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from random_mechanisms import ldp_matrices

from shuffledp import (
    KRR,
    AnyPureLDP,
    Decomposition,
    Laplace,
    MatrixRandomizer,
    Rounds,
    ShuffleAccountant,
)
from shuffledp.accounting.assumptions import ONE_RANDOMIZER
from shuffledp.basics.errors import AccuracyWarning


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


@pytest.mark.heavy
@settings(max_examples=150)
@given(
    case=ldp_matrices(),
    n=st.sampled_from([1, 2, 3, 10, 100, 10_000, 10**9]),
    share=st.floats(0, 1),
)
def test_no_matrix_has_a_larger_delta(
    case: tuple[NDArray[np.float64], float], n: int, share: float
) -> None:
    matrix, level = case
    level = max(level * (1 + 1e-12), 1e-9)
    generic = blanket_accountant(AnyPureLDP(epsilon0=level), n)
    particular = blanket_accountant(MatrixRandomizer(matrix), n)
    for epsilon in {0.0, share * level, share * level / math.sqrt(n)}:
        assert (
            particular.log_delta_interval(epsilon).lower
            <= generic.log_delta_interval(epsilon).upper + 1e-9
        )


@settings(max_examples=80)
@given(
    case=ldp_matrices(),
    n=st.sampled_from([2, 20, 1000, 10**6]),
    delta=st.sampled_from([1e-2, 1e-6, 1e-12]),
)
def test_no_matrix_has_a_larger_epsilon(
    case: tuple[NDArray[np.float64], float], n: int, delta: float
) -> None:
    matrix, level = case
    level = max(level * (1 + 1e-12), 1e-9)
    generic = blanket_accountant(AnyPureLDP(epsilon0=level), n).epsilon_interval(delta)
    particular = blanket_accountant(MatrixRandomizer(matrix), n)
    assert particular.epsilon_interval(delta).lower <= generic.upper * (1 + 1e-9)


@pytest.mark.heavy
@settings(max_examples=40)
@given(case=ldp_matrices(), n=st.sampled_from([2, 20, 1000]), share=st.floats(0, 1))
def test_no_matrix_reveals_more_than_the_guarantee(
    case: tuple[NDArray[np.float64], float], n: int, share: float
) -> None:
    matrix, level = case
    level = max(level * (1 + 1e-12), 1e-9)
    epsilon = share * level / math.sqrt(n)
    guarantee = ShuffleAccountant(AnyPureLDP(epsilon0=level), n).get_delta(epsilon)
    revealed = ShuffleAccountant(MatrixRandomizer(matrix), n).delta_lower_bound(epsilon)
    assert revealed <= guarantee * (1 + 1e-9)


def standard_clone(epsilon0: float) -> Decomposition:
    """With probability 1/(2E) each another user is a clone of either input."""
    likely, unlikely = 1 / (1 + math.exp(-epsilon0)), 1 / (1 + math.exp(epsilon0))
    clone = math.exp(-epsilon0) / 2
    return Decomposition.from_coefficients([likely, unlikely], [unlikely, likely], [clone, clone])


@pytest.mark.heavy(keep=6)
@pytest.mark.parametrize("epsilon0", [0.01, 0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**6, 10**12])
def test_the_generic_bound_is_below_the_standard_clone(epsilon0: float, n: int) -> None:
    clone = standard_clone(epsilon0)
    accountant = blanket_accountant(AnyPureLDP(epsilon0=epsilon0), n)
    for share in (0.0, 0.5, 0.99):
        epsilon = min(share * epsilon0, 10 * share * epsilon0 / math.sqrt(n))
        ours = accountant.log_delta_interval(epsilon)
        theirs = enclose_log_delta(clone, n, epsilon)
        assert ours.lower <= theirs.upper + 1e-9  # the clone's coefficients are rounded
        if n == 1:
            assert ours.upper == pytest.approx(theirs.upper, abs=1e-9)  # both are the local level
    for delta in (1e-3, 1e-10):
        theirs = enclose_epsilon(clone, n, delta)
        assert accountant.epsilon_interval(delta).lower <= theirs.upper


def test_the_generic_bound_is_strictly_better_than_the_standard_clone() -> None:
    ours = blanket_accountant(AnyPureLDP(epsilon0=1.0), 1000).get_epsilon(1e-6)
    theirs = enclose_epsilon(standard_clone(1.0), 1000, 1e-6)
    assert ours < 0.95 * theirs.lower


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_binary_randomized_response_attains_it(n: int) -> None:
    generic = blanket_accountant(AnyPureLDP(epsilon0=1.5), n)
    binary = blanket_accountant(KRR(k=2, epsilon0=1.5), n)
    assert generic.epsilon_interval(1e-5) == binary.epsilon_interval(1e-5)


@pytest.mark.parametrize("n", [1, 10, 1000, 10**6])
def test_laplace_noise_is_below_it(n: int) -> None:
    for epsilon in (0.0, 0.05, 0.5):
        noise = blanket_accountant(Laplace(epsilon0=1.0), n).log_delta_interval(epsilon)
        generic = blanket_accountant(AnyPureLDP(epsilon0=1.0), n).log_delta_interval(epsilon)
        assert noise.lower <= generic.upper


@pytest.mark.parametrize("n", [10, 1000])
def test_its_lower_bound_is_that_of_a_randomizer_of_this_level(n: int) -> None:
    generic = ShuffleAccountant(AnyPureLDP(epsilon0=2.0), n)
    for k in (2, 3):
        concrete = ShuffleAccountant(KRR(k=k, epsilon0=2.0), n)
        assert generic.delta_lower_bound(0.3) >= concrete.delta_lower_bound(0.3) * (1 - 1e-9)
    assert generic.delta_lower_bound(0.3) <= generic.get_delta(0.3)


GENERIC = ["any_pure_ldp(epsilon0=1)", "subsample(any_pure_ldp(epsilon0=1), rate=0.9)"]


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("text", GENERIC)
def test_the_swap_bound_assumes_one_randomizer_and_says_so(text: str) -> None:
    report = ShuffleAccountant(text, 1000).epsilon_report(1e-6)
    assert report.bound == "swap"
    assert ONE_RANDOMIZER in report.assumptions
    assert ONE_RANDOMIZER in report.to_dict()["assumptions"]
    blanket = blanket_accountant(text, 1000)
    assert ONE_RANDOMIZER not in blanket.epsilon_report(1e-6).assumptions


@pytest.mark.heavy
@pytest.mark.parametrize("text", GENERIC)
def test_rounds_assume_one_randomizer_and_say_so(text: str) -> None:
    best, blanket = ShuffleAccountant(text, 1000), blanket_accountant(text, 1000)
    assert ONE_RANDOMIZER in Rounds([(best, 2)], rtol=0.1).delta_report(0.5).assumptions
    assert ONE_RANDOMIZER not in Rounds([(blanket, 2)], rtol=0.1).delta_report(0.5).assumptions


def test_the_swap_bound_of_a_named_mechanism_assumes_nothing() -> None:
    named = ShuffleAccountant("blh(epsilon0=1)", 1000).epsilon_report(1e-6)
    assert named.bound == "swap"
    assert ONE_RANDOMIZER not in named.assumptions
