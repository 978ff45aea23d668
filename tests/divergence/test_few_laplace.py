"""Sums of a few Laplace variables against their laws in many digits."""

from __future__ import annotations

import math
import warnings

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ShuffleAccountant
from shuffledp.divergence import few_laplace
from shuffledp.divergence.few_laplace import MOST, few_laplace_log_shift
from shuffledp.divergence.geometric_shift import geometric_log_shift
from shuffledp.errors import AccuracyWarning


def exact_log_delta(n: int, shift: float, epsilon: float) -> mpmath.mpf:
    """Return log delta in 60 digits: the tail is a sum of gamma tails, the threshold a root."""
    with mpmath.workdps(60):
        gap, growth = mpmath.mpf(shift), mpmath.exp(mpmath.mpf(epsilon))
        weights = [mpmath.binomial(n - 1 + j, j) / mpmath.mpf(2) ** (n + j) for j in range(n)]

        def gamma_tail(shape: int, t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(-t) * sum(t**i / mpmath.factorial(i) for i in range(shape))

        def tail(t: mpmath.mpf) -> mpmath.mpf:
            if t < 0:
                return 1 - tail(-t)
            return sum(w * gamma_tail(n - j, t) for j, w in enumerate(weights))

        def density(t: mpmath.mpf) -> mpmath.mpf:
            t = abs(t)
            terms = (
                w * t ** (n - j - 1) / mpmath.factorial(n - j - 1) for j, w in enumerate(weights)
            )
            return mpmath.exp(-t) * sum(terms)

        low, high = gap / 2, gap + 1
        while density(high - gap) <= growth * density(high):
            low, high = high, 2 * high
        for _ in range(120):
            middle = (low + high) / 2
            if density(middle - gap) > growth * density(middle):
                high = middle
            else:
                low = middle
        return mpmath.log(tail(high - gap) - growth * tail(high))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, MOST),
    shift=st.one_of(st.floats(1e-12, 1e-6), st.floats(1e-3, 30.0)),
    part=st.one_of(st.just(0.0), st.floats(0.0, 0.99), st.floats(0.99, 0.999)),
)
def test_enclosures_hold_the_truth(n, shift, part):
    epsilon = part * shift
    found = few_laplace_log_shift(n, shift, epsilon)
    wanted = exact_log_delta(n, shift, epsilon)
    assert found is not None or wanted < -100
    if found is not None:
        assert found.lower <= wanted <= found.upper
        assert found.width < 1e-3 or wanted < -100


@pytest.mark.parametrize("shift", [1e-8, 1.9e-7, 2.1e-7, 1e-5, 1.0, 100.0])
@pytest.mark.parametrize("n", [2, 3, MOST])
def test_where_formulas_change(n, shift):
    for part in (0.0, 0.2, 0.5, 0.95):
        found = few_laplace_log_shift(n, shift, part * shift)
        assert found.lower <= exact_log_delta(n, shift, part * shift) <= found.upper
        assert found.width < 0.01


def test_the_end_of_the_level():
    """Very close to the level thresholds are far out; what is given up is computed otherwise."""
    for n in (2, 5, MOST):
        for epsilon in (1 - 1e-3, 1 - 1e-5, 1 - 1e-9, math.nextafter(1.0, 0.0)):
            found = few_laplace_log_shift(n, 1.0, epsilon)
            assert found is None or found.lower <= exact_log_delta(n, 1.0, epsilon) <= found.upper
    assert few_laplace_log_shift(2, 1.0, 1 - 1e-3) is not None
    assert few_laplace_log_shift(2, 1.0, 1 - 1e-9) is None


def test_a_fine_grid_reveals_a_little_more():
    for n in (2, 4, 9):
        coarse = geometric_log_shift(n, 2.0**-6, 1 << 6, 0.3).log_delta
        found = few_laplace_log_shift(n, 1.0, 0.3)
        assert found.lower <= coarse.upper <= found.upper + 1e-2


@pytest.mark.parametrize("epsilon0", [1e-9, 1.0, 8.0])
def test_epsilons_keep_their_word(epsilon0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for n in (2, 7, MOST, MOST + 1):
            accountant = ShuffleAccountant(f"laplace(epsilon0={epsilon0})", n, view="sum")
            for delta in (1e-15, 1e-6, 0.1):
                found = accountant.epsilon_interval(delta)
                assert found.lower <= found.upper <= epsilon0
                assert accountant.get_delta(found.upper) <= delta


@pytest.mark.parametrize("lower", [0.0, -1e-3])
def test_where_tails_cancel_nothing_is_said_from_below(
    lower: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_laplace._Sums, "tails", lambda *_: (lower, 1e-3))
    found = few_laplace_log_shift(3, 1.0, 0.3)
    assert found is not None
    assert found.lower == -math.inf < found.upper
