"""Hockey sticks of many summands: binomial and multinomial sums, and what must hold for all."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_sums import contains, hinge, number
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp.decomposition import Law
from shuffledp.divergence import HINGE, HOCKEY_STICK, BlockSum, Kernel, log_mean
from shuffledp.divergence.contour import chernoff_log_mean, contour_log_mean


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


SKEWED = make_law([0.9, -0.4, -1.1], [0.3, 0.3, 0.4])

# -- closed forms ---------------------------------------------------------------------------------


def response(epsilon0: float) -> Law:
    """The privacy loss of binary randomized response, under the first input."""
    keep = 1 / (1 + math.exp(-epsilon0))
    weights = np.array([keep, 1 / (1 + math.exp(epsilon0))])
    errors = np.full(2, 1e-15)
    return Law(np.array([epsilon0, -epsilon0]), weights, np.zeros(2), errors)


def binomial_delta(epsilon0: float, rounds: int, epsilon: float) -> mpmath.mpf:
    """The delta of that many rounds: a binomial sum, at 40 digits."""
    with mpmath.workdps(40):
        e0, e = mpmath.mpf(epsilon0), mpmath.mpf(epsilon)
        p = 1 / (1 + mpmath.exp(-e0))
        first = max(int(mpmath.floor((e / e0 + rounds) / 2)), 0)
        total = mpmath.mpf(0)
        log_p, log_q = mpmath.log(p), mpmath.log1p(-p)
        for k in range(first, rounds + 1):
            loss = (2 * k - rounds) * e0 - e
            if loss <= 0:
                continue
            choose = mpmath.loggamma(rounds + 1) - mpmath.loggamma(k + 1)
            choose -= mpmath.loggamma(rounds - k + 1)
            term = mpmath.exp(choose + k * log_p + (rounds - k) * log_q) * -mpmath.expm1(-loss)
            total += term
            if term < total * mpmath.mpf(10) ** -35 and k > rounds * p:
                break
        return total


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize(
    ("epsilon0", "rounds", "epsilon"),
    [
        (1.0, 100, 83.5307016785),
        (0.5, 10, 4.87837195846),
        (0.1, 1000, 23.275739916),
        (1.0, 3, 0.0),
        (1.0, 7, 1.0),  # an atom of the sum at epsilon
        (2.0, 400, 500.0),
        (0.01, 4000, 1.5),
        (0.001, 1_000_000, 4.0),
        (1.0, 100, -20.0),
    ],
)
def test_rounds_of_randomized_response_are_a_binomial_sum(
    epsilon0: float, rounds: int, epsilon: float
) -> None:
    exact = binomial_delta(epsilon0, rounds, epsilon)
    total = BlockSum.of((response(epsilon0), rounds), offset=epsilon)
    enclosure = log_mean(total, HOCKEY_STICK, rtol=1e-4)
    assert contains(enclosure, exact)
    assert enclosure.width <= 1e-4


@pytest.mark.parametrize(
    ("epsilon0", "rounds", "delta", "epsilon"),
    [
        (1.0, 100, 1e-6, 83.5307016785),
        (0.5, 10, 1e-3, 4.87837195846),
        (0.1, 1000, 1e-9, 23.275739916),
    ],
)
def test_reference_values_of_local_rounds(
    epsilon0: float, rounds: int, delta: float, epsilon: float
) -> None:
    total = BlockSum.of((response(epsilon0), rounds), offset=epsilon)
    enclosure = log_mean(total, HOCKEY_STICK, rtol=1e-7)
    assert enclosure.lower - 1e-6 <= math.log(delta) <= enclosure.upper + 1e-6


def test_rounds_of_different_mechanisms() -> None:
    """Two blocks of responses with different levels: a double binomial sum."""
    first, second, epsilon = (0.7, 40), (0.3, 60), 9.0
    with mpmath.workdps(40):
        exact = mpmath.mpf(0)
        laws = []
        for epsilon0, rounds in (first, second):
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon0)))
            laws.append(
                [
                    (
                        (2 * k - rounds) * mpmath.mpf(epsilon0),
                        mpmath.binomial(rounds, k) * p**k * (1 - p) ** (rounds - k),
                    )
                    for k in range(rounds + 1)
                ]
            )
        for x, p in laws[0]:
            for y, q in laws[1]:
                if x + y > epsilon:
                    exact -= p * q * mpmath.expm1(epsilon - x - y)
    total = BlockSum.of(*((response(e), n) for e, n in (first, second)), offset=epsilon)
    enclosure = log_mean(total, HOCKEY_STICK, rtol=1e-5)
    assert contains(enclosure, exact)
    assert enclosure.width <= 1e-5


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("c", [0.0, 1.0])
@pytest.mark.parametrize("sigmas", [0.0, 4.0])
def test_moderate_numbers_of_three_atoms(n: int, c: float, sigmas: float) -> None:
    """All multinomial outcomes at 30 digits, where the engine sums along the contour."""
    values, weights = [Fraction(7, 8), Fraction(-3, 8), Fraction(-9, 8)], [64, 96, 96]
    law = make_law([float(v) for v in values], [w / 256 for w in weights])
    drift = float(law.weights @ law.values)
    deviation = math.sqrt(float(law.weights @ law.values**2) - drift**2)
    offset = round(8 * (n * drift + sigmas * deviation * math.sqrt(n))) / 8 + 0.0625
    with mpmath.workdps(30):
        logs = [mpmath.log(mpmath.mpf(w) / 256) for w in weights]
        factorials = [mpmath.loggamma(k + 1) for k in range(n + 1)]
        exact = mpmath.mpf(0)
        for i in range(n + 1):
            for j in range(n + 1 - i):
                k = n - i - j
                x = number(i * values[0] + j * values[1] + k * values[2]) - offset
                if x > 0:
                    log = factorials[n] - factorials[i] - factorials[j] - factorials[k]
                    log += i * logs[0] + j * logs[1] + k * logs[2]
                    exact += mpmath.exp(log) * hinge(x, c)
    total = BlockSum.of((law, n), offset=offset)
    enclosure = contour_log_mean(total, 1e-4, 5e6, kernel=Kernel(c))
    assert contains(enclosure, exact)
    assert enclosure.width <= 1e-4


# -- properties -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 300, 10**6])
def test_a_small_curvature_is_nearly_none(n: int) -> None:
    """x - c x^2/2 <= f_c(x) <= x."""
    total = BlockSum.of((SKEWED, n), offset=-0.2 * n + 0.5 * n**0.5)
    plain = log_mean(total, HINGE, rtol=1e-6)
    bent = log_mean(total, Kernel(1e-9 / n), rtol=1e-6)
    assert bent.lower <= plain.upper
    assert plain.lower <= bent.upper + 1e-8


@pytest.mark.parametrize("n", [3, 40, 1000, 10**7, 10**12])
def test_no_more_than_total_variation_and_falling(n: int) -> None:
    """A hockey stick is at most 1 and falls with epsilon; cost does not depend on n."""
    law = response(1.0 / n**0.5)
    previous = 0.0
    for epsilon in (-3.0, 0.0, 1.0, 3.0, 6.0):
        enclosure = log_mean(BlockSum.of((law, n), offset=epsilon), HOCKEY_STICK, rtol=1e-4)
        if enclosure.upper == -math.inf:  # beyond the largest loss
            assert n * law.values[0] <= epsilon
            continue
        assert enclosure.width <= 1e-4
        assert enclosure.lower <= previous
        previous = enclosure.upper


def test_work_that_is_refused_leaves_chernoffs_bound() -> None:
    total = BlockSum.of((SKEWED, 300), offset=5.0)
    enclosure = contour_log_mean(total, 1e-6, 1.0, kernel=HOCKEY_STICK)
    bound = chernoff_log_mean(total, HOCKEY_STICK)
    assert enclosure.lower == -math.inf
    assert enclosure.upper == pytest.approx(bound, abs=1e-9)


@settings(max_examples=60)
@given(
    law=st.lists(st.floats(-3, 3), min_size=2, max_size=5),
    n=st.sampled_from([20, 1000, 10**6]),
    sigmas=st.floats(-3, 8),
    c=st.sampled_from([0.0, 1.0]),
    unit=st.sampled_from([1e-60, 1e-5, 1e3, 1e40]),
)
def test_units_do_not_matter(
    law: list[float], n: int, sigmas: float, c: float, unit: float
) -> None:
    """E f_c(aS) = a E f_(ca)(S)."""
    plain = make_law([*law, 3.5], [1.0] * (len(law) + 1))
    drift = float(plain.weights @ plain.values)
    deviation = math.sqrt(float(plain.weights @ plain.values**2) - drift**2)
    offset = n * drift + sigmas * deviation * n**0.5
    total = BlockSum.of((plain, n), offset=offset)
    assume(total.largest[0] > 1e-3)
    scaled = BlockSum.of(
        (Law(plain.values * unit, plain.weights, plain.values * 0, plain.values * 0), n),
        offset=offset * unit,
    )
    first = log_mean(total, Kernel(c), rtol=1e-4)
    second = log_mean(scaled, Kernel(c / unit), rtol=1e-4)
    shift = math.log(unit)
    slack = 1e-9 * (1 + n**0.5 * 1e-3) + 1e-12 * n
    assert second.lower - shift <= first.upper + slack
    assert first.lower <= second.upper - shift + slack
