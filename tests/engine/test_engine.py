"""What the engine encloses, against sums in fractions: whatever is proposed, however it is done."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from exact import law_of, laws, mean_of, sum_of
from flint import arb
from hypothesis import assume, given
from hypothesis import strategies as st

from shuffledp.basics.balls import lower_double, precision, upper_double
from shuffledp.engine.contour import Contour
from shuffledp.engine.enumeration import Enumeration
from shuffledp.engine.jumps import Jumps
from shuffledp.engine.mean import log_mean
from shuffledp.engine.proposals import Doubles, Plan
from shuffledp.engine.sums import Block, Law, Sum

BLOCKS = st.lists(st.tuples(laws(3), st.integers(1, 5)), min_size=1, max_size=2)
OFFSETS = st.fractions(-5, 5, max_denominator=8)
CURVATURES = st.sampled_from([0, 1])


def sum_and_mean(blocks, offset, curvature):
    with precision():
        parts = tuple(Block(law_of(atoms), times) for atoms, times in blocks)
        mean = Sum(parts, arb(offset.numerator) / offset.denominator, curvature)
    return mean, mean_of(sum_of(*blocks), offset, curvature)


@given(
    blocks=BLOCKS,
    offset=OFFSETS,
    curvature=CURVATURES,
    theta=st.floats(0.01, 20),
    tau=st.floats(0.01, 3),
    step=st.floats(0.01, 2),
    nodes=st.integers(1, 400),
    negligible=st.floats(-40, 0),
    share=st.floats(0.01, 0.99),
    further=st.floats(0.01, 5),
)
def test_any_proposal_is_valid(
    blocks, offset, curvature, theta, tau, step, nodes, negligible, share, further
):
    mean, exact = sum_and_mean(blocks, offset, curvature)
    aliases = theta + further, share * theta
    assume(aliases[1] < theta < aliases[0])
    with precision():
        contour = Contour(mean, Plan(theta, tau, step, nodes, negligible, aliases))
        factor = contour.log_factor.exp()
        assert not contour.upper() * factor < exact
        assert not contour.lower() * factor > exact


@given(
    atoms=laws(4),
    times=st.integers(1, 6),
    level=st.fractions(-3, 3, max_denominator=4),
    rtol=st.sampled_from([1e-6, 1e-2, 1.0]),
)
def test_any_level_of_what_is_rare_is_valid(atoms, times, level, rtol):
    with precision():
        law = law_of(atoms)
    exact = mean_of(sum_of((atoms, times)), Fraction(0), 0)
    found = log_mean(Sum.of(law, times), rtol, float(level))
    with precision():
        if found.lower > -math.inf:
            assert not arb(found.lower).exp() > exact
        assert not (arb(found.upper).exp() if found.upper > -math.inf else arb(0)) < exact
        jumps = Jumps.at(law, times, float(level))
        for most in range(times):
            parts = list(jumps.terms(most))
            assert all(part.times and sum(part.times) == times for _, part in parts)
            upper = sum((w * arb(found_of(p).upper).exp() for w, p in parts), jumps.rest(most))
            assert not upper < exact


def found_of(part):
    return log_mean(part, 1e-3)


@pytest.mark.parametrize("aliases", [(0.5, 0.7), (1.5, 2.0), (1.5, 0.0), (1.0, 0.5)])
def test_aliases_that_bound_nothing_are_refused(aliases):
    with precision():
        mean, _ = coin()
        with pytest.raises(ValueError, match="theta between aliases"):
            Contour(mean, Plan(1.0, 0.1, 0.1, 10, -20.0, aliases))


def coin():
    half = Fraction(1, 2)
    return sum_and_mean([({half: half, -half: half}, 2)], Fraction(0), 0)


@given(blocks=BLOCKS, offset=OFFSETS, curvature=CURVATURES, rtol=st.floats(1e-6, 1e-2))
def test_means_are_enclosed_and_narrow(blocks, offset, curvature, rtol):
    mean, exact = sum_and_mean(blocks, offset, curvature)
    found = log_mean(mean, rtol)
    if exact == 0:
        assert found.lower == -math.inf
        return
    with precision():
        log = exact.log()
    assert found.lower <= upper_double(log)
    assert found.upper >= lower_double(log)
    assert found.width <= 3 * rtol + 1e-12


@given(
    blocks=BLOCKS,
    offset=OFFSETS,
    curvature=CURVATURES,
    theta=st.floats(0.01, 20),
    rtol=st.floats(1e-6, 10),
    log=st.floats(-200, 5),
)
def test_any_windows_are_valid(blocks, offset, curvature, theta, rtol, log):
    mean, exact = sum_and_mean(blocks, offset, curvature)
    doubles = Doubles.of(mean)
    doubles.__dict__["theta"] = theta
    with precision():
        found, log_factor = Enumeration(mean, doubles, rtol, log).enclose()
        assert not found.upper * log_factor.exp() < exact
        assert not found.lower * log_factor.exp() > exact


@pytest.mark.parametrize("n", [3, 10**3, 10**9, 10**15])
def test_many_users(n):
    """A coin: E of the positive part of a walk is about sqrt(n / 2 pi)."""
    mean, _ = coin()
    found = log_mean(Sum.of(mean.laws[0], 4 * n), 1e-4)
    assert found.width <= 2e-4
    expected = math.log(math.sqrt(4 * n / (2 * math.pi)) / 2)
    assert abs(found.upper - expected) <= 1 / n + 3e-4


def test_what_is_above_zero_by_rounding_only() -> None:
    law = Law.of([(arb(0, 1e-30), arb(0.5)), (arb(-1), arb(0.5))])
    found = log_mean(Sum.of(law, 3), 1e-4)
    assert found.lower == -math.inf
    assert math.log(3e-30) <= found.upper <= math.log(3.1e-30)


@pytest.mark.parametrize("n", [2, 10, 10**6])
@pytest.mark.parametrize("rare", [Fraction(1, 10**20), Fraction(1, 10**60)])
def test_one_rare_gain(rare, n):
    """E (G_1 + ... + G_n)_+ of rare gains, each worth more than all that may be lost."""
    large = 1 / rare
    law = law_of({large: rare, Fraction(-1): 1 - rare})
    found = log_mean(Sum.of(law, n), 1e-6)
    with precision(600):  # the sum exceeds 0 if and only if some gain is rare
        none = (arb(1) - arb(1) * rare.numerator / rare.denominator) ** n
        log = (n * none + n * (arb(rare.numerator) / rare.denominator)).log()
    assert found.lower <= float(log) <= found.upper
    assert found.width <= 2e-6


@pytest.mark.heavy
def test_contours_end():
    """A plan of far too many nodes gives a wide answer in time, not a close one at some time."""
    mean, exact = coin()
    with precision():
        contour = Contour(mean, Plan(1e-3, 1e-3, 1e-6, 10**9, -40.0, (2e-3, 5e-4)))
        assert contour.evaluated <= 505_000
        assert not contour.upper() * contour.log_factor.exp() < exact
        assert not contour.lower() * contour.log_factor.exp() > exact
