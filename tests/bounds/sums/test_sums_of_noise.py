"""What sums of noise reveal, in balls: fractions, Bessel functions, and one method by the other."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import arb, ctx, fmpq

from shuffledp.bounds.root import epsilon_above, epsilon_below
from shuffledp.bounds.sums import noise as noise_sum
from shuffledp.bounds.sums.few import FewGeometric
from shuffledp.bounds.sums.noise import enclose_geometric_sum, enclose_laplace_sum
from shuffledp.bounds.sums.shift import enclose_shift
from shuffledp.bounds.sums.sum_curves import NoisySum, laplace_noise
from shuffledp.engine.enclosure import PrecisionError

mpmath = pytest.importorskip("mpmath")

RTOL = 1e-15


def enclose(function, *question):
    """The ends of an enclosure, with as many bits as it takes."""
    for bits in (128, 256, 512, 1024):
        with ctx.workprec(bits):
            try:
                found = function(*question, RTOL)
            except PrecisionError:
                continue
            return Fraction(str(found.lower.fmpq())), Fraction(str(found.upper.fmpq()))
    raise AssertionError("1024 bits are not enough")


def agrees(ends, value, rtol):
    lower, upper = ends
    value = Fraction(value)
    assert lower * Fraction(1 - rtol) <= value <= upper * Fraction(1 + rtol)
    assert upper - lower <= Fraction(2e-15) * upper


#: So fine that noise on the grid reveals hardly more than noise with a density.
GRID = 1 << 20

LAPLACE = [
    (1, 1, "0.5", 0.221199216928595),
    (2, 1, "0.3", 0.127572657175195),
    (10, 1, "0.2", 0.0255168329989362),
    (10, 4, "1", 0.0882297465264144),
    (100, 1, "0.2", 4.04998359921864e-5),
    (1000, 1, "0.1", 1.58690409722513e-8),
    (1000, 3, "0.25", 1.62464728171365e-6),
    (4000, 0.5, "0.02", 2.37629987792008e-7),
    (10**12, 1, "0.000003181980515339464", 4.908828259470e-13),
]


@pytest.mark.heavy(keep=9)
@pytest.mark.parametrize(("n", "epsilon0", "epsilon", "value"), LAPLACE)
def test_reference_values_of_laplace_noise(n, epsilon0, epsilon, value):
    ends = enclose(enclose_geometric_sum, Fraction(epsilon0), GRID, n, Fraction(epsilon))
    agrees(ends, value, 1e-9)


GEOMETRIC = [
    (1, 1, 1, "0.3", 0.368025632271708),
    (5, 1, 3, "0.2", 0.061917207927957),
    (20, 2, 4, "0.5", 0.00894363130488837),
    (50, 1, 10, "0.15", 0.0030315373224092),
    (100, 1, 1, "0.3", 1.03292140691235e-7),
]


@pytest.mark.parametrize(("n", "epsilon0", "bound", "epsilon", "value"), GEOMETRIC)
def test_reference_values_of_discrete_laplace_noise(n, epsilon0, bound, epsilon, value):
    ends = enclose(enclose_geometric_sum, Fraction(epsilon0), bound, n, Fraction(epsilon))
    agrees(ends, value, 1e-13)


def bessel_delta(n, epsilon0, epsilon):
    """Delta of a shift of the sum of n Laplace variables, whose density is a Bessel function's."""
    with mpmath.workdps(40):
        level, growth = mpmath.mpf(epsilon0), mpmath.exp(mpmath.mpf(epsilon))
        order = mpmath.mpf(n) - 0.5
        scale = mpmath.sqrt(mpmath.pi) * mpmath.mpf(2) ** order * mpmath.gamma(n)

        def density(t):
            t = abs(t)
            if t == 0:
                return mpmath.gamma(order) / (2 * mpmath.sqrt(mpmath.pi) * mpmath.gamma(n))
            return t**order * mpmath.besselk(order, t) / scale

        def difference(t):
            return density(t - level) - growth * density(t)

        spread = mpmath.sqrt(2 * n)
        low, high = level / 2, level / 2 + 1
        while difference(high) < 0:
            low, high = high, high + spread
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if difference(middle) < 0 else (low, middle)
        places = sorted({high, max(high, level), *(high + level + spread * k for k in (4, 12, 40))})
        places.append(places[-1] + 100)  # what is beyond is below e^-100
        return mpmath.quad(difference, places)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize(
    ("n", "epsilon0", "epsilon"),
    [(2, 1, "0"), (3, 2, "1.5"), (65, 1, "0.25"), (7, 0.25, "0.1"), (30, 4, "0"), (150, 2, "0.5")],
)
def test_laplace_noise_against_bessel_functions(n, epsilon0, epsilon):
    ends = enclose(enclose_geometric_sum, Fraction(epsilon0), GRID, n, Fraction(epsilon))
    truth = bessel_delta(n, epsilon0, epsilon)
    agrees(ends, mpmath.nstr(truth, 25), 1e-9)
    assert ends[0] > Fraction(mpmath.nstr(truth, 25))


def geometric_delta(alpha, bound, n, growth, reach):
    """Delta of the sum of n two-sided geometric variables, up to alpha^reach, in fractions."""
    one = {z: (1 - alpha) / (1 + alpha) * alpha ** abs(z) for z in range(-reach, reach + 1)}
    law = {0: Fraction(1)}
    for _ in range(n):
        after = {}
        for x, p in law.items():
            for z, q in one.items():
                if abs(x + z) <= reach:
                    after[x + z] = after.get(x + z, 0) + p * q
        law = after
    return sum(
        max(law.get(k - bound, 0) - growth * law.get(k, 0), Fraction(0))
        for k in range(-reach, reach + 1)
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("bound", "growth"), [(1, Fraction(3, 2)), (2, Fraction(1)), (3, Fraction(2)), (5, Fraction(1))]
)
def test_few_geometric_variables_against_fractions(n, bound, growth):
    alpha, reach = Fraction(1, 4), 45
    truth = geometric_delta(alpha, bound, n, growth, reach)
    with ctx.workprec(256):
        sums = FewGeometric(n, arb(4).log(), bound, arb(fmpq(growth.numerator, growth.denominator)))
        found = enclose_shift(sums, 1, 1, RTOL)
    lower, upper = (Fraction(str(end.fmpq())) for end in (found.lower, found.upper))
    missing = Fraction(1, 10**20)  # what is beyond the reach, many times
    assert lower - missing <= truth <= upper + missing
    assert upper - lower <= Fraction(1, 10**14) * upper


@pytest.mark.parametrize("epsilon", ["0", "0.02", "0.3", "0.9"])
@pytest.mark.parametrize("n", [40, 64, 150])
def test_both_methods_agree(n, epsilon, monkeypatch):
    questions = [
        (enclose_geometric_sum, Fraction(1), GRID, n, Fraction(epsilon)),
        (enclose_geometric_sum, Fraction(1), 1, n, Fraction(epsilon)),
        (enclose_geometric_sum, Fraction(1), 6, n, Fraction(epsilon)),
    ]
    for question in questions:
        both = []
        for few in (10**6, 30):
            monkeypatch.setattr(noise_sum, "_FEW", few)
            both.append(enclose(*question))
        (low, high), (lower, upper) = both
        assert low <= upper
        assert lower <= high
        assert max(high, upper) - min(low, lower) <= Fraction(4e-15) * max(high, upper)


def test_a_level_is_its_own_guarantee():
    for epsilon in (Fraction(1), Fraction(5, 4)):
        for n in (1, 3, 10**6):
            assert enclose(enclose_geometric_sum, Fraction(1), GRID, n, epsilon) == (0, 0)
            assert enclose(enclose_geometric_sum, Fraction(1), 3, n, epsilon) == (0, 0)


def test_next_to_the_level_something_is_known():
    below = Fraction(1) - Fraction(1, 10**18)
    for n in (1, 2, 500, 10**9):
        for ends in (
            enclose(enclose_geometric_sum, Fraction(1), GRID, n, below),
            enclose(enclose_geometric_sum, Fraction(1), 3, n, below),
        ):
            assert 0 <= ends[0] < ends[1] <= Fraction(1, 10**17)


def test_what_is_too_small_to_be_written_is_bounded_by_fewer_users():
    """Both bounds are those of a smaller n, which has a larger delta."""
    for question in (
        (enclose_geometric_sum, Fraction(1), GRID, 10**9, Fraction(1, 2)),
        (enclose_geometric_sum, Fraction(1), 5, 10**9, Fraction(1, 2)),
    ):
        lower, upper = enclose(*question)
        assert lower == 0
        assert 0 < upper < Fraction(1, 10**1000)


@pytest.mark.parametrize("n", [1, 2, 64])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-9])
def test_epsilons_are_narrow(n, delta):
    curve = NoisySum(laplace_noise(1.0, GRID, n))
    upper, lower = (find(curve, delta, 1e-4).epsilon for find in (epsilon_above, epsilon_below))
    assert lower <= upper <= lower * (1 + 1.5e-4)


def test_more_users_and_larger_epsilons_never_hurt():
    two = Fraction(2)
    for bound in (3, GRID):
        of_n = [
            enclose(enclose_geometric_sum, two, bound, n, Fraction(1, 4))
            for n in (1, 2, 63, 64, 65, 66, 300)
        ]
        of_epsilon = [
            enclose(enclose_geometric_sum, two, bound, 80, Fraction(k, 8)) for k in range(17)
        ]
        for ends in (of_n, of_epsilon):
            assert all(after[0] <= before[1] for before, after in pairwise(ends))
        assert of_epsilon[-1] == (0, 0)


def test_one_number_is_known_before_it_is_rounded():
    for epsilon in (Fraction(0), Fraction(1, 3)):
        ends = enclose(enclose_laplace_sum, Fraction(2), 64, 1, epsilon)
        agrees(ends, -math.expm1((float(epsilon) - 2) / 2), 1e-14)
        assert ends[1] <= enclose(enclose_geometric_sum, Fraction(2), 64, 1, epsilon)[1]


def test_an_attacker_of_laplace_noise_does_not_do_better_with_another_threshold():
    """Every threshold of one variable, on a fine grid, is at most the bound."""
    _, upper = enclose(enclose_geometric_sum, Fraction(2), GRID, 1, Fraction(1, 2))
    for i in range(400):
        t = i / 100
        near = 1 - math.exp(t - 2) / 2 if t < 2 else math.exp(2 - t) / 2
        assert near - math.exp(0.5) * math.exp(-t) / 2 <= float(upper) + 1e-14
