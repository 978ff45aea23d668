"""The search for epsilon, on functions whose root is known.

The evaluation of delta is replaced by a known decreasing function with an enclosure of any width
around it. Whatever the search does, its lower end must be certified too small and its upper end
certified large enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from shuffledp import ShuffleAccountant
from shuffledp.accounting import inversion, proposals
from shuffledp.accounting.inversion import Search, enclose_epsilon
from shuffledp.accounting.proposals import Guide
from shuffledp.divergence import LogEnclosure
from shuffledp.interval import Interval

Function = Callable[[float], float]


def curve(end: float, steepness: float) -> Function:
    """log delta: smooth, decreasing, minus infinity from ``end`` on."""

    def value(epsilon: float) -> float:
        if epsilon >= end:
            return -math.inf
        vanishing = 2 * math.log1p(-epsilon / end) if end < math.inf else 0.0
        return vanishing - steepness * epsilon * (1 + 0.5 * epsilon) - 1.0

    return value


def root(function: Function, target: float, high: float) -> float:
    low = 0.0
    if function(low) <= target:
        return low
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) > target else (low, middle)
    return low


class Problem:
    """A function in place of delta, and what the search may know about it."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, end: float = 4.0, steepness: float = 3.0
    ) -> None:
        self.function, self.end = curve(end, steepness), end
        self.below = self.above = 1e-9
        self.evaluated: list[float] = []
        self.cheap = 0.4  # how much worse the cheap bound is
        self.exposed = 0.0  # mass of outputs that only one input produces
        monkeypatch.setattr(inversion, "log_delta_at", self.log_delta)
        monkeypatch.setattr(
            inversion,
            "enclose_log_delta",
            lambda law, n, epsilon, rtol: inversion.log_delta_at(law, n, epsilon, rtol=rtol),
        )
        monkeypatch.setattr(
            inversion, "log_delta_bound", lambda e, n: self.function(e) + self.cheap
        )
        monkeypatch.setattr(inversion, "estimate_log_delta", self.estimate)
        monkeypatch.setattr(proposals, "estimate_log_delta", self.estimate)
        monkeypatch.setattr(Guide, "_gaussian_guess", lambda guide: 0.3)

    def log_delta(self, _: object, n: int, epsilon: float, *, rtol: float) -> LogEnclosure:
        self.evaluated.append(epsilon)
        value = self.function(epsilon)
        return LogEnclosure(value - self.below, value + self.above)

    def estimate(self, _: object, n: int, epsilon: float) -> tuple[float, float]:
        step = 1e-6
        slope = (self.function(epsilon + step) - self.function(epsilon)) / step
        return self.function(epsilon) + 0.05, slope

    def search(self, target: Interval, rtol: float = 1e-4) -> Search:
        decomposition = SimpleNamespace(
            at=lambda epsilon: epsilon,
            max_epsilon=self.end,
            exposed=self.exposed,
            smooth=None,
        )
        return Search(decomposition, 100, target, rtol)  # type: ignore[arg-type]


def evaluate(search: Search, epsilon: float) -> bool:
    return search._drive(search._look(epsilon))


def point(target: float) -> Interval:
    return Interval(target, target)


@pytest.mark.parametrize("end", [0.5, 4.0, math.inf])
@pytest.mark.parametrize("steepness", [0.1, 3.0, 500.0])
@pytest.mark.parametrize("target", [-1.5, -8.0, -60.0])
def test_a_sharp_function_has_a_narrow_root(
    end: float, steepness: float, target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(monkeypatch, end=end, steepness=steepness)
    interval = problem.search(point(target)).run().epsilon
    exact = root(problem.function, target, min(end, 300.0))
    assert interval.lower <= exact <= interval.upper
    assert interval.width <= 1e-4 * interval.upper
    assert len(problem.evaluated) <= 12
    # Both ends were evaluated, or are where delta is known to be 1 or 0.
    assert interval.lower in (0.0, *problem.evaluated)
    assert interval.upper in (end, *problem.evaluated)


@pytest.mark.parametrize(("below", "above"), [(0.0, 0.3), (0.3, 0.0), (0.2, 0.2), (1.5, 0.1)])
@pytest.mark.parametrize("target", [-3.0, -20.0])
def test_wide_enclosures_never_move_the_wrong_end(
    below: float, above: float, target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(monkeypatch)
    problem.below, problem.above = below, above
    interval = problem.search(point(target)).run().epsilon
    exact = root(problem.function, target, 4.0)
    assert interval.lower <= exact <= interval.upper
    assert interval.lower == 0 or problem.function(interval.lower) - below > target
    assert problem.function(interval.upper) + above <= target
    # As narrow as the enclosures let it be, up to a factor.
    narrowest = root(problem.function, target - above, 4.0) - root(
        problem.function, target + below, 4.0
    )
    assert interval.width <= 3 * narrowest + 1e-3


def test_a_wide_target_widens_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch)
    interval = problem.search(Interval(-8.2, -8.0)).run().epsilon
    assert interval.lower <= root(problem.function, -8.0, 4.0)
    assert interval.upper >= root(problem.function, -8.2, 4.0)
    assert problem.function(interval.lower) > -8.0
    assert problem.function(interval.upper) <= -8.2


def test_a_target_that_is_met_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch)
    assert problem.search(point(-0.5)).run().epsilon == Interval(0.0, 0.0)


def test_a_target_that_is_never_met(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch, end=math.inf, steepness=1e-6)
    interval = problem.search(point(-50.0)).run().epsilon
    assert interval == Interval(300.0, math.inf)


@pytest.mark.parametrize("where", [0.0, 0.9, 1.1, 3.5])
def test_vague_evaluations_leave_the_cheap_bound(
    where: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From some epsilon on nothing can be evaluated; the cheap bound still ends the search."""
    problem = Problem(monkeypatch)
    target, plain = -8.0, problem.log_delta
    exact = root(problem.function, target, 4.0)

    def vague(law: object, n: int, epsilon: float, *, rtol: float) -> LogEnclosure:
        if epsilon >= where:
            return LogEnclosure(-math.inf, min(0.0, problem.function(epsilon) + problem.cheap))
        return plain(law, n, epsilon, rtol=rtol)

    monkeypatch.setattr(inversion, "log_delta_at", vague)
    interval = problem.search(point(target)).run().epsilon
    assert interval.lower <= exact <= interval.upper
    assert interval.upper <= root(problem.function, target - problem.cheap, 4.0) + 1e-3


@pytest.mark.parametrize("end", [4.0, math.inf])
@pytest.mark.parametrize("cheap", [0.0, 0.4])
def test_the_cheap_bound_is_bisected(
    end: float, cheap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(monkeypatch, end=end)
    problem.cheap = cheap
    search = problem.search(Interval(-8.2, -8.0))
    search._shrink_by_cheap_bound()
    exact = root(problem.function, -8.2 - cheap, min(end, 300.0))
    assert exact <= search.high <= exact + 1e-3
    assert search.low == 0


def test_a_cheap_bound_that_is_never_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch, end=math.inf, steepness=1e-6)
    search = problem.search(point(-8.0))
    search._shrink_by_cheap_bound()
    assert search.high == math.inf


@pytest.mark.parametrize("share", [0.995, 1.005])
def test_masses_that_only_one_input_produces_make_epsilon_infinite(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(monkeypatch, end=math.inf)
    problem.exposed = 0.05
    target = Interval(math.log(0.05 * share) - 0.5, math.log(0.05 * share))
    search = problem.search(target)
    assert search._is_infinite() == (share < 1)
    if share < 1:
        assert search.run().epsilon == Interval(math.inf, math.inf)


def test_a_mass_that_rounding_may_have_made_large_enough_decides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem(monkeypatch, end=math.inf)
    problem.exposed = 0.05
    for below, decided in ((5e-13, False), (5e-12, True)):
        search = problem.search(point(math.log(0.05) - below))
        assert search._is_infinite() == decided


def test_no_singular_masses_no_infinity(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch)
    assert not problem.search(point(-700.0))._is_infinite()


@pytest.mark.parametrize("end", [0.5, 4.0, math.inf])
def test_the_coordinate_of_the_search(end: float, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = Problem(monkeypatch, end=end).search(point(-8.0)).guide
    for epsilon in (0.0, 0.1, 0.49):
        u = guide._to_u(epsilon)
        assert u == pytest.approx(-math.log(1 - epsilon / end) if end < math.inf else epsilon)
        assert guide._to_epsilon(u) == pytest.approx(epsilon, abs=1e-14)
    if end < math.inf:
        assert guide._to_u(end) == math.inf
        assert guide._to_epsilon(-50.0) == pytest.approx(-end * (math.e - 1))  # no overflow


def test_evaluations_move_only_what_they_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch)
    search = problem.search(Interval(-8.1, -8.0))
    first, last = root(problem.function, -8.0, 4.0), root(problem.function, -8.1, 4.0)
    assert not evaluate(search, (first + last) / 2)  # between the ends of the target
    assert (search.low, search.high) == (0.0, 4.0)
    assert evaluate(search, first - 0.1)
    assert (search.low, search.high) == (first - 0.1, 4.0)
    assert evaluate(search, last + 0.1)
    assert not evaluate(search, first - 0.2)  # nothing new
    assert not evaluate(search, last + 0.2)
    assert (search.low, search.high) == (first - 0.1, last + 0.1)
    misses = [point.miss for point in search.guide.points]
    assert misses[1] > 0 > misses[2]
    assert misses[1] == pytest.approx(problem.function(first - 0.1) + 8.05)
    problem.below = 2.5  # too vague to say where the root is
    count = len(search.guide.points)
    evaluate(search, first + 0.01)
    assert search.failed
    assert len(search.guide.points) == count


def test_epsilon_beyond_the_largest_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch, end=math.inf, steepness=1e-3)
    evaluate(problem.search(point(-8.0)), 1e6)
    assert problem.evaluated == [300.0]


def test_the_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(monkeypatch)
    search = problem.search(point(-8.0))
    interval = enclose_epsilon(search.decomposition, 100, point(-8.0), 1e-4)
    assert interval == search.run().epsilon


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_proposed_the_enclosure_holds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guide that knows nothing costs width, never truth."""
    rng = np.random.default_rng(seed)

    class Blind(Guide):
        def first(self) -> float:
            return self.next(0.0, 4.0, 1.0)

        def next(self, low: float, high: float, margin: float) -> float:
            self.rtol = float(rng.choice([1e-4, 1e-5]))
            return float(rng.uniform(-1.0, 6.0)) if rng.random() < 0.3 else rng.uniform(low, high)

        middle = again = lambda self, low, high: self.next(low, high, 1.0)

    monkeypatch.setattr(inversion, "Guide", Blind)
    problem = Problem(monkeypatch)
    problem.below, problem.above = rng.uniform(0.0, 0.5, 2)
    target = float(rng.uniform(-20.0, -1.5))
    search = problem.search(point(target))
    interval = search.run().epsilon
    assert interval.lower <= root(problem.function, target, 4.0) <= interval.upper
    assert problem.function(interval.upper) + problem.above <= target
    assert search.at_high is not None


def test_a_plateau_is_crossed_in_few_steps(monkeypatch):
    """With one large jump of about the target's probability delta hardly falls with epsilon."""
    evaluated = []

    def counted(*args):
        evaluated.append(args)
        return enclose(*args)

    enclose = inversion.enclose_log_delta
    monkeypatch.setattr(inversion, "enclose_log_delta", counted)
    accountant = ShuffleAccountant("any_pure_ldp(epsilon0=18.0974)", n=10**9, bound="blanket")
    found = accountant.epsilon_interval(1e-6)
    assert found.upper - found.lower < 1e-4 * found.upper
    assert len(evaluated) <= 16


def test_three_points_predict_by_a_parabola(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where u is a quadratic function of log delta, the next point is the root, up to the reach."""
    problem = Problem(monkeypatch, end=math.inf)
    guide = Guide(SimpleNamespace(max_epsilon=math.inf), 100, point(-8.0), 1e-4)  # type: ignore[arg-type]

    def epsilon(miss: float) -> float:
        return 1.0 - 0.5 * miss + 0.2 * miss**2

    for miss in (0.4, -0.3, 0.1):
        guide.see(epsilon(miss), LogEnclosure(-8.0 + miss - 1e-6, -8.0 + miss + 1e-6))
    found = guide.next(0.96, 1.2, 1.0)
    line = 1.0 + 0.2 * -0.1 * -0.3  # what the best two points alone say
    assert found == pytest.approx(1.0, abs=0.2 * abs(line - 1))
    assert found != 1.0
    guide.points[0] = replace(guide.points[0], width=1.0)  # too wide to tell a bend
    assert guide.next(0.96, 1.2, 1.0) == pytest.approx(line, abs=0.01)
    assert problem.evaluated == []


def test_searches_about_noise_end_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both reach the width that was asked for, but evaluations of noise take long."""
    problem, counts = Problem(monkeypatch), []
    problem.below = problem.above = 1e-5
    for smooth, part in ((None, 0.2), (object(), 0.5)):
        problem.evaluated.clear()
        for target in np.linspace(-3.0, -12.0, 40):
            search = problem.search(point(float(target)), rtol=1e-3)
            search.decomposition.smooth = smooth  # type: ignore[misc, assignment]
            interval = search.run().epsilon
            assert interval.width <= part * 1e-3 * interval.upper
        counts.append(len(problem.evaluated))
    assert counts[1] < counts[0] - 10
