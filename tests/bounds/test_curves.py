"""Curves combine by largest, smallest and plus; the search from delta to epsilon keeps its word."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import (
    NOTHING,
    UNKNOWN,
    Curve,
    Deferred,
    Proved,
    Remembered,
    largest,
    smallest,
)
from shuffledp.bounds.root import delta_above, delta_below, epsilon_above, epsilon_below


@dataclass
class Known(Curve):
    """A curve whose exact values are given, proved up to ``slack`` and estimated badly."""

    exact: Callable[[float], float]
    last: float = math.inf
    slack: float = 0.0
    bias: float = 0.0
    where: object = None
    proofs: int = 0

    def above(self, epsilon: float) -> Proved:
        self.proofs += 1
        log = -math.inf if epsilon >= self.last else self.exact(epsilon) + self.slack
        return Proved(log, self.where)

    def below(self, epsilon: float) -> Proved:
        self.proofs += 1
        log = -math.inf if epsilon >= self.last else self.exact(epsilon) - self.slack
        return Proved(log, self.where)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        return self.exact(epsilon) + self.bias * math.sin(40 * epsilon)

    @property
    def end(self) -> Interval:
        return Interval(self.last, self.last)

    def __str__(self) -> str:
        return f"known({self.where})"


def line(steepness: float, start: float = 0.0, **options: object) -> Known:
    return Known(lambda epsilon: start - steepness * epsilon, **options)  # type: ignore[arg-type]


CURVES = st.builds(
    lambda steep, bend, start, slack, bias, last: Known(
        lambda e: start - steep * e - bend * e * e, last, slack, bias
    ),
    st.floats(0.01, 1e6),
    st.floats(0, 1e6),
    st.floats(-30, 0),
    st.sampled_from([0.0, 1e-9, 1e-4, 0.1, 3.0]),
    st.sampled_from([0.0, 1e-6, 0.01, 1.0, 30.0]),
    st.sampled_from([math.inf, 1e-6, 0.5, 20.0]),
)
DELTAS = st.floats(-500, -1e-9).map(math.exp)


@given(CURVES, DELTAS)
@settings(max_examples=400)
def test_whatever_is_estimated_roots_are_proved(curve: Known, delta: float) -> None:
    upper, lower = epsilon_above(curve, delta, 1e-4), epsilon_below(curve, delta, 1e-4)
    if upper.epsilon <= 300:
        assert delta_above(curve.above(upper.epsilon).log) <= delta
    if lower.epsilon > 0:
        assert delta_below(curve.below(lower.epsilon).log) >= delta
    if curve.slack == 0:
        assert lower.epsilon <= upper.epsilon
    assert curve.proofs <= 120


@given(st.floats(0.5, 1e4), st.floats(1e-12, 0.5))
def test_good_estimates_need_few_proofs(steepness: float, delta: float) -> None:
    curve = line(steepness, slack=1e-6)
    exact = -math.log(delta) / steepness
    if exact > 200:
        return
    upper, lower = epsilon_above(curve, delta, 1e-4), epsilon_below(curve, delta, 1e-4)
    assert exact * (1 - 1e-9) <= upper.epsilon <= exact * (1 + 1e-4) + 1e-6
    assert exact * (1 - 1e-4) - 1e-6 <= lower.epsilon <= exact * (1 + 1e-9)
    assert curve.proofs <= 8


def test_the_ends_of_the_scale() -> None:
    curve = line(1.0, last=2.0)
    assert epsilon_above(curve, 1.0, 1e-4).epsilon == epsilon_below(curve, 1.0, 1e-4).epsilon == 0
    assert epsilon_above(curve, 0.0, 1e-4).epsilon == epsilon_below(curve, 0.0, 1e-4).epsilon == 2
    assert epsilon_above(curve, 1e-3, 1e-4).epsilon == 2.0  # it never falls so low before its end
    assert epsilon_above(UNKNOWN, 0.1, 1e-4).epsilon == math.inf
    assert epsilon_below(UNKNOWN, 0.1, 1e-4).epsilon == 0.0


def test_a_delta_that_never_ends_makes_epsilon_infinite() -> None:
    class Exposed(Known):
        @property
        def floor(self) -> float:
            return math.log(0.25)

    curve = Exposed(lambda epsilon: math.log(0.25 + 0.5 * math.exp(-epsilon)))
    assert epsilon_below(curve, 0.2, 1e-4).epsilon == math.inf
    assert epsilon_below(curve, 0.3, 1e-4).epsilon == pytest.approx(math.log(10), rel=1e-3)
    assert epsilon_above(curve, 0.2, 1e-4).epsilon == math.inf


def test_the_largest_curve_is_found_without_proving_all() -> None:
    steep = [line(k, where=k) for k in range(5, 0, -1)]
    for curve in steep:
        curve.quick = lambda epsilon, c=curve: c.exact(epsilon) + 0.3  # type: ignore[method-assign]
    both = largest(steep)
    assert both.above(1.0) == Proved(-1.0, 1)
    assert sum(curve.proofs for curve in steep) == 1
    assert both.below(1.0) == Proved(-1.0, 1)
    assert both.estimate(1.0, Proved(-1.0, 3)) == -3.0  # what decided nearby
    assert both.end == Interval(math.inf, math.inf)
    assert str(largest(steep[:2])) == "largest(known(5), known(4))"


def test_a_quick_bound_that_says_little_hides_no_curve() -> None:
    curves = [line(2.0, where="a"), line(1.0, where="b")]
    assert largest(curves).above(1.0).where == "b"  # no quick bound: both are proved
    assert largest([]).above(0.0) == NOTHING
    assert largest([]).end == Interval(0.0, 0.0)


def test_where_nothing_is_revealed_something_is_named() -> None:
    nothing = [line(math.inf, where=name) for name in "ab"]
    assert largest(nothing).below(1.0).where in ("a", "b")


def test_below_looks_further_where_a_proof_falls_short_of_its_estimate() -> None:
    vague, sharp = line(1.0, slack=5.0, where="vague"), line(1.1, where="sharp")
    assert largest([vague, sharp]).below(1.0) == Proved(-1.1, "sharp")


def test_the_smallest_curve_is_proved_and_what_may_be_smaller() -> None:
    far, near, best = line(1.0), line(2.96), line(3.0)
    assert smallest([far, near, best]).above(1.0).log == -3.0
    assert (far.proofs, near.proofs, best.proofs) == (0, 1, 1)
    with pytest.raises(ValueError, match="at least one curve"):
        smallest([])


def test_a_risk_is_added() -> None:
    risked = line(1.0).plus(0.25)
    assert math.exp(risked.above(2.0).log) == pytest.approx(math.exp(-2) + 0.25)
    assert math.exp(risked.below(2.0).log) <= math.exp(risked.above(2.0).log)
    assert str(risked) == "known(None) + 0.25"
    assert line(1.0).plus(0.0).above(1.0).log == -1.0


def test_points_are_proved_once_and_curves_are_made_late() -> None:
    curve, made = line(1.0), []

    def make() -> Curve:
        made.append(1)
        return curve

    remembered = Remembered(Deferred(make, "pair"))
    assert (remembered.where, made) == ("pair", [])
    assert [remembered.above(0.5).log for _ in range(3)] == [-0.5] * 3
    assert (curve.proofs, len(made)) == (1, 1)
    assert remembered.quick(0.5) == -0.5
