"""What is added to evaluations: bounds for one summand, division by n, cut mass, scales."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles import enumerated_delta

from shuffledp.decomposition import GPARV, Law
from shuffledp.divergence import (
    HINGE,
    BlockSum,
    LogEnclosure,
    elementary,
    engine,
    log_delta,
    log_delta_bound,
    log_mean,
    log_mean_positive,
    mean,
)
from shuffledp.divergence.contour import chernoff_log_mean
from shuffledp.divergence.elementary import (
    _all_at_their_largest,
    can_be_positive,
    elementary_log_mean,
    is_crowded,
    log_mean_single,
)
from shuffledp.divergence.enclosure import Sides
from shuffledp.divergence.engine import _delta
from shuffledp.divergence.jumps import DividedSum
from shuffledp.divergence.mean import _bound_with_jumps, _evaluate
from shuffledp.divergence.proposals.jumps import jump_levels
from shuffledp.divergence.rare import rare_log_mean


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


PLAIN = make_law([2.0, -2.5, 0.0, 0.5], [0.1, 0.15, 0.7, 0.05])
WIDER = make_law([3.0, -3.0, 0.0, 0.5], [0.1, 0.15, 0.7, 0.05])
VAGUE = Law(
    PLAIN.values,
    PLAIN.weights,
    np.array([0.1, 0.2, 0.0, 0.6]),
    np.array([1e-2, 3e-2, 0.0, 2e-2]),
)
HEAVY = make_law(
    [*(10.0**k for k in range(1, 9)), 1.0, -2.0],
    [*(10.0 ** (-3 * k - 2) for k in range(1, 9)), 0.5, 0.5],
)


@pytest.fixture
def no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementary, "UNIT", 0.0)


# -- one user -------------------------------------------------------------------------------------


def mean_above(law: Law, sign: int) -> float:
    """E G_+ with all errors taken upwards or downwards."""
    values = np.maximum(law.values + sign * law.value_error, 0.0)
    return float((law.weights * (1 + sign * law.weight_error)) @ values)


@pytest.mark.parametrize("scale", [1.0, 1e-65, 1e-300])
def test_the_mean_for_one_user_does_not_underflow(scale: float) -> None:
    law = make_law([scale, -1.0], [1e-280, 1.0])
    found = log_mean_single(law)
    assert found.lower < math.log(1e-280) + math.log(scale) < found.upper
    assert found.width < 1e-10


def test_what_underflows_is_counted_upwards() -> None:
    found = log_mean_single(make_law([1.0, 1e-200, -1.0], [1e-320, 1e-150, 1.0]))
    assert found.lower < math.log(1e-320) < found.upper
    assert log_mean_single(make_law([0.0, -1.0], [0.5, 0.5])).upper == -math.inf


@pytest.mark.usefixtures("no_rounding")
def test_the_mean_for_one_user_is_as_wide_as_its_errors() -> None:
    enclosure = log_mean_single(VAGUE)
    assert enclosure.upper == pytest.approx(math.log(mean_above(VAGUE, 1)), abs=1e-13)
    assert enclosure.lower == pytest.approx(math.log(mean_above(VAGUE, -1)), abs=1e-13)


def test_the_mean_for_one_user_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementary, "UNIT", 1e-6)
    enclosure = log_mean_single(PLAIN)
    exact = math.log(mean_above(PLAIN, 0))
    assert exact + 5e-6 <= enclosure.upper <= exact + 2e-5
    assert exact - 2e-5 <= enclosure.lower <= exact - 5e-6


def test_a_mean_that_may_be_zero() -> None:
    law = Law(np.array([0.1, -1.0]), np.array([0.5, 0.5]), np.array([0.2, 0.0]), np.zeros(2))
    assert log_mean_single(law).lower == -math.inf
    assert log_mean_single(law).upper == pytest.approx(math.log(0.15))
    nothing = make_law([-1.0, 0.0], [0.5, 0.5])
    assert log_mean_single(nothing) == LogEnclosure(-math.inf, -math.inf)


def test_values_that_may_be_negative_are_not_called_positive() -> None:
    def with_error(error: float) -> Law:
        return Law(np.array([-5.0, 1.0]), np.array([0.5, 0.5]), np.array([0.0, error]), np.zeros(2))

    assert can_be_positive(BlockSum.of((with_error(0.01), 3)))
    assert not can_be_positive(BlockSum.of((with_error(0.5), 3)))
    assert not can_be_positive(BlockSum.of((make_law([-1.0, 0.0], [0.5, 0.5]), 3)))


def test_elementary_bounds_that_suffice_are_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sums need bounds of half the tolerance each, because these add up."""
    recorder = Recorder(monkeypatch)
    lower, upper = BlockSum.of((PLAIN, 10)), BlockSum.of((WIDER, 10))
    bounds = {lower: LogEnclosure(-3.0, -2.9), upper: LogEnclosure(-2.8, -2.6)}
    monkeypatch.setattr(mean, "elementary_log_mean", bounds.__getitem__)
    assert log_mean_positive(lower, upper, rtol=0.5) == Sides(-3.0, -2.6)
    assert log_mean_positive(upper, upper, rtol=0.21) == Sides(-2.8, -2.6)
    assert not recorder.asked
    log_mean_positive(upper, upper, rtol=0.1)
    assert len(recorder.asked) == 1


def test_elementary_bounds_never_get_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    Recorder(monkeypatch)
    lower, upper = BlockSum.of((PLAIN, 10)), BlockSum.of((WIDER, 10))
    monkeypatch.setattr(mean, "elementary_log_mean", lambda _: LogEnclosure(0.9, 2.2))
    assert log_mean_positive(lower, upper, rtol=1e-4) == Sides(0.9, 2.2)


def test_a_sum_beyond_doubles_keeps_its_elementary_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> LogEnclosure:
        raise OverflowError

    monkeypatch.setattr(mean, "contour_log_mean", fail)
    monkeypatch.setattr(mean, "chernoff_log_mean", fail)
    total = BlockSum.of((PLAIN, 1000))
    assert log_mean(total, HINGE, rtol=1e-4) == rare_log_mean(total)
    single = log_mean_single(PLAIN).upper + math.log(1000)
    assert mean.log_mean_bound(total) == pytest.approx(single, abs=1e-12)


# -- from E S_+ to delta --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 7, 10**6])
def test_delta_is_the_mean_over_n_and_what_was_kept_apart(n: int) -> None:
    gparv = GPARV(PLAIN, PLAIN, 0.125, 0.25)
    delta = _delta(gparv, n, LogEnclosure(math.log(3.0), math.log(5.0)))
    assert delta.lower == pytest.approx(math.log(3.0 / n + 0.125), abs=1e-12)
    assert delta.upper == pytest.approx(math.log(5.0 / n + 0.25), abs=1e-12)
    assert delta.lower < math.log(3.0 / n + 0.125)
    assert delta.upper > math.log(5.0 / n + 0.25)


def test_the_division_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    gparv, total = GPARV(PLAIN, PLAIN, 0.0, 0.0), LogEnclosure(0.0, 0.0)
    plain = _delta(gparv, 10**6, total)
    monkeypatch.setattr(engine, "UNIT", 1e-6)
    rounded = _delta(gparv, 10**6, total)
    assert plain.lower - rounded.lower >= 2e-6 * math.log(10**6)
    assert rounded.upper - plain.upper >= 2e-6 * math.log(10**6)


def test_one_user_gets_both_sides_of_a_spread() -> None:
    one = log_delta(GPARV(PLAIN, WIDER, 0.0, 0.0), 1)
    assert one.lower == pytest.approx(math.log(mean_above(PLAIN, 0)), abs=1e-12)
    assert one.upper == pytest.approx(math.log(mean_above(WIDER, 0)), abs=1e-12)
    vague = log_delta(GPARV(VAGUE, VAGUE, 0.0, 0.0), 1)
    assert vague.lower == pytest.approx(math.log(mean_above(VAGUE, -1)), abs=1e-12)
    assert vague.upper == pytest.approx(math.log(mean_above(VAGUE, 1)), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_few_users(n: int) -> None:
    enclosure = log_delta(GPARV(PLAIN, PLAIN, 0.0, 0.0), n)
    exact = math.log(enumerated_delta(PLAIN, n))
    assert enclosure.lower <= exact <= enclosure.upper
    assert enclosure.width <= 1e-4


def test_many_users_never_get_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    gparv = GPARV(PLAIN, WIDER, 0.0, 0.0)
    alone = log_delta(gparv, 1)
    for many in (LogEnclosure(-30.0, alone.upper + 1), LogEnclosure(-30.0, alone.upper - 0.01)):
        monkeypatch.setattr(engine, "_log_delta_of_many", lambda *_, many=many: many)
        assert log_delta(gparv, 5) == LogEnclosure(-30.0, min(many.upper, alone.upper))

    def fail(*_: object) -> LogEnclosure:
        raise OverflowError

    monkeypatch.setattr(engine, "_log_delta_of_many", fail)
    assert log_delta(gparv, 5) == LogEnclosure(-math.inf, alone.upper)


class Recorder:
    """Stands for the evaluation of one sum, and remembers what was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[BlockSum, float]] = []
        monkeypatch.setattr(
            mean, "elementary_log_mean", lambda _: LogEnclosure(-math.inf, math.inf)
        )
        monkeypatch.setattr(mean, "_evaluate", self)

    def __call__(self, total: BlockSum, rtol: float) -> LogEnclosure:
        self.asked.append((total, rtol))
        return LogEnclosure(len(self.asked) - 0.25, len(self.asked) + 0.5)


def test_atoms_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(monkeypatch)
    total = BlockSum.of((PLAIN, 10))
    assert log_mean_positive(total, total, rtol=1e-4).enclosure == LogEnclosure(0.75, 1.5)
    assert recorder.asked == [(total, 1e-4)]


def test_a_spread_is_evaluated_from_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(monkeypatch)
    lower, upper = BlockSum.of((PLAIN, 10)), BlockSum.of((WIDER, 10))
    assert log_mean_positive(lower, upper, rtol=1e-4) == Sides(0.75, 2.5)
    assert recorder.asked == [(lower, 5e-5), (upper, 5e-5)]


@pytest.mark.parametrize("n", [1, 2, 50, 10**4])
def test_what_one_side_counts_as_singular_may_be_in_the_law_of_the_other(n: int) -> None:
    """The lower law alone then has the larger mean; only with the singular part is it below."""
    zeros = np.zeros(3)
    lower = Law(np.array([1e6, -1.0, 0.0]), np.array([1e-7, 0.1, 0.9 - 1e-7]), zeros, zeros)
    upper = Law(np.array([0.0, -1.0, 0.0]), np.array([1e-7, 0.1, 0.9 - 1e-7]), zeros, zeros)
    apart = log_delta(GPARV(lower, upper, 0.0, 0.11), n)
    assert log_delta(GPARV(lower, lower, 0.0, 0.0), n).lower == pytest.approx(apart.lower, abs=1e-3)
    assert apart.upper == pytest.approx(math.log(0.11), abs=1e-12)


# -- a cheap upper bound --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_the_cheap_bound_is_the_better_of_two(n: int) -> None:
    single = log_mean_single(WIDER).upper
    tilted = chernoff_log_mean(BlockSum.of((WIDER, n))) - math.log(n)
    bound = log_delta_bound(GPARV(PLAIN, WIDER, 0.0, 0.0), n)
    assert bound == pytest.approx(min(single, tilted), abs=1e-12)
    apart = log_delta_bound(GPARV(PLAIN, WIDER, 0.0, 0.25), n)
    assert apart == pytest.approx(math.log(math.exp(bound) + 0.25), abs=1e-12)


def test_the_cheap_bound_counts_errors() -> None:
    bound = log_delta_bound(GPARV(VAGUE, VAGUE, 0.0, 0.0), 1)
    assert bound == pytest.approx(math.log(mean_above(VAGUE, 1)), abs=1e-12)


def test_the_cheap_bound_of_nothing() -> None:
    nothing = make_law([-1.0, 0.0], [0.5, 0.5])
    assert log_delta_bound(GPARV(nothing, nothing, 0.0, 0.0), 10) == -math.inf


@pytest.mark.parametrize("n", [10, 10**4, 10**7])
def test_the_cheap_bound_of_a_heavy_law_is_the_best_of_all_levels(n: int) -> None:
    single = log_mean_single(HEAVY).upper
    bounds = [
        math.log(math.exp(divided.bound.log_mean) + math.exp(divided.log_remainder(1)))
        - math.log(n)
        for level in jump_levels(BlockSum.of((HEAVY, n)))
        if (divided := DividedSum(BlockSum.of((HEAVY, n)), np.array([level]))).laws[0].jumps
    ]
    best = _bound_with_jumps(BlockSum.of((HEAVY, n)), single + math.log(n)) - math.log(n)
    assert best == pytest.approx(min(single, *bounds), abs=1e-9)
    assert log_delta_bound(GPARV(HEAVY, HEAVY, 0.0, 0.0), n) == pytest.approx(best, abs=1e-9)


def test_the_cheap_bound_of_nothing_but_losses() -> None:
    """Single summands gain, but the largest sum is negative: nothing is left."""
    gain, loss = make_law([1.0, -1.0], [0.5, 0.5]), make_law([-1.5, -2.0], [0.5, 0.5])
    total = BlockSum.of((gain, 2), (loss, 2))
    assert mean.log_mean_bound(total) == -math.inf
    assert log_mean_positive(total, total, rtol=1e-4).enclosure.upper == -math.inf


# -- which method ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 40, 300, 20_000])
def test_every_method_meets_its_tolerance(n: int) -> None:
    rtol = 1e-5
    for law in (PLAIN, make_law([1.0, -1.2], [0.5, 0.5])):
        enclosure = _evaluate(BlockSum.of((law, n)), rtol)
        assert enclosure.width <= rtol
        if n <= 5:
            exact = math.log(n * enumerated_delta(law, n))
            assert enclosure.lower <= exact <= enclosure.upper


def test_enough_is_enough() -> None:
    """Elementary bounds that are narrow are returned; so are those of a law without gains."""
    rare = make_law([1.0, -1.0, 0.0], [1e-12, 1e-12, 1.0])
    assert _evaluate(BlockSum.of((rare, 10)), 1e-4) == rare_log_mean(BlockSum.of((rare, 10)))
    nothing = make_law([-1.0, 0.0], [0.5, 0.5])
    assert _evaluate(BlockSum.of((nothing, 10)), 1e-4).upper == -math.inf


@pytest.mark.parametrize(("n", "counts"), [(150, True), (10**6, False)])
def test_what_the_contour_leaves_open_is_enumerated(
    n: int, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there are few outcomes; else the contour may spend more work."""
    law = make_law([1.0, -1.2, 0.3], [0.4, 0.4, 0.2])
    exact = _evaluate(BlockSum.of((law, n)), 1e-4)
    asked = []

    def wide(*arguments: object) -> LogEnclosure:
        asked.append(arguments[2])
        return LogEnclosure(exact.lower - 1, exact.upper + 1)

    monkeypatch.setattr(mean, "contour_log_mean", wide)
    enclosure = _evaluate(BlockSum.of((law, n)), 1e-4)
    assert asked == ([mean._QUICK_WORK] if counts else [mean._QUICK_WORK, mean._MAX_WORK])
    assert (enclosure.width <= 1e-4) == counts

    def never(*_: object) -> LogEnclosure:
        raise AssertionError("the contour was narrow enough")

    monkeypatch.setattr(mean, "contour_log_mean", lambda *_: exact)
    monkeypatch.setattr(mean, "enumerate_log_mean", never)
    assert _evaluate(BlockSum.of((law, n)), 1e-4) == exact


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_all_summands_at_their_largest_are_part_of_the_mean(n, error):
    law = Law(
        np.array([2.0, -1.0]), np.array([0.25, 0.75]), np.full(2, error), np.full(2, error / 2)
    )
    bound = _all_at_their_largest(BlockSum.of((law, n)))
    exact = n * (math.log(0.25) - error / 2) + math.log(n * (2.0 - error))
    assert exact - 1e-12 < bound < exact
    assert _all_at_their_largest(BlockSum.of((law, n), offset=2.0 * n)) == -math.inf


class TestCrowds:
    """Elementary bounds are left out where many summands count, unless the contour fails."""

    LAW = Law(np.array([1.0, -1.5]), np.array([0.5, 0.5]), np.full(2, 1e-16), np.zeros(2))
    RARE = Law(np.array([1.0, 0.0]), np.array([1e-9, 1 - 1e-9]), np.full(2, 1e-16), np.zeros(2))

    def test_what_is_a_crowd(self):
        assert is_crowded(BlockSum.of((self.LAW, 65)))
        assert is_crowded(BlockSum.of((self.RARE, 5), (self.LAW, 65)))
        assert not is_crowded(BlockSum.of((self.LAW, 64)))
        assert not is_crowded(BlockSum.of((self.RARE, 10**9)))

    @pytest.mark.parametrize("times", [20, 70, 4000])
    def test_a_failing_contour_leaves_the_elementary_bounds(self, times, monkeypatch):
        total = BlockSum.of((self.LAW, times))
        right = log_mean_positive(total, total, rtol=1e-6)
        monkeypatch.setattr(mean, "contour_log_mean", lambda *_: LogEnclosure(-math.inf, math.inf))
        monkeypatch.setattr(mean, "enumeration_size", lambda _: math.inf)
        monkeypatch.setattr(mean, "usual_log_mean", lambda *_: None)
        left = log_mean_positive(total, total, rtol=1e-6)
        elementary = elementary_log_mean(total)
        assert (left.lower, left.upper) == (elementary.lower, elementary.upper)
        assert left.lower <= right.lower <= right.upper <= left.upper
