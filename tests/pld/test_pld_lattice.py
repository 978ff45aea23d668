"""Loss laws on a lattice lie above the profile they come from, and close to it."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import mpmath
import pytest

from shuffledp import AccuracyWarning, ShuffleAccountant
from shuffledp.accounting.given import as_rounds
from shuffledp.outputs.pld.lattice import lattice_law
from shuffledp.outputs.pld.pld import upper_log_delta


def law_of(collected, width):
    rounds = as_rounds(collected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        end = rounds.epsilon_interval(0.0).upper
    return lattice_law(upper_log_delta(rounds), end, width)


def profile(law, width, epsilon):
    """The delta of a lattice law in 50 digits, its losses being exact multiples of the width."""
    terms = (
        mpmath.mpf(mass) * (1 - mpmath.exp(mpmath.mpf(epsilon) - place * mpmath.mpf(width)))
        for place, mass in law.masses.items()
        if place * mpmath.mpf(width) > epsilon
    )
    return mpmath.mpf(law.infinite) + mpmath.fsum(terms)


def local_profile(k, epsilon0, epsilon):
    """The exact delta of one user's k-ary randomized response, at any epsilon."""
    with mpmath.workdps(50):
        large = mpmath.exp(epsilon0) / (mpmath.exp(epsilon0) + k - 1)
        small = large / mpmath.exp(epsilon0)
        rest = (k - 2) * small
        scale = mpmath.exp(epsilon)
        return sum(max(a - scale * b, 0) for a, b in ((large, small), (small, large), (rest, rest)))


@pytest.mark.heavy(keep=7)
@pytest.mark.parametrize("width", [0.3, 0.01, 1 / 3, 1e-3])
@pytest.mark.parametrize(("k", "epsilon0"), [(2, 1.0), (5, 0.7)])
def test_one_user_exactly(k, epsilon0, width):
    law = law_of(ShuffleAccountant(f"krr(k={k}, epsilon0={epsilon0})", 1), width)
    with mpmath.workdps(50):
        for step in range(-60, 61):
            epsilon = step * epsilon0 / 50
            exact = local_profile(k, epsilon0, epsilon)
            assert profile(law, width, epsilon) >= exact
        assert profile(law, width, 0) <= local_profile(k, epsilon0, 0) * (1 + 2 * width)
    assert max(law.masses) * width <= epsilon0 + 2 * width
    assert law.infinite == 0


@pytest.mark.heavy
def test_masses_are_rounded_up():
    """They sum to 1 exactly, before they are doubles."""
    for width in (0.3, 0.01, 1 / 3):
        law = law_of(ShuffleAccountant("krr(k=3, epsilon0=1)", 7), width)
        assert sum(map(Fraction, law.masses.values())) + Fraction(law.infinite) >= 1


@pytest.mark.heavy
@pytest.mark.parametrize("times", [1, 3])
def test_several_users_and_rounds(times):
    rounds = ShuffleAccountant("krr(k=3, epsilon0=1)", 100).rounds(times)
    width = 1e-3
    law = law_of(rounds, width)
    for epsilon in (0.0, 0.03, 0.1, 0.3, 0.7):
        exact = rounds.delta_interval(epsilon)
        found = profile(law, width, epsilon)
        assert exact.lower <= found <= exact.upper * 1.03 + 1e-20
        # Complements of events: the law is for both orders of neighbours.
        reverse = 1 - math.exp(-epsilon) + math.exp(-epsilon) * exact.lower
        assert reverse * (1 - 1e-12) <= profile(law, width, -epsilon) <= reverse + 0.01


def test_a_coarse_lattice_is_valid_and_said():
    pytest.importorskip("dp_accounting")
    from shuffledp.outputs.pld import to_pld

    one = ShuffleAccountant("krr(k=3, epsilon0=1)", 10_000)
    with pytest.warns(AccuracyWarning, match="is coarse for losses that deviate by about 0.0"):
        made = to_pld(one, value_discretization_interval=0.1)
    assert made.get_delta_for_epsilon(0.01) >= one.delta_lower_bound(0.01)


@pytest.mark.heavy
def test_mass_at_infinity():
    leaky = ShuffleAccountant("matrix([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.1, 0.8, 0.1]])", 5)
    law = law_of(leaky, 0.01)
    assert law.infinite >= leaky.delta_lower_bound(300.0) > 0


def test_equal_rows_reveal_nothing():
    law = law_of(ShuffleAccountant("matrix([[0.5, 0.5], [0.5, 0.5]])", 5), 0.01)
    assert law.infinite == 0
    assert profile(law, 0.01, 0.01) <= 1e-15
