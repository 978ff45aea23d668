"""Sums of a few two-sided geometric variables against their laws in many digits."""

from __future__ import annotations

import math
import random
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ShuffleAccountant
from shuffledp.divergence import few_geometric as module
from shuffledp.divergence import geometric_shift
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.few_geometric import MOST, few_geometric_log_shift
from shuffledp.divergence.geometric_shift import _CLOSE as CLOSE
from shuffledp.divergence.geometric_shift import geometric_log_shift
from shuffledp.errors import AccuracyWarning

DIGITS = 60


class ExactLaw:
    """The law in many digits: the weights are coefficients of a power series, multiplied out."""

    def __init__(self, n: int, rate: float) -> None:
        self.n, self.alpha = n, mpmath.exp(-mpmath.mpf(rate))
        # ((1 - a)/(1 + a))^n (1 - a x)^-n (1 - a/x)^-n in powers of 1 - a x, up to a constant.
        # With w = (1 - a x)/(1 - a^2): 1 - a/x = (1 - w)(1 - a^2)/(1 - w (1 - a^2)).
        gap = 1 - self.alpha**2
        factor = [mpmath.mpf(1)] + [1 - gap] * (n - 1)  # (1 - w gap)/(1 - w)
        series = [mpmath.mpf(1)] + [mpmath.mpf(0)] * (n - 1)
        for _ in range(n):
            series = [
                mpmath.fsum(series[i] * factor[j - i] for i in range(j + 1)) for j in range(n)
            ]
        self.success = 1 - self.alpha
        # A negative binomial law of r successes has the transform ((1 - a)/(1 - a x))^r.
        self.weights = [
            self.success**n / gap**n * series[n - r] * (self.success / gap) ** (n - r)
            for r in range(1, n + 1)
        ]

    def mass(self, k: int) -> mpmath.mpf:
        terms = self._terms(abs(k))
        total = mpmath.fsum(w * term for w, term in zip(self.weights, terms, strict=True))
        return self.alpha ** abs(k) * self.success * total

    def tail(self, t: int) -> mpmath.mpf:
        if t <= 0:
            return 1 - self.tail(1 - t)
        sums = accumulate(self._terms(t - 1))
        total = mpmath.fsum(w * part for w, part in zip(self.weights, sums, strict=True))
        return self.alpha**t * total

    def _terms(self, k: int) -> list[mpmath.mpf]:
        """Return (k + i choose i) (1 - alpha)^i."""
        terms = [mpmath.mpf(1)]
        for i in range(1, self.n):
            terms.append(terms[-1] * (k + i) / i * self.success)
        return terms


@lru_cache(maxsize=64)
def law_of(n: int, rate: float) -> ExactLaw:
    return ExactLaw(n, rate)


def exact_log_delta(n: int, rate: float, bound: int, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(DIGITS):
        law, growth = law_of(n, rate), mpmath.exp(mpmath.mpf(epsilon))
        low, high = bound // 2, bound + 1
        while law.mass(high - bound) <= growth * law.mass(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if law.mass(middle - bound) > growth * law.mass(middle):
                high = middle
            else:
                low = middle
        return mpmath.log(law.tail(high - bound) - growth * law.tail(high))


def holds(found: LogEnclosure, wanted: mpmath.mpf) -> bool:
    return bool(found.lower <= wanted <= found.upper)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_law_is_that_of_sums_in_fractions(n):
    """One variable is cut off where hardly any mass is left."""
    alpha, reach = Fraction(1, 3), 60
    single = {k: (1 - alpha) / (1 + alpha) * alpha ** abs(k) for k in range(-reach, reach + 1)}
    total = {0: Fraction(1)}
    for _ in range(n):
        after: dict[int, Fraction] = {}
        for k in range(-reach, reach + 1):
            after[k] = sum(
                (total[j] * single[k - j] for j in total if abs(k - j) <= reach), Fraction(0)
            )
        total = after
    with mpmath.workdps(DIGITS):
        exact, law = ExactLaw(n, math.log(3)), module._law(n, math.log(3))
        for k in (0, 1, 2, 7):
            assert float(exact.mass(k)) == pytest.approx(float(total[k]), rel=1e-13)
            scaled = law.mass(k) * law.success * 3.0**-k
            assert scaled == pytest.approx(float(total[k]), rel=1e-13)
            wanted = float(sum(total[j] for j in range(k, reach + 1)))
            assert float(exact.tail(k)) == pytest.approx(wanted, rel=1e-13)
            if k:
                assert law.tail(k) * 3.0**-k == pytest.approx(wanted, rel=1e-13)


@settings(max_examples=300, deadline=None)
@given(
    n=st.integers(2, MOST),
    log_rate=st.one_of(st.floats(-14.0, 3.4), st.floats(-28.0, -14.0)),
    bound=st.one_of(st.integers(1, 12), st.integers(1, 10**6)),
    part=st.one_of(st.just(0.0), st.floats(0.0, 0.95), st.floats(0.95, 0.999)),
)
def test_enclosures_hold_the_truth(n, log_rate, bound, part):
    rate = math.exp(log_rate)
    epsilon = part * rate * bound
    found = few_geometric_log_shift(n, rate, bound, epsilon).log_delta
    if rate * bound > 300:
        assert found.upper <= 0
        return
    wanted = exact_log_delta(n, rate, bound, epsilon)
    assert holds(found, wanted)
    assert found.width < (CLOSE if part <= 0.9 else 0.1) or wanted < -700


@pytest.mark.parametrize("level", [1e-9, 1.9e-7, 2.1e-7, 0.9e-4, 1.1e-4, 1.0, 30.0])
@pytest.mark.parametrize("n", [2, 3, MOST])
def test_where_formulas_change(n, level):
    for bound in (1, 2, 3, 10, 1001):
        for part in (0.0, 0.2, 0.5, 0.9):
            rate = level / bound
            found = few_geometric_log_shift(n, rate, bound, part * level).log_delta
            assert holds(found, exact_log_delta(n, rate, bound, part * level))
            assert found.width < CLOSE


def test_the_reference_value():
    found = geometric_log_shift(5, 1 / 3, 3, 0.2).log_delta
    assert found.lower - 1e-13 <= math.log(0.061917207927957) <= found.upper + 1e-13
    assert found.width < 1e-11


@pytest.mark.parametrize("rate", [1e-6, 0.01, 1.0, 30.0])
def test_the_end_of_the_level(rate):
    """Next to the level thresholds are far out and delta is tiny, or nothing is said."""
    for n in (2, 5, MOST):
        for bound in (1, 7):
            level = rate * bound
            for epsilon in (0.999 * level, (1 - 1e-6) * level, math.nextafter(level, 0.0)):
                found = few_geometric_log_shift(n, rate, bound, epsilon)
                if found.threshold is not None and epsilon < (1 - 1e-7) * level:
                    assert holds(found.log_delta, exact_log_delta(n, rate, bound, epsilon))
            assert few_geometric_log_shift(n, rate, bound, level * (1 + 1e-15)).threshold is None
    tiny = few_geometric_log_shift(2, rate, 1, 0.999 * rate).log_delta
    assert tiny.upper < math.log(1e-300)
    assert tiny.width < 1e-2


@pytest.mark.parametrize(("rate", "bound"), [(1e-101, 1), (30.0, 10**6), (601.0, 1), (1e-3, 10**9)])
def test_what_leaves_the_range_of_doubles_is_not_tried(rate, bound):
    assert few_geometric_log_shift(3, rate, bound, 0.0) == module.NOTHING_KNOWN


def test_thresholds_beyond_all_numbers_are_not_tried():
    assert few_geometric_log_shift(9, 1.0, 1, math.nextafter(1.0, 0.0)) == module.NOTHING_KNOWN


@pytest.mark.parametrize("n", [2, 6, MOST])
def test_contours_agree(n, monkeypatch):
    cases = [(rate, bound, part) for rate in (0.1, 2.0) for bound in (1, 5) for part in (0.0, 0.5)]
    few = [
        few_geometric_log_shift(n, rate, bound, part * rate * bound) for rate, bound, part in cases
    ]
    monkeypatch.setattr(geometric_shift, "MOST", 1)
    for found, (rate, bound, part) in zip(few, cases, strict=True):
        contour = geometric_log_shift(n, rate, bound, part * rate * bound)
        assert contour.threshold == found.threshold
        assert contour.log_delta.lower <= found.log_delta.upper
        assert found.log_delta.lower <= contour.log_delta.upper
        assert found.log_delta.width < 1e-10


def test_where_little_is_known_contours_are_asked(monkeypatch):
    wanted = geometric_log_shift(8, 0.5, 2, 0.3).log_delta
    for vague in (
        module.NOTHING_KNOWN,
        module.Shift(LogEnclosure(wanted.lower - 0.03, wanted.upper + 0.03), 1),
    ):
        monkeypatch.setattr(geometric_shift, "few_geometric_log_shift", lambda *_, v=vague: v)
        found = geometric_log_shift(8, 0.5, 2, 0.3).log_delta
        assert found.width < 1e-9
        assert found.lower <= wanted.upper
        assert wanted.lower <= found.upper


def test_more_users_never_hurt():
    for rate, bound, epsilon in ((0.1, 10, 0.3), (1.0, 1, 0.2), (0.01, 300, 1.0)):
        found = [geometric_log_shift(n, rate, bound, epsilon).log_delta for n in range(2, MOST + 5)]
        for before, after in pairwise(found):
            assert after.upper < before.lower


@pytest.mark.parametrize("text", ["1e-9, 3", "1, 10", "1, 10000", "8, 2"])
def test_epsilons_keep_their_word(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for n in (2, 7, MOST, MOST + 1):
            accountant = ShuffleAccountant(f"discrete_laplace({text})", n, view="sum")
            for delta in (1e-15, 1e-6, 0.1):
                found = accountant.epsilon_interval(delta)
                assert found.lower <= found.upper <= accountant.randomizer.epsilon0
                assert accountant.get_delta(found.upper) <= delta


# Rounding, with units that are large enough to see.

CASES = [
    (2, 0.1, 10, 0.3),  # beyond the shift
    (16, 0.1, 10, 0.3),
    (3, 2.0, 9, 1.0),  # not beyond it
    (5, 0.5, 1, 0.2),
    (4, 1e-5, 5, 2e-5),  # masses instead of tails
    (7, 1e-8, 4, 1e-8),  # slopes instead of masses
]


@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.4, 3.0, 40.0])
@pytest.mark.parametrize("n", [2, 7, MOST])
def test_sums_are_as_good_as_assumed(n, rate):
    law, most = module._law(n, rate), 26 * n * module.UNIT
    with mpmath.workdps(DIGITS):
        exact = ExactLaw(n, rate)
        for t in (0, 1, 5, 1000, 10**12 + 1, 10**17 + 1):
            unit = exact.alpha**t
            assert abs(law.mass(t) * unit * exact.success / exact.mass(t) - 1) <= most
            if t:
                assert abs(law.tail(t) * unit / exact.tail(t) - 1) <= most
            fall = mpmath.log(exact.mass(t) / exact.mass(t + 1))
            assert abs(law.fall(t) - fall) <= (52 * n + 20) * module.UNIT * rate
            assert law.fall(-t - 1) == -law.fall(t)


def moved_law(law: module._Law, unit: float, sign) -> module._Law:
    """Return the law with coefficients and steps off by nearly what is assumed."""

    def move(rows):
        size = 13 * law.n * unit
        return tuple((c * (1 + sign() * size), s * (1 + sign() * 4 * unit), i) for c, s, i in rows)

    return replace(law, weights=move(law.weights), rests=move(law.rests), steps=move(law.steps))


@pytest.mark.parametrize("case", CASES)
def test_coefficients_that_are_off_by_their_errors_are_covered(case, monkeypatch):
    n, rate, bound, _ = case
    wanted, plain = exact_log_delta(*case), module._law(n, rate)
    unit = 1e-7 * min(rate * bound, 1.0)
    rng = random.Random(7)
    signs = [lambda: 1.0, lambda: -1.0, *[lambda: rng.uniform(-1, 1)] * 20]
    missed = 0
    for sign in signs:
        monkeypatch.setattr(module, "_law", lambda *_, s=sign: moved_law(plain, unit, s))
        monkeypatch.setattr(module, "UNIT", unit)
        assert holds(few_geometric_log_shift(*case).log_delta, wanted)
        monkeypatch.setattr(module, "UNIT", 2.0**-53)
        missed += not holds(few_geometric_log_shift(*case).log_delta, wanted)
    assert missed >= 5


@pytest.mark.parametrize("case", CASES)
def test_elementary_functions_that_are_off_are_covered(case, monkeypatch):
    wanted, unit = exact_log_delta(*case), 1e-7 * min(case[1] * case[2], 1.0)
    law, rng, exp = module._law(case[0], case[1]), random.Random(3), math.exp
    monkeypatch.setattr(module, "_law", lambda *_: law)
    monkeypatch.setattr(module, "UNIT", unit)
    monkeypatch.setattr(math, "exp", lambda x: exp(x) * (1 + 4 * unit * rng.choice((-1, 0, 1))))
    for _ in range(20):
        assert holds(few_geometric_log_shift(*case).log_delta, wanted)


@pytest.mark.parametrize("case", CASES)
def test_undecided_thresholds_are_added(case, monkeypatch):
    """With a large unit the sign of D is not known at many integers."""
    wanted, unit = exact_log_delta(*case), 1e-5 * min(case[1] * case[2], 1.0)
    monkeypatch.setattr(module, "UNIT", unit)
    sums = module._Sums(
        module._law(case[0], case[1]), case[2], case[3], case[3] - case[1] * case[2]
    )
    bracket = sums.sign_change()
    assert bracket is not None
    low, high = bracket
    with mpmath.workdps(DIGITS):
        law, growth = law_of(case[0], case[1]), mpmath.exp(mpmath.mpf(case[3]))
        middle = [low + round((high - low) * part) for part in (0.0, 0.3, 0.5, 0.7, 1.0)]
        d = [law.mass(k - case[2]) - growth * law.mass(k) for k in middle]
        assert d[0] <= 0 < d[-1]
        unit_at = law.alpha ** max(high - case[2], 0)
        most = max((high - low - 1) * max(d[1:-1]), 0)
        assert sums.between(low, high) * unit_at >= most * (1 - mpmath.mpf(10) ** -9)
    assert holds(few_geometric_log_shift(*case).log_delta, wanted)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e-5, 1e-4, 3e-4])
@pytest.mark.parametrize(("n", "rate", "bound"), [(2, 0.1, 10), (5, 0.05, 7), (3, 1e-8, 4)])
def test_brackets_are_certified_and_as_close_as_can_be_told(n, rate, bound, unit, monkeypatch):
    monkeypatch.setattr(module, "UNIT", unit * min(rate * bound, 1.0))
    for part in (0.0, 0.3, 0.6):
        epsilon = part * rate * bound
        sums = module._Sums(module._law(n, rate), bound, epsilon, epsilon - rate * bound)
        low, high = sums.sign_change()
        assert low == bound // 2 or sums.difference(low)[1] <= 0
        assert sums.difference(high)[0] > 0
        for k in {low + 1, (low + high) // 2, high - 1} - {low, high}:
            assert sums.difference(k)[0] <= 0 < sums.difference(k)[1]


@pytest.mark.parametrize(("rate", "bound"), [(0.01, 1), (0.01, 2), (1e-8, 1), (1e-8, 4)])
def test_differences_by_slopes(rate, bound, monkeypatch):
    n, epsilon, unit = 5, 0.3 * rate * bound, 1e-6
    level, growth = rate * bound, math.expm1(epsilon)
    sums = module._Sums(module._law(n, rate), bound, epsilon, epsilon - level)
    for t in (bound, bound + 1, round(0.7 / rate), round(3 / rate)):
        monkeypatch.setattr(module, "UNIT", 0.0)
        plain = sums._narrow_difference(t)
        with mpmath.workdps(DIGITS):
            law = law_of(n, rate)
            in_units = law.alpha ** max(t - bound, 0) * law.success
            here = float(law.mass(t) / in_units)
            d = law.mass(t - bound) - mpmath.exp(mpmath.mpf(epsilon)) * law.mass(t)
            wanted = float(d / in_units)
        slack = 1e-12 * here * level
        assert plain[0] - slack <= wanted <= plain[1] + slack
        assert plain[1] - plain[0] <= (2 * (bound - 1) * level * rate + 1e-12 * level) * here
        monkeypatch.setattr(module, "UNIT", unit)
        rounded = sums._narrow_difference(t)
        off = 0.999 * here * unit * (52 * n * level + 26 * n * (level + growth))
        assert rounded[0] <= plain[0] - off
        assert rounded[1] >= plain[1] + off


@pytest.mark.parametrize("t", [6, 9, 10, 14])
def test_both_tails_are_rounded(t, monkeypatch):
    sums, unit = module._Sums(module._law(3, 2.0), 9, 1.0, -17.0), 1e-6
    with mpmath.workdps(DIGITS):
        law = law_of(3, 2.0)
        in_units = law.alpha ** max(t - 9, 0)
        near, far = law.tail(t - 9) / in_units, mpmath.e * law.tail(t) / in_units
    monkeypatch.setattr(module, "UNIT", unit)
    lower, upper = sums.tails(t)
    off = 26 * 3 * unit * (near + far)
    assert lower <= near - far - off
    assert upper >= near - far + off


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("bound", [1, 2, 3, 4, 9])
def test_means_of_masses_are_between_those_of_pairs(n, bound):
    """Also where the masses bend most: with a single variable they have an edge at 0."""
    for rate, epsilon in ((0.01, 0.002), (0.3, 0.0), (0.3, 0.1)):
        sums = module._Sums(module._law(n, rate), bound, epsilon, epsilon - rate * bound)
        for t in range(bound // 2 + 1, 2 * bound + 3):
            with mpmath.workdps(DIGITS):
                law, growth = law_of(n, rate), mpmath.exp(mpmath.mpf(epsilon))
                exact = law.tail(t - bound) - growth * law.tail(t)
                exact /= law.alpha ** max(t - bound, 0)
            lower, upper = sums._narrow_tails(t)
            assert lower <= exact <= upper


@pytest.mark.parametrize("t", [5, 7, 9])
def test_tails_on_the_other_side_of_zero_are_rounded(t, monkeypatch):
    """Where P(S >= t - B) is 1 less another tail, which is as good as stated and as large."""
    sums, unit = module._Sums(module._law(3, 0.1), 9, 0.1, -0.8), 1e-6
    with mpmath.workdps(DIGITS):
        law = law_of(3, 0.1)
        other, far = law.tail(10 - t), mpmath.exp(mpmath.mpf(0.1)) * law.tail(t)
    monkeypatch.setattr(module, "UNIT", unit)
    lower, upper = sums.tails(t)
    off = 26 * 3 * unit * (other + far)
    assert lower <= 1 - other - far - off
    assert upper >= 1 - other - far + off


def test_products_of_a_bracket_are_rounded_up(monkeypatch):
    sums, unit = module._Sums(module._law(2, 1.0), 2, 0.5, -1.5), 1e-6
    monkeypatch.setattr(module, "UNIT", unit)
    monkeypatch.setattr(module._Sums, "difference", lambda *_: (0.1, 0.1))
    exact = 4 * math.exp(5) * -math.expm1(-1) * 0.1
    assert exact * (1 + 26 * 2 * unit) <= sums.between(3, 8) <= exact * (1 + 400 * unit)


@pytest.mark.parametrize("n", [2, 7])
def test_differences_by_slopes_have_all_units_of_both_factors(n, monkeypatch):
    """52 n + 20 of the slope, 26 n + 20 of what it is multiplied with."""
    sums, t, unit = module._Sums(module._law(n, 1e-9), 50, 0.0, -5e-8), 10**9, 1e-6
    monkeypatch.setattr(module, "UNIT", 0.0)
    plain = sums.difference(t)
    monkeypatch.setattr(module, "UNIT", unit)
    rounded = sums.difference(t)
    off = (78 * n + 40) * unit * 5e-8 * sums.law.mass(t) * 0.999
    assert rounded[0] <= plain[0] - off
    assert rounded[1] >= plain[1] + off


def test_exponents_of_any_size_are_rounded(monkeypatch):
    """An exponent has a rounding of its own size, and so have both of its parts."""
    unit = 1e-6
    monkeypatch.setattr(module, "UNIT", unit)
    for bound, epsilon in ((40, 0.0), (40, 39.0), (2, 1.5)):
        sums = module._Sums(module._law(2, 1.0), bound, epsilon, epsilon - bound)
        assert sums._error() >= unit * (26 * 2 + 2 * (bound + epsilon))


def test_wide_brackets_say_nothing():
    sums = module._Sums(module._law(2, 1.0), 2, 0.5, -1.5)
    assert sums.between(3, 4) == 0
    assert sums.between(3, 20) == math.inf
    assert sums.between(3, 8) < math.inf
    assert sums.between(3, 5) >= 7.38 * sums.law.success * sums.difference(5)[1] > 0
    assert sums.in_logs(-1.0, math.inf, 5) == LogEnclosure(-math.inf, math.inf)
    vague = few_geometric_log_shift(7, 0.0012040108818299224, 4, 0.0048160433256370806)
    assert vague.log_delta.width > CLOSE


def test_logarithms_are_rounded(monkeypatch):
    sums = module._Sums(module._law(2, 1.0), 2, 0.5, -1.5)
    unit = 1e-6
    monkeypatch.setattr(module, "UNIT", unit)
    for value, t in ((1e-9, 2), (1e9, 50), (1.0, 302)):
        log, away = math.log(value), max(t - 2, 0)
        off = 4 * unit * (abs(log) + away)
        found = sums.in_logs(value, value, t)
        assert found.lower <= log - away - off
        assert found.upper >= log - away + off
    assert sums.in_logs(1e-300, 1.0, 2).lower <= math.log(1e-300) * (1 + 4 * unit)
    assert sums.in_logs(1.0, 1e300, 2).upper >= math.log(1e300) * (1 + 4 * unit)
    assert sums.in_logs(0.0, 1.0, 5).lower == sums.in_logs(-1.0, 1.0, 5).lower == -math.inf
