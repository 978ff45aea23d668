"""Tiny and huge levels, one user and 10^15, deltas and weights of 1e-300, 1e5 outputs, at once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from blankets import enclose_log_delta
from hypothesis import given, settings
from hypothesis import strategies as st
from rational import exact_delta
from strategies import Coefficients, coefficients, exp_epsilons

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    Decomposition,
    DiscreteLaplace,
    HadamardResponse,
    Interval,
    Laplace,
    MatrixRandomizer,
    ShuffleAccountant,
    SubsetSelection,
    joint,
    subsample,
)
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.mechanisms import LocalRandomizer

TINY_DELTA = 1e-300
MANY = 10**15

MAKERS: dict[str, Callable[[float], LocalRandomizer]] = {
    "krr": lambda level: KRR(k=3, epsilon0=level),
    "binary": lambda level: KRR(k=2, epsilon0=level),
    "blh": lambda level: BinaryLocalHash(epsilon0=level),
    "rappor": lambda level: RAPPOR(epsilon0=level),
    "oue": lambda level: OUE(epsilon0=level),
    "hadamard": lambda level: HadamardResponse(epsilon0=level),
    "subset": lambda level: SubsetSelection(epsilon0=level, domain_size=5, size=2),
    "any": lambda level: AnyPureLDP(epsilon0=level),
    "laplace": lambda level: Laplace(epsilon0=level),
    "discrete laplace": lambda level: DiscreteLaplace(epsilon0=level, bound=3),
    "joint": lambda level: joint(KRR(k=2, epsilon0=level), OUE(epsilon0=level)),
    "subsample": lambda level: subsample(KRR(k=3, epsilon0=level), 0.1),
}
#: Quick also with 10^15 users of level 50, where atoms differ by a factor of e^50.
EASY = ("krr", "binary", "any")


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


def cases() -> list[object]:
    return [
        pytest.param(
            name,
            level,
            n,
            marks=[pytest.mark.slow] if name not in EASY and level == 50 and n == MANY else [],
        )
        for name in MAKERS
        for level in (1e-6, 50.0)
        for n in (1, MANY)
    ]


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "level", "n"), cases())
def test_all_answers_fit_together(name: str, level: float, n: int) -> None:
    randomizer = MAKERS[name](level)
    accountant = ShuffleAccountant(randomizer, n)
    targets = (TINY_DELTA, 1e-6, 0.5)
    intervals = [accountant.epsilon_interval(delta) for delta in targets]
    for interval, delta in zip(intervals, targets, strict=True):
        assert 0 <= interval.lower <= interval.upper <= randomizer.epsilon0 * (1 + 1e-12)
        assert 0 <= accountant.epsilon_lower_bound(delta) <= interval.upper
        if interval.upper > 0:
            assert accountant.delta_interval(interval.upper).lower <= delta
        if interval.lower > 0:
            assert accountant.delta_interval(interval.lower).upper >= delta
    for smaller, larger in pairwise(intervals):
        assert larger.lower <= smaller.upper
    if level == 1e-6:
        assert intervals[0].width <= 1e-4 * intervals[0].upper
        assert (intervals[0].upper < 2e-12) == (n == MANY)


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("delta", [TINY_DELTA, 1e-9])
@pytest.mark.parametrize("level", [1e-6, 50.0])
@pytest.mark.parametrize("name", ["krr", "binary", "blh", "rappor", "oue", "hadamard", "any"])
def test_one_user_against_high_precision(name: str, level: float, delta: float) -> None:
    """Delta is p (E - e^epsilon), with p the mass of what only one input makes likely."""
    mp = mpmath.MPContext()
    mp.dps = 400
    E, half = mp.exp(level), mp.exp(mp.mpf(level) / 2)
    masses = {
        "krr": 1 / (E + 2),
        "binary": 1 / (E + 1),
        "any": 1 / (E + 1),
        "blh": 1 / (2 * (E + 1)),
        "hadamard": 1 / (2 * (E + 1)),
        "oue": 1 / (2 * (E + 1)),
        "rappor": 1 / (half + 1) ** 2,
    }
    p = masses[name]
    inside = E - delta / p
    exact = mp.log(inside) if inside > 1 else mp.mpf(0)
    accountant = ShuffleAccountant(MAKERS[name](level), 1)
    interval = accountant.epsilon_interval(delta)
    assert interval.lower <= exact * (1 + 1e-14)
    assert interval.upper >= exact * (1 - 1e-14)
    assert accountant.epsilon_lower_bound(delta) <= exact * (1 + 1e-12)
    for epsilon in (0.0, 0.3 * level, level * (1 - 1e-9)):
        delta_exact = p * (E - mp.exp(epsilon))
        enclosure = accountant.delta_interval(epsilon)
        assert enclosure.lower <= delta_exact * (1 + 1e-14)
        assert enclosure.upper >= delta_exact * (1 - 1e-14)


#: About 1e-300, and a double.
RARE = Fraction(1, 2**996)


def log_of(number: Fraction) -> float:
    if number == 0:
        return -math.inf
    return math.log(number.numerator) - math.log(number.denominator)


@settings(max_examples=150)
@given(
    rare=coefficients(max_components=3),
    usual=coefficients(max_components=2),
    n=st.integers(1, 3),
    exp_epsilon=exp_epsilons(),
)
def test_weights_of_1e_300(
    rare: Coefficients, usual: Coefficients, n: int, exp_epsilon: Fraction
) -> None:
    """A part that hardly anybody runs; where the other one is safe, it is all that counts."""
    mixed = Decomposition.mixture((float(RARE), 1.0), [rare.decomposition(), usual.decomposition()])
    atoms = [
        (a / c, b / c, weight * c)
        for part, weight in ((rare, RARE), (usual, 1 - RARE))
        for a, b, c in zip(part.a, part.b, part.c, strict=True)
    ]
    exact = log_of(exact_delta(*zip(*atoms, strict=True), n, exp_epsilon))
    found = enclose_log_delta(mixed, n, math.log(exp_epsilon))
    slack = 1e-9 + 1e-12 * abs(exact) if exact > -math.inf else 0.0
    assert found.lower <= exact + slack
    assert found.upper >= exact - slack


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rate", "n"),
    [(1e-300, 1), (1e-300, 4), (1e-160, 4), (1e-140, MANY), (1e-300, MANY), (1e-30, 4)],
)
def test_hardly_anybody_takes_part(rate: float, n: int) -> None:
    """With so few reports everybody is alone: delta is the rate times that of one user."""
    randomizer = KRR(k=3, epsilon0=1.0)
    few = ShuffleAccountant(subsample(randomizer, rate), n)
    one = ShuffleAccountant(randomizer, 1)
    for epsilon in (0.0, 0.1, 0.9):
        alone = one.log_delta_interval(epsilon)
        found = few.log_delta_interval(epsilon)
        assert found.lower <= alone.upper + math.log(rate) + 1e-9
        assert few.delta_lower_bound(epsilon) <= few.get_delta(epsilon)
        if n == 1:
            assert found.upper >= alone.lower + math.log(rate) - 1e-9


@pytest.mark.heavy
@pytest.mark.parametrize("n", [1, 30, MANY])
def test_a_hundred_thousand_outputs_of_few_kinds(n: int) -> None:
    """Splitting an output into equal parts changes nothing."""
    rows = np.array([[0.5, 0.25, 0.125, 0.125], [0.125, 0.25, 0.5, 0.125]])
    few = ShuffleAccountant(MatrixRandomizer(rows), n)
    many = ShuffleAccountant(MatrixRandomizer(np.repeat(rows, 25_000, axis=1) / 25_000), n)
    for epsilon in (0.0, 0.5 / math.sqrt(n), 1.0):
        assert overlap(few.log_delta_interval(epsilon), many.log_delta_interval(epsilon))
    for delta in (1e-6, TINY_DELTA):
        assert overlap(few.epsilon_interval(delta), many.epsilon_interval(delta))
        assert many.epsilon_lower_bound(delta) <= few.epsilon_interval(delta).upper * (1 + 1e-9)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [1, MANY])
def test_a_hundred_thousand_different_outputs(n: int) -> None:
    """Some that no input gives, and one that gives its sender away."""
    rng = np.random.default_rng(3)
    matrix = np.exp(0.5 * rng.random((2, 100_000)))
    matrix[:, :1000] = 0.0
    matrix[0, -1] = 0.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    accountant = ShuffleAccountant(MatrixRandomizer(matrix), n)
    exposed = float(matrix[1, -1])
    report = accountant.delta_report(0.3)
    assert exposed * (1 - 1e-9) <= report.lower_bound <= report.guarantee.upper
    assert accountant.get_epsilon(exposed / 2) == math.inf
    assert accountant.epsilon_interval(0.1).upper < 1


def overlap(first: Interval, second: Interval) -> bool:
    """Whether one number can be in both, but for rounding of the entries."""
    hair = 1e-9 * max(1.0, abs(first.upper)) if math.isfinite(first.upper) else 0.0
    return first.lower <= second.upper + hair and second.lower <= first.upper + hair
