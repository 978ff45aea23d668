"""Delta of several independent loss laws against enumeration in fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import pytest
from exact_rounds import composed

from shuffledp.basics.interval import Interval
from shuffledp.bounds.rounds import ComposedBound, RoundProfile
from shuffledp.bounds.rounds.composition import Composition
from shuffledp.bounds.rounds.crossing import Guess, find_crossing
from shuffledp.bounds.rounds.loss_law import LossLaw, enclose

SIDES = ("lower", "upper")


def random_law(rng: random.Random, atoms: int, whole: bool = True) -> LossLaw:
    ratios = sorted({Fraction(rng.randint(10, 300), 100) for _ in range(atoms)})
    parts = [rng.randint(1, 9) for _ in ratios]
    infinite = rng.choice((0, 0, 1, 2))
    missing = 0 if whole else 1
    total = sum(parts) + infinite + missing
    masses = tuple(Fraction(part, total) for part in parts)
    return LossLaw(tuple(ratios), masses, Fraction(infinite, total))


def log(number: Fraction) -> mpmath.mpf:
    if number == 0:
        return -mpmath.inf
    return mpmath.log(mpmath.mpf(number.numerator) / number.denominator)


@pytest.mark.parametrize("seed", range(12))
def test_enclosures_contain_what_enumeration_finds(seed):
    rng = random.Random(seed)
    laws = [(random_law(rng, rng.randint(2, 4), seed % 3 > 0), times) for times in (3, 2)]
    chosen = laws[: 1 + seed % 2]
    copies = [law for law, times in chosen for _ in range(times)]
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(4)):
        epsilon = math.log(ratio)
        lower, upper = (Composition(chosen, s).log_delta(epsilon, 1e-6) for s in SIDES)
        exact = composed(copies, ratio)
        with mpmath.workdps(40):
            true = log(exact)
            slack = mpmath.mpf(10) ** -14 * (1 + abs(true)) if exact else 0
            assert lower - slack <= true <= upper + slack
        whole = all(law.kept + law.infinite == 1 for law, _ in chosen)
        if exact and whole:
            assert upper - lower <= 1e-5


def test_infinite_losses_of_many_rounds_add_up():
    tiny = Fraction(1, 2**60)
    law = LossLaw((Fraction(1),), (1 - tiny,), tiny)
    lower, many = (Composition([(law, 10**9)], side) for side in SIDES)
    delta = mpmath.log(10**9) - 60 * mpmath.log(2)
    assert lower.log_delta(1.0, 1e-6) <= delta <= many.log_delta(1.0, 1e-6) + 1e-9
    assert many.log_delta(1.0, 1e-6) - lower.log_delta(1.0, 1e-6) < 1e-8
    assert many.infinite.upper <= 10**9 * float(tiny) * (1 + 1e-12)
    assert many.infinite.lower >= 10**9 * float(tiny) * (1 - 1e-8)


def test_the_enclosure_of_a_fraction_is_exact():
    numbers = ("1/3", "2/3", "1/10", "1/5", "1/2", "0", "1")
    for number in map(Fraction, numbers):
        ends = enclose(number)
        assert Fraction(ends.lower) <= number <= Fraction(ends.upper)
        assert (ends.width == 0) == (number.denominator in (1, 2))


@pytest.mark.parametrize("root", [0.0, 1e-14, 1e-3, 0.7, 40.0, 99.999])
@pytest.mark.parametrize("guess", [-1.0, 0.0, 0.01, 50.0, 1e9])
def test_crossings_are_found_from_any_guess(root, guess):
    for slope in (-3.0, -1e-3, -1e6, -math.inf):
        low, high = find_crossing(
            lambda e: -((e - root) * 3) - (e - root) ** 3, 0.0, Guess(guess, slope), 100.0, 1e-6
        )
        assert low <= root <= high
        assert high - low <= 1e-6 * high


def test_a_crossing_that_does_not_exist():
    guess = Guess(5.0, -1.0)
    assert find_crossing(lambda e: 1.0, 0.0, guess, 10.0, 1e-6) == (10.0, math.inf)
    assert find_crossing(lambda e: -math.inf, 0.0, guess, 10.0, 1e-6) == (0.0, 0.0)


def test_from_the_largest_sum_on_delta_is_0():
    law = LossLaw((Fraction(1, 3), Fraction(3)), (Fraction(1, 4), Fraction(3, 4)), Fraction(0))
    for times in (1, 2, 1000, 10**9):
        upper = Composition([(law, times)], "upper")
        with mpmath.workdps(40):
            assert upper.largest >= times * mpmath.log(3)
        assert upper.log_delta(upper.largest, 1e-4) == -math.inf
        assert upper.largest <= times * math.log(3.0) * (1 + 1e-14)


def test_an_end_is_raised_until_everybody_finds_the_target_met(monkeypatch):
    bound = ComposedBound([(silent(), 2)], 1e-3, two_sided=False)
    monkeypatch.setattr(bound.upper, "epsilon", lambda target, halvings: 1.0)
    monkeypatch.setattr(
        bound.upper, "log_delta", lambda epsilon, halvings: -5.0 if epsilon > 1 + 1e-9 else -4.0
    )
    found = bound.epsilon(Interval(-5.0, -5.0))
    assert 1 + 1e-9 < found.upper < 1 + 1e-8
    monkeypatch.setattr(bound.upper, "log_delta", lambda epsilon, halvings: -4.0)
    assert bound.epsilon(Interval(-5.0, -5.0)).upper == math.inf


def silent() -> RoundProfile:
    nothing = Interval(-math.inf, -math.inf)
    return RoundProfile(lambda epsilon: nothing, lambda epsilon: nothing, 0.0, 1e-3)


KEPT = [Fraction(1, 10**30), Fraction(1, 10**10), Fraction(1, 3), 1 - Fraction(1, 10**12)]


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("times", [1, 3, 40])
def test_the_mass_of_finite_losses_counts(kept, times):
    """One loss of log 2 each: delta is known in closed form."""
    law = LossLaw((Fraction(2),), (kept,), Fraction(0))
    lower, upper = (Composition([(law, times)], side).log_delta(0.5, 1e-6) for side in SIDES)
    with mpmath.workdps(60):
        exact = times * log(kept) + mpmath.log1p(-mpmath.exp(0.5) / 2**times)
        assert lower <= exact <= upper
        assert upper - lower <= 1e-5


@pytest.mark.parametrize(("tiny", "times"), [(Fraction(1, 3 * 2**50), 1000), (Fraction(1, 3), 4)])
def test_the_probability_of_infinite_losses_is_enclosed(tiny, times):
    law = LossLaw((Fraction(2),), (1 - tiny,), tiny)
    found = Composition([(law, times)], "upper").infinite
    exact = 1 - (1 - tiny) ** times
    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.width <= 1e-14 * found.upper


def test_no_sum_is_larger_than_the_largest():
    law = LossLaw((Fraction(1, 3), Fraction(7, 3)), (Fraction(1, 2), Fraction(1, 2)), Fraction(0))
    other = LossLaw((Fraction(11, 7),), (Fraction(1),), Fraction(0))
    with mpmath.workdps(40):
        exact = 10**9 * log(Fraction(7, 3)) + 7 * log(Fraction(11, 7))
        assert exact <= Composition([(law, 10**9), (other, 7)], "upper").largest


@pytest.mark.parametrize("side", SIDES)
def test_a_loss_that_is_always_infinite(side):
    sure = LossLaw((), (), Fraction(1))
    other = LossLaw((Fraction(2),), (Fraction(1),), Fraction(0))
    composition = Composition([(sure, 2), (other, 3)], side)
    assert composition.infinite == Interval(1.0, 1.0)
    assert composition.log_delta(1.0, 1e-6) == 0


@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_close(seed):
    rng = random.Random(seed)
    composition = Composition([(random_law(rng, 4), 20)], "upper")
    for epsilon in (0.5, 3.0, 8.0):
        proved = composition.log_delta(epsilon, 1e-4)
        assert composition.estimate(epsilon) == pytest.approx(proved, abs=0.05)
