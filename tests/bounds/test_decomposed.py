"""Curves of one decomposition: exact for few users, closed forms for one, promises for all."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rational import exact_delta
from scipy.special import log_ndtr, ndtr
from strategies import randomizers

from shuffledp import parse
from shuffledp.basics.balls import ball, lower_double, precision, upper_double
from shuffledp.bounds.curve import Curve, largest, smallest
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import delta_above, delta_below, epsilon_above, epsilon_below
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import Pair

RTOL = 1e-4


def curve_of(text: str, n: int, pair: Pair | None = None) -> Decomposed:
    randomizer = parse(text)
    return Decomposed(randomizer.decomposition(pair or randomizer.neighbours()[0]), n, RTOL)


def exponential(lam: Fraction) -> tuple[float, float]:
    """Doubles below and above the logarithm of a fraction, which is an epsilon."""
    with precision():
        log = ball(lam).log()
        return lower_double(log), upper_double(log)


@given(randomizers(), st.integers(1, 6), st.fractions(1, 4, max_denominator=16))
def test_few_users(rows, n, lam):
    first, second, *_ = rows
    common = [min(column) for column in zip(*rows, strict=True)]
    kept = [i for i, c in enumerate(common) if c]
    ratios = [[row[i] / common[i] for i in kept] for row in (first, second)]
    singular = [(first[i], second[i]) for i, c in enumerate(common) if not c]
    weights = [common[i] for i in kept]
    exact = exact_delta(*ratios, weights, n, lam, singular=singular)
    curve = Decomposed(Decomposition.from_coefficients(first, second, common), n, RTOL)
    before, after = exponential(lam)
    assert delta_below(curve.below(after).log) <= exact <= delta_above(curve.above(before).log)
    if exact:
        assert curve.above(after).log - curve.below(after).log <= 0.05


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.99, 1.0])
def test_laplace_noise_of_one_user(epsilon):
    curve = curve_of("laplace(epsilon0=1)", 1)
    expected = -math.expm1((epsilon - 1) / 2)
    assert delta_below(curve.below(epsilon).log) <= expected * (1 + 1e-12)
    assert (
        expected * (1 - 1e-12) <= delta_above(curve.above(epsilon).log) <= expected * 1.02 + 1e-12
    )


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.8])
def test_normal_noise_of_one_user(sigma, epsilon):
    curve = curve_of(f"gaussian(sigma={sigma})", 1)
    x, y = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
    expected = ndtr(x) - math.exp(epsilon + log_ndtr(y))
    assert delta_below(curve.below(epsilon).log) <= expected * (1 + 1e-9)
    assert expected * (1 - 1e-9) <= delta_above(curve.above(epsilon).log)
    assert curve.above(epsilon).log - curve.below(epsilon).log <= 0.02


QUESTIONS = [
    ("krr(k=2, epsilon0=0.5)", 50, 1e-6),
    ("krr(k=10, epsilon0=2)", 10**4, 1e-6),
    ("krr(k=10, epsilon0=2)", 10**15, 1e-300),
    ("krr(k=3, epsilon0=8)", 7, 1e-9),
    ("blh(epsilon0=1)", 10**3, 1e-12),
    ("subsample(krr(k=4, epsilon0=1), rate=0.001)", 10**5, 1e-8),
    ("matrix([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0.25, 0.75, 0]])", 100, 0.3),
    ("laplace(epsilon0=1)", 10**3, 1e-6),
    ("discrete_laplace(epsilon0=2, bound=20)", 10**5, 1e-9),
    ("gaussian(sigma=2)", 10**4, 1e-6),
    ("joint(laplace(epsilon0=1), krr(k=2, epsilon0=1))", 10**4, 1e-6),
]


@pytest.mark.parametrize(("text", "n", "delta"), QUESTIONS)
def test_answers_keep_their_word(text, n, delta):
    curve = curve_of(text, n)
    upper, lower = (find(curve, delta, RTOL) for find in (epsilon_above, epsilon_below))
    assert delta_above(curve.above(upper.epsilon).log) <= delta
    assert lower.epsilon == 0 or delta_below(curve.below(lower.epsilon).log) >= delta
    assert lower.epsilon <= upper.epsilon <= lower.epsilon * (1 + 10 * RTOL)


@pytest.mark.parametrize(
    ("k", "epsilon0", "n"), [(3, 300, 2), (3, 300, 20), (3, 300, 10**15), (200, 100, 40)]
)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.99])
def test_ratios_near_the_end_of_doubles(k, epsilon0, n, share):
    """Randomized response that lies so rarely that the shuffler hides nothing."""
    curve = curve_of(f"krr(k={k}, epsilon0={epsilon0})", n)
    delta = -math.expm1((share - 1) * epsilon0)
    assert delta * 0.99 <= delta_below(curve.below(share * epsilon0).log) <= delta * (1 + 1e-12)
    assert delta * (1 - 1e-12) <= delta_above(curve.above(share * epsilon0).log) <= delta * 1.01


def test_nothing_is_revealed_beyond_the_end():
    curve = curve_of("krr(k=3, epsilon0=1)", 5)
    assert curve.above(1.0).log == -math.inf
    assert curve.end.lower == curve.end.upper == 1.0
    assert epsilon_above(curve, 0.0, RTOL).epsilon == 1.0
    assert epsilon_above(curve, 1.0, RTOL).epsilon == 0.0


@pytest.mark.parametrize("combine", [largest, smallest])
def test_curves_combine(combine):
    parts: list[Curve] = [curve_of("krr(k=3, epsilon0=1)", 10), curve_of("blh(epsilon0=1)", 10)]
    found = combine(parts)
    choose = max if combine is largest else min
    for epsilon in (0.0, 0.2, 0.9):
        assert found.above(epsilon).log == choose(part.above(epsilon).log for part in parts)
        assert found.below(epsilon).log == choose(part.below(epsilon).log for part in parts)


def test_a_risk_is_added():
    curve = curve_of("krr(k=3, epsilon0=1)", 10)
    found = curve.plus(1e-3)
    for epsilon in (0.2, 2.0):
        below, above = delta_below(curve.below(epsilon).log), delta_above(curve.above(epsilon).log)
        assert delta_above(found.above(epsilon).log) >= above + 1e-3
        assert delta_below(found.below(epsilon).log) <= below + 1e-3 * (1 + 1e-12)
    assert found.end.upper == math.inf
    assert curve.plus(0.0) is curve
