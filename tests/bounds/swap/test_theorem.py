"""The swap bound against its theorem in exact fractions, over all backgrounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from bounds.swap.theorem import ExactLaw, ExactSlots, random_rows
from flint import arb

from shuffledp.bounds.swap import bound as bounding
from shuffledp.bounds.swap import plan as planning
from shuffledp.bounds.swap.bound import evaluate, swap_log_delta
from shuffledp.bounds.swap.plan import Proposal, SwapPlan
from shuffledp.engine.sums import Law

LEVELS = (Fraction(1), Fraction(101, 100), Fraction(11, 10), Fraction(5, 4), Fraction(3, 2))


@dataclass(frozen=True)
class Case:
    slots: ExactSlots
    n: int
    rng: np.random.Generator

    @property
    def log_truth(self) -> float:
        largest = self.slots.largest(self.n)
        return math.log(largest) if largest else -math.inf


def cases(seed: int, count: int, most: int) -> Iterator[Case]:
    """Random channels of two or three inputs, and of more users where there are two."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        inputs, outputs = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        room = most if inputs == outputs == 2 else max(4, most // (inputs + outputs - 1))
        n = int(np.exp(rng.uniform(math.log(2), math.log(room + 1))))
        rows = random_rows(rng, inputs, outputs)
        yield Case(ExactSlots.of_rows(rows, rng.choice(np.array(LEVELS))), n, rng)


@pytest.fixture
def any_blanket(monkeypatch):
    """Try the bound also where a blanket report is rare."""
    monkeypatch.setattr(planning, "_FEWEST_BLANKET_USERS", 0.0)


def exactly(x: arb) -> Fraction:
    """The middle of a ball."""
    mantissa, exponent = x.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def middles(law: Law) -> ExactLaw:
    found: ExactLaw = {}
    for value, mass in law.atoms:
        place = exactly(value)
        found[place] = found.get(place, Fraction(0)) + exactly(mass)
    return found


def test_cutting_off_rare_gains_costs_no_more_than_is_added() -> None:
    """For all backgrounds: what is left and the cost are at least the bound of the whole laws."""
    cut = 0
    for case in cases(11, 40, 8):
        largest = max(max(x * p, 0) for law in case.slots.types for x, p in law.items())
        limit = float(largest) * case.rng.uniform(0.1, 1.5)
        capped, cost = case.slots.balls.without_rare(limit, case.n)
        laws = map(middles, (capped.first, *capped.types))
        left = ExactSlots(next(laws), tuple(laws), case.slots.gamma)
        truth, kept = case.slots.largest(case.n), left.largest(case.n)
        assert truth <= kept + exactly(cost) + Fraction(1, 10**30)
        assert exactly(cost) <= limit * (1 + 1 / case.n)
        cut += kept < truth
    assert cut > 10


def check(seed: int, count: int, most: int) -> None:
    compared, excess = 0, []
    for case in cases(seed, count, most):
        found, truth = swap_log_delta(case.slots.balls, case.n, 1e-3), case.log_truth
        assert truth <= found, (case, truth, found)
        if -math.inf < truth and found < math.inf:
            compared += 1
            excess.append(found - truth)
    assert compared > 0.5 * count
    assert np.median(excess) < 0.3  # of so few users: averages over who is examined


def test_all_backgrounds_are_covered(any_blanket):
    check(seed=1, count=100, most=12)


@pytest.fixture
def many_types(monkeypatch):
    """Take all types for far ones, but for those that contend."""
    monkeypatch.setattr(bounding, "_FEW_TYPES", 1)


@pytest.mark.heavy
def test_all_backgrounds_are_covered_by_doubles(any_blanket, many_types):
    check(seed=5, count=60, most=12)


@pytest.mark.parametrize("seed", range(8))
def test_backgrounds_of_many_types_are_covered(any_blanket, seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, int(rng.integers(6, 9)), int(rng.integers(2, 4)))
    case = Case(ExactSlots.of_rows(rows, rng.choice(np.array(LEVELS))), 5, rng)
    assert case.log_truth <= swap_log_delta(case.slots.balls, case.n, 1e-3)


@pytest.mark.heavy
def test_backgrounds_of_more_users_are_covered(any_blanket):
    check(seed=2, count=300, most=30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_study_of_backgrounds(any_blanket, seed):
    check(seed=100 + seed, count=500, most=30)


def any_plan(case: Case) -> SwapPlan | None:
    """A plan that nobody would choose."""
    proposal = Proposal.of(case.slots.balls, case.n)
    if not proposal.is_promising:
        return None
    plan, rng = proposal.plan(10 ** rng_between(case, -4, -0.5)), case.rng
    theta, tau, step, nodes = (10 ** rng_between(case, -0.4, 0.4) for _ in range(4))
    contour = replace(
        plan.contour,
        theta=plan.contour.theta * theta,
        tau=plan.contour.tau * tau,
        step=plan.contour.step * step,
        nodes=math.ceil(plan.contour.nodes * nodes),
    )
    return replace(
        plan,
        contour=contour,
        terms=int(rng.integers(1, case.n + 1)),
        size=plan.size * 10 ** rng_between(case, -2, 3),
    )


def rng_between(case: Case, low: float, high: float) -> float:
    return float(case.rng.uniform(low, high))


def check_plans(seed: int, count: int) -> None:
    useful = 0
    for case in cases(seed, count, 10):
        plan = any_plan(case)
        if plan is None:
            continue
        found = evaluate(case.slots.balls, case.n, plan)
        if found is not None:
            truth = case.log_truth
            assert truth <= found.log_delta, (case, plan)
            useful += truth > -math.inf and found.log_delta < truth + 1
    assert useful > count / 20


def test_every_plan_gives_a_valid_bound(any_blanket):
    check_plans(seed=3, count=150)


def test_every_plan_gives_a_valid_bound_in_doubles(any_blanket, many_types):
    check_plans(seed=6, count=60)


@pytest.mark.slow
def test_study_of_plans(any_blanket):
    check_plans(seed=4, count=4000)


def test_total_mass_is_one():
    """At e^epsilon = 0 the theorem's right-hand side is 1, whatever the others hold."""
    rows = random_rows(np.random.default_rng(1), 3, 3)
    assert ExactSlots.of_rows(rows, Fraction(0)).largest(4) == 1


def response(k: int, odds: int) -> list[list[Fraction]]:
    unit = Fraction(1, odds + k - 1)
    return [[unit * (odds if x == y else 1) for y in range(k)] for x in range(k)]


def test_reference_values():
    """Of binary and ternary response, computed by two other programs."""
    slots = ExactSlots.of_rows(response(2, 3), Fraction(5, 4))
    assert slots.largest(4) == Fraction(99, 512)
    slots = ExactSlots.of_rows(response(3, 3), Fraction(5, 4))
    assert slots.largest(4) >= Fraction(2539, 15000)
