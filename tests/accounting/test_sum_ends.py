"""Both ends of what sums of few users reveal, to the last bit: fractions, e^epsilon enclosed."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import product

import mpmath
import pytest

from shuffledp import ShuffleAccountant, UnaryEncoding
from shuffledp.basics.errors import AccuracyWarning


@pytest.fixture(autouse=True)
def _wide_is_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield


def growth(epsilon: float) -> tuple[Fraction, Fraction]:
    """Enclose e^epsilon, a double being what it is."""
    with mpmath.workdps(80):
        below = int(mpmath.floor(mpmath.exp(mpmath.mpf(epsilon)) * mpmath.mpf(10) ** 60))
    return Fraction(below, 10**60), Fraction(below + 2, 10**60)


def one_more(law: list[Fraction], p: Fraction) -> list[Fraction]:
    return [
        (law[i] if i < len(law) else 0) * (1 - p) + (law[i - 1] if i else 0) * p
        for i in range(len(law) + 1)
    ]


def delta_of(p: Fraction, q: Fraction, n: int, held: tuple[int, int], lam: Fraction) -> Fraction:
    """Delta of two counts if so many of the others hold the first value, and the second one."""
    sides = []
    for m in held:
        law = [Fraction(1)]
        for bit in [p] * m + [q] * (n - 1 - m):
            law = one_more(law, bit)
        sides.append((one_more(law, p), one_more(law, q)))
    (own, free), (other_own, other_free) = sides
    return sum(
        max(own[i] * other_free[j] - lam * free[i] * other_own[j], Fraction(0))
        for i, j in product(range(n + 1), repeat=2)
    )


def worst(mechanism: UnaryEncoding, n: int, lam: Fraction) -> Fraction:
    p, q = Fraction(mechanism.p), Fraction(mechanism.q)
    return max(
        delta_of(p, q, n, (u, v), lam)
        for u in range(n)
        for v in range(n - u)
        if mechanism.domain_size != 2 or u + v == n - 1
    )


MECHANISMS = [
    UnaryEncoding(0.75, 0.25, 3),
    UnaryEncoding(0.1, 0.9, 2),  # a 0 is where the value is
    UnaryEncoding(0.5, 1e-6),
    UnaryEncoding(1e-12, 1e-6, 3),
    UnaryEncoding(0.5 + 1e-9, 0.5, 3),  # hardly any difference
    UnaryEncoding(1e-30, 1.001e-30, 2),  # no double tells 1 - p and 1 - q apart
    UnaryEncoding(1 - 2**-53, 2**-20),
]


@pytest.mark.heavy(keep=7)
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_delta(mechanism, n):
    level = mechanism.epsilon0
    accountant = ShuffleAccountant(mechanism, n, view="sum")
    for epsilon in (0.0, 1e-300, level / 3, level * (1 - 1e-9), math.nextafter(level, 0), level):
        low, high = growth(epsilon)
        found = accountant.delta_interval(epsilon)
        assert Fraction(found.lower) <= worst(mechanism, n, low)
        assert worst(mechanism, n, high) <= Fraction(found.upper)
        assert Fraction(accountant.delta_lower_bound(epsilon)) <= worst(mechanism, n, low)


@pytest.mark.heavy(keep=7)
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_epsilon(mechanism, n):
    accountant = ShuffleAccountant(mechanism, n, view="sum")
    most = float(worst(mechanism, n, Fraction(1)))
    for delta in (most / 3, most * 1e-6, 0.0):
        found = accountant.epsilon_interval(delta)
        assert worst(mechanism, n, growth(found.upper)[1]) <= Fraction(delta)
        for lower in (found.lower, accountant.epsilon_lower_bound(delta)):
            if lower > 0:
                before = growth(math.nextafter(lower, 0))[0]
                assert worst(mechanism, n, before) > Fraction(delta)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("unary(0.99, 0.98)", 1),
        ("laplace(1)", 1),
        ("rappor(6)", 2),
        ("oue(1)", 3),
        ("unary(1e-12, 1e-6, 3)", 4),  # worst if all others hold the second value
        ("discrete_laplace(3, 5)", 2),
        ("gaussian(10)", 1),
    ],
)
@pytest.mark.parametrize("delta", [0.01, 3e-7])
def test_never_above_the_multiset(text, n, delta):
    """The report of a single user is the sum, and next to the level all bounds are close."""
    sums, multiset = (ShuffleAccountant(text, n, view=view) for view in ("sum", "multiset"))
    assert sums.get_epsilon(delta) <= multiset.get_epsilon(delta)
    for epsilon in (0.0, 0.3):
        assert sums.get_delta(epsilon) <= multiset.get_delta(epsilon)
    assert sums.get_delta(sums.get_epsilon(delta)) <= delta


def test_all_others_may_have_to_hold_the_second_value():
    sums = ShuffleAccountant(UnaryEncoding(1e-12, 1e-6, 3), 4, view="sum")
    report = sums.delta_report(4.0)
    assert str(report.datasets) == "x1 = 0 vs 1, all others hold 1"
    assert report.guarantee.upper < 1.04 * report.lower_bound


@pytest.mark.parametrize("domain_size", [2, 4])
@pytest.mark.parametrize(
    ("p", "q"),
    [(0.9515029592180773, 0.28703588426544574), (0.9996629450552558, 0.09484997512083512)],
)
def test_a_level_that_was_rounded_up_is_no_lower_bound(p, q, domain_size):
    """The doubles next to these levels, of 40 digits, lie above them."""
    mechanism = UnaryEncoding(p=p, q=q, domain_size=domain_size)
    with mpmath.workdps(40):
        level = mpmath.log(mpmath.mpf(p) * (1 - mpmath.mpf(q)))
        level -= mpmath.log(mpmath.mpf(q) * (1 - mpmath.mpf(p)))
        for n in (1, 6):
            accountant = ShuffleAccountant(mechanism, n, view="sum")
            found = accountant.epsilon_interval(0.0)
            assert found.lower <= level <= found.upper
            assert accountant.epsilon_lower_bound(0.0) <= level
