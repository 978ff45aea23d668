"""Sums of a few Laplace variables against their laws in many digits."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ShuffleAccountant
from shuffledp.divergence import few_laplace
from shuffledp.divergence.few_laplace import MOST, few_laplace_log_shift
from shuffledp.divergence.geometric_shift import geometric_log_shift
from shuffledp.errors import AccuracyWarning


@lru_cache(maxsize=MOST)
def weights(n: int) -> list[mpmath.mpf]:
    """Of gamma variables of shape n - j, on either side of 0."""
    return [mpmath.binomial(n - 1 + j, j) / mpmath.mpf(2) ** (n + j) for j in range(n)]


def tail(n: int, t: mpmath.mpf) -> mpmath.mpf:
    if t < 0:
        return 1 - tail(n, -t)
    tails = [
        mpmath.exp(-t) * sum(t**i / mpmath.factorial(i) for i in range(k + 1)) for k in range(n)
    ]
    return sum(w * tails[n - 1 - j] for j, w in enumerate(weights(n)))


def density(n: int, t: mpmath.mpf) -> mpmath.mpf:
    t = abs(t)
    powers = (t ** (n - j - 1) / mpmath.factorial(n - j - 1) for j in range(n))
    return mpmath.exp(-t) * sum(w * power for w, power in zip(weights(n), powers, strict=True))


def exact_log_delta(n: int, shift: float, epsilon: float) -> mpmath.mpf:
    """Return log delta in 60 digits: the tail is a sum of gamma tails, the threshold a root."""
    with mpmath.workdps(60):
        gap, growth = mpmath.mpf(shift), mpmath.exp(mpmath.mpf(epsilon))
        low, high = gap / 2, gap + 1
        while density(n, high - gap) <= growth * density(n, high):
            low, high = high, 2 * high
        for _ in range(120):
            middle = (low + high) / 2
            if density(n, middle - gap) > growth * density(n, middle):
                high = middle
            else:
                low = middle
        return mpmath.log(tail(n, high - gap) - growth * tail(n, high))


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


PLACES = [
    (shift, part, t)
    for shift in (1e-9, 1.5e-7, 0.3, 4.0)
    for part in (0.0, 0.4)
    for t in (0.6, 1.0, 3.0)
]


@pytest.mark.parametrize("n", [2, 3, MOST])
@pytest.mark.parametrize("unit", [0.0, 1e-6])
def test_values_at_a_threshold_are_as_good_as_stated(
    n: int, unit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Densities and tails in many digits; terms may be off by as many units as are allowed."""
    monkeypatch.setattr(few_laplace, "UNIT", unit or few_laplace.UNIT)
    for shift, part, place in PLACES:
        epsilon, t = part * shift, place * shift if place <= 1 else shift + place
        sums = few_laplace._Sums(n, shift, epsilon)
        narrow = shift < few_laplace._NARROW
        with mpmath.workdps(60):
            scale = mpmath.exp(t) if t >= shift else mpmath.mpf(1)
            growth = mpmath.exp(mpmath.mpf(epsilon))
            apart = mpmath.mpf(t) - mpmath.mpf(shift)
            for enclosure, law in ((sums.difference(t), density), (sums.tails(t), tail)):
                first, second = law(n, apart) * scale, growth * law(n, mpmath.mpf(t)) * scale
                lower, upper = (mpmath.mpf(end) for end in enclosure)
                assert lower <= first - second <= upper
                error = unit * (4 * n + 32 + (4 * (shift + epsilon) if t < shift else 0))
                if not narrow:
                    whole = 1 if law is tail and t < shift else first
                    slack = error * (whole + second)
                elif law is density:
                    slack = second * (error * (shift + epsilon) + unit * (6 * n + 16) * shift)
                else:
                    most = density(n, max(apart, 0)) * scale * shift
                    slack = 2 * error * (most + epsilon * second)
                for room in (upper - (first - second), first - second - lower):
                    assert room >= 0.999 * slack
                    assert narrow or room <= 1.001 * slack + 1e-12 * (first + second)
            least, most = sorted((0.9 * t, t))
            fall = density(n, mpmath.mpf(least)) / density(n, mpmath.mpf(most))
            found = sums.fall(least, most) / fall
            assert 1 + 1.999 * unit * (4 * n + 32) <= found <= 1 + 2.1 * unit * (4 * n + 99) + 1e-12


@pytest.mark.parametrize(
    ("n", "shift", "epsilon"), [(2, 1.0, 0.3), (5, 3.0, 1.0), (3, 0.01, 0.002), (4, 2.0, 0.0)]
)
@pytest.mark.parametrize("width", [0.01, 0.2])
def test_what_a_bracket_may_hide_is_added(
    n: int, shift: float, epsilon: float, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_laplace, "_WIDTHS", (width,))
    t = few_laplace._Sums(n, shift, epsilon).threshold()
    assert t is not None
    low, high = max(t * (1 - width), shift / 2), t * (1 + width)
    found = few_laplace_log_shift(n, shift, epsilon)
    assert found is not None
    with mpmath.workdps(60):
        gap, growth = mpmath.mpf(shift), mpmath.exp(mpmath.mpf(epsilon))
        difference = density(n, high - gap) - growth * density(n, mpmath.mpf(high))
        fall = density(n, mpmath.mpf(low)) / density(n, mpmath.mpf(high))
        least = tail(n, high - gap) - growth * tail(n, mpmath.mpf(high))
        most = least + (high - low) * fall * difference
        assert abs(found.lower - mpmath.log(least)) < 1e-9
        assert abs(found.upper - mpmath.log(most)) < 1e-9
    assert found.lower <= exact_log_delta(n, shift, epsilon) <= found.upper


def test_products_of_a_bracket_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all of delta comes from between the ends."""
    unit, shift = 1e-6, 1.0
    t = few_laplace._Sums(2, shift, 0.3).threshold()
    assert t is not None
    for name, value in (
        ("tails", lambda *_: (0.0, 0.0)),
        ("fall", lambda *_: 0.5),
        ("difference", lambda _, place: (1.0, 1.0) if place > t else (-1.0, -1.0)),
    ):
        monkeypatch.setattr(few_laplace._Sums, name, value)
    monkeypatch.setattr(few_laplace, "_WIDTHS", (0.1,))
    monkeypatch.setattr(few_laplace, "UNIT", unit)
    found = few_laplace_log_shift(2, shift, 0.3)
    assert found is not None
    margin = 64 * 2 * 10 * unit / shift
    high, low = t * 1.1 + margin, max(t * 0.9 - margin, shift / 2)
    exact = math.log(0.5 * (high - low)) - (high if high >= shift else 0.0)
    assert exact + 38 * unit <= found.upper <= exact + 60 * unit
