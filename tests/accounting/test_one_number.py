"""One noisy number is its own sum: both views are one closed form, in agreement with mpmath."""

from __future__ import annotations

import math
import warnings

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import Interval, Rounds, ShuffleAccountant, certify, parse, verify
from shuffledp.accounting.choice import choose
from shuffledp.accounting.crowd import Crowd
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.bounds.sums.noise import geometric_log_delta
from shuffledp.mechanisms import Laplace

TEXTS = (
    "laplace(epsilon0=1)",
    "laplace(epsilon0=20)",
    "laplace(epsilon0=1e-9)",
    "gaussian(sigma=0.3)",
    "gaussian(sigma=2)",
    "gaussian(sigma=1e5)",
    "discrete_laplace(epsilon0=1, bound=1)",
    "discrete_laplace(epsilon0=1, bound=10)",
    "discrete_laplace(epsilon0=6, bound=3)",
)
DELTAS = (0.0, 1e-300, 1e-15, 1e-6, 0.01, 0.3, 0.999, 1.0)


def exact_log_delta(randomizer, epsilon: float) -> mpmath.mpf:
    """Return log delta of one report in 60 digits; minus infinity for 0."""
    if epsilon >= randomizer.epsilon0:
        return mpmath.mpf("-inf")
    with mpmath.workdps(60):
        eps = mpmath.mpf(epsilon)
        if randomizer.name == "gaussian":
            s = mpmath.mpf(randomizer.sigma)
            with mpmath.extradps(int((epsilon * randomizer.sigma) ** 2 / 4)):
                near, far = (
                    mpmath.erfc((eps * s + side / (2 * s)) / mpmath.sqrt(2)) / 2 for side in (-1, 1)
                )
                delta = near - mpmath.exp(eps) * far
        elif randomizer.name == "laplace":
            delta = -mpmath.expm1((eps - mpmath.mpf(randomizer.epsilon0)) / 2)
        else:
            bound, rate = randomizer.bound, mpmath.mpf(randomizer.epsilon0) / randomizer.bound
            alpha = mpmath.exp(-rate)

            def tail(k: int) -> mpmath.mpf:
                return alpha**k / (1 + alpha) if k > 0 else 1 - alpha ** (1 - k) / (1 + alpha)

            delta = max(tail(t - bound) - mpmath.exp(eps) * tail(t) for t in range(bound + 2))
        return mpmath.log(delta) if delta > 0 else mpmath.mpf("-inf")


def epsilons(randomizer):
    if randomizer.name == "gaussian":
        wanted = [0.0, *(u / randomizer.sigma for u in (1e-9, 0.1, 1.0, 7.0, 40.0))]
        return [epsilon for epsilon in (*wanted, 150.0) if epsilon * randomizer.sigma < 50]
    top = randomizer.epsilon0
    parts = (0.0, 1e-12, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9, 1.0)
    return sorted({top * part for part in parts} | {math.nextafter(top, 0.0), 300.0})


@pytest.mark.parametrize("text", TEXTS)
def test_deltas_are_those_of_mpmath_in_both_views(text):
    randomizer = parse(text)
    views = [ShuffleAccountant(randomizer, 1, view=view) for view in ("multiset", "sum")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for epsilon in epsilons(randomizer):
            found, same = (one.log_delta_interval(epsilon) for one in views)
            assert found == same
            wanted = exact_log_delta(randomizer, epsilon)
            assert found.lower <= wanted <= found.upper
            assert views[0].get_delta(epsilon) == views[1].get_delta(epsilon)
            assert views[0].delta_lower_bound(epsilon) == views[1].delta_lower_bound(epsilon)


@pytest.mark.parametrize("bound", ["best", "blanket"])
@pytest.mark.parametrize("text", TEXTS)
def test_epsilons_are_the_same_in_both_views_and_keep_their_word(text, bound):
    randomizer = parse(text)
    shuffled, added = (
        ShuffleAccountant(randomizer, 1, bound=bound, view=view) for view in ("multiset", "sum")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for delta in DELTAS:
            found = shuffled.epsilon_interval(delta)
            assert found == added.epsilon_interval(delta)
            assert shuffled.epsilon_lower_bound(delta) == added.epsilon_lower_bound(delta)
            assert found.lower <= found.upper <= randomizer.epsilon0
            if found.upper <= 300:
                assert shuffled.get_delta(found.upper) <= delta
                assert shuffled.meets(found.upper, delta)
                assert exact_log_delta(randomizer, found.upper) <= mpmath.log(delta or 5e-324)
            if 0 < found.lower <= 300 and delta > 0:
                below = found.lower * (1 - 1e-12)
                assert exact_log_delta(randomizer, below) >= mpmath.log(delta)
    assert shuffled.get_epsilon(0.0) == randomizer.epsilon0


@pytest.mark.filterwarnings("ignore::shuffledp.basics.errors.AccuracyWarning")
@pytest.mark.parametrize("text", TEXTS)
def test_the_engine_of_the_multiset_agrees(text):
    """The enclosure that many reports have, asked about one."""
    randomizer = parse(text)
    blanket = choose(randomizer, Crowd(1), "multiset", "blanket", 1e-4).blanket
    accountant = ShuffleAccountant(randomizer, 1)
    for part in (0.0, 0.3, 0.8):
        epsilon = part * min(randomizer.epsilon0, 5.0)
        engine = Interval(blanket.below(epsilon).log, blanket.above(epsilon).log)
        found = accountant.log_delta_interval(epsilon)
        assert engine.lower <= found.upper
        assert found.lower <= engine.upper


@pytest.mark.heavy
@pytest.mark.parametrize("n", [1, 2, 20])
@pytest.mark.parametrize(
    "text", ["discrete_laplace(epsilon0=1, bound=3)", "gaussian(sigma=0.5)", "laplace(epsilon0=1)"]
)
def test_sums_reveal_no_more_than_multisets(text, n):
    shuffled, added = (ShuffleAccountant(text, n, view=view) for view in ("multiset", "sum"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for epsilon in (0.0, 0.3 * min(shuffled.randomizer.epsilon0, 9.0)):
            assert added.get_delta(epsilon) <= shuffled.get_delta(epsilon)
        for delta in (1e-12, 1e-3):
            assert added.get_epsilon(delta) <= shuffled.get_epsilon(delta)


@settings(max_examples=300)
@given(
    epsilon0=st.floats(1e-6, 200.0),
    bound=st.integers(1, 40),
    part=st.one_of(st.floats(0.0, 1.0), st.floats(1 - 1e-9, 1.0)),
)
def test_one_geometric_variable(epsilon0, bound, part):
    epsilon = epsilon0 * part
    found = geometric_log_delta(epsilon0, bound, 1, epsilon)
    with mpmath.workdps(60):
        alpha = mpmath.exp(-mpmath.mpf(epsilon0) / bound)
        growth = mpmath.exp(mpmath.mpf(epsilon))

        def mass(k: int) -> mpmath.mpf:
            return alpha ** abs(k) * (1 - alpha) / (1 + alpha)

        # Beyond the shift the ratio stays; what is there has the mass of a tail.
        inner = sum(max(mass(k - bound) - growth * mass(k), 0) for k in range(1, bound))
        outer = max(1 / (1 + alpha) - growth * alpha**bound / (1 + alpha), 0)
        wanted = mpmath.mpf("-inf") if epsilon >= epsilon0 else mpmath.log(inner + outer)
    assert found.lower <= wanted <= found.upper
    assert found.width < 1e-8


def test_reports_say_which_bound_it_is():
    best, blanket = (ShuffleAccountant("laplace(1)", 1, bound=b) for b in ("best", "blanket"))
    assert best.epsilon_report(1e-3).bound == "exact"
    assert blanket.epsilon_report(1e-3).bound == blanket.delta_report(0.1).bound == "blanket"
    assert blanket.proved_log_delta(0.1) == (best.proved_log_delta(0.1)[0], "blanket")
    assert best.epsilon_report(1e-3).rtol_reached
    assert best.epsilon_report(1e-3).view_in_words == "the shuffled multiset of whole reports"


def test_the_only_honest_user_is_alone():
    alone = ShuffleAccountant("gaussian(2)", 1)
    for view in ("multiset", "sum"):
        others = ShuffleAccountant("gaussian(2)", 50, corrupted=49, view=view)
        assert others.epsilon_interval(1e-4) == alone.epsilon_interval(1e-4)
    some = ShuffleAccountant("gaussian(2)", 50, corrupted=48, corrupted_adaptively=1)
    assert some.get_epsilon(1e-4) >= some.epsilon_lower_bound(1e-4)
    assert some.get_epsilon(1e-4) == pytest.approx(alone.get_epsilon(1e-4), rel=1e-3)


class Skewed(Laplace):
    """A class derived from the Laplace mechanism, which may state another law."""


def test_derived_classes_are_asked_themselves():
    assert ShuffleAccountant(Skewed(1.0), 1).epsilon_report(1e-3).bound != "exact"


@pytest.mark.heavy
def test_one_number_is_certified_as_a_multiset():
    for bound in ("best", "blanket"):
        certificate = certify("laplace(epsilon0=1)", n=1, target_delta=1e-2, bound=bound)
        assert certificate.bound == "blanket"
        verify(certificate)
        certificate = certify("laplace(epsilon0=1)", n=1, target_epsilon=0.5, bound=bound)
        assert float(certificate.guarantee.delta) == pytest.approx(-math.expm1(-0.25), rel=1e-3)


@pytest.mark.heavy
def test_rounds_of_one_number():
    """Two numbers of normal noise are one of less noise."""
    rounds = Rounds([(ShuffleAccountant("gaussian(sigma=2)", 1), 4)])
    found = rounds.epsilon_interval(1e-3)
    wanted = ShuffleAccountant("gaussian(sigma=1)", 1).get_epsilon(1e-3)
    assert found.lower <= wanted <= found.upper * (1 + 1e-9)
