"""Every error term of the swap bound by itself: what it has to cover, summed up directly."""

from __future__ import annotations

import cmath
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from random import Random

import pytest
from flint import acb, arb, ctx

from shuffledp import parse
from shuffledp.certification.backgrounds import Backgrounds, _most_variance
from shuffledp.certification.cases import Case
from shuffledp.certification.geometric import Examined
from shuffledp.certification.slots import slots_of
from shuffledp.certification.swap_nodes import SwapNode, collect_nodes
from shuffledp.certification.swap_plan import Planner
from shuffledp.certification.tilt import TiltedLaw, tilt_by
from shuffledp.engine.balls import ball
from shuffledp.engine.progress import silent
from shuffledp.randomizers import Pair


@pytest.fixture(autouse=True)
def few_bits():
    with ctx.workprec(128):
        yield


def test_the_tail_is_that_of_users_examined_in_vain() -> None:
    examined = Examined(arb(1) / 4, arb(3) / 4, 5, 3, arb(0))
    assert examined.tail == (arb(3) / 4) ** 3
    assert replace(examined, terms=5).tail == (arb(3) / 4) ** 5
    assert replace(examined, terms=6).tail == 0


def central(examined: Examined, exponent: complex) -> complex:
    """H as a sum of its terms, in doubles."""
    gamma, rest, top = (float(x.mid()) for x in (examined.gamma, examined.rest, examined.top))
    return sum(
        gamma * rest**k * cmath.exp((examined.others - k) * exponent - k * top)
        for k in range(examined.terms)
    )


def average(examined: Examined, logs: list[complex]) -> complex:
    """The same with the average over all sets K of users examined; one logarithm per user."""
    gamma, rest, top = (float(x.mid()) for x in (examined.gamma, examined.rest, examined.top))
    found = 0j
    for k in range(examined.terms):
        sets = list(combinations(logs, examined.others - k))
        mean = sum(cmath.exp(sum(kept)) for kept in sets) / len(sets)
        found += gamma * rest**k * math.exp(-k * top) * mean
    return found


@pytest.mark.parametrize("terms", [2, 3, 4])
def test_the_error_of_the_average_is_not_too_small(terms: int) -> None:
    """Two close logarithms, the last term by far the largest: the bound is nearly attained."""
    examined = Examined(arb(0.25), arb(0.75), 14, terms, arb(-4))
    logs = [0.05, -0.05] * 7
    error = abs(average(examined, [complex(x) for x in logs]) - central(examined, 0))
    spread = examined.spread(arb(0.05), arb(-0.05), arb(0.01))
    found = float(spread.at(arb(0.25), examined.bound(arb(0))).mid())
    assert error <= found <= 3 * error


@pytest.mark.parametrize(("low", "share"), [(0.45, 0.5), (-0.5, Fraction(6, 7))])
def test_the_error_of_the_average_where_few_are_examined(low: float, share: float) -> None:
    """Bounds that use the largest and the lowest logarithm, each where it is the best one."""
    examined, high = Examined(arb(0.95), arb(0.05), 14, 4, arb(0)), 0.5
    count = int(14 * share)
    logs = [low] * count + [high] * (14 - count)
    mean = sum(logs) / 14
    error = abs(average(examined, [complex(x) for x in logs]) - central(examined, mean))
    spread = examined.spread(arb(high), arb(low), arb((high - low) ** 2 * (1 + 1e-12)))
    variance = arb(float(share * (1 - share)) * (1 + 1e-12))
    found = float(spread.at(variance, examined.bound(arb(mean + 1e-12))).mid())
    assert error <= found <= 3 * error


def test_the_error_of_the_average_is_added_in_every_simplex() -> None:
    """A simplex of a single mixed background, whose average exceeds its central term."""
    examined = Examined(arb(0.25), arb(0.75), 6, 4, arb(0))
    spread = examined.spread(arb(0), arb(-1), arb(1))
    node = SwapNode(arb(0), acb(1), arb(1), (acb(0), acb(-1)), spread)
    backgrounds = Backgrounds([node], examined, 2)
    point = backgrounds._point((Fraction(1, 2), Fraction(1, 2)))
    exact = average(examined, [0j, 0j, 0j, -1 + 0j, -1 + 0j, -1 + 0j]).real
    assert point.value < exact
    assert backgrounds._cell((point, point)).bound >= exact


def random_nodes(rng: Random, types: int, examined: Examined) -> list[SwapNode]:
    nodes = []
    for _ in range(3):
        logs = [complex(rng.uniform(-0.6, 0), rng.uniform(-1, 1)) for _ in range(types)]
        kernel = cmath.rect(rng.uniform(0.2, 1), rng.uniform(-3, 3))
        square = max(abs(x - y) ** 2 for x in logs for y in logs)
        largest, lowest = (f(x.real for x in logs) for f in (max, min))
        spread = examined.spread(arb(largest), arb(lowest), arb(square * (1 + 1e-12)))
        exact = tuple(acb(x.real, x.imag) for x in logs)
        size = arb(abs(kernel) * (1 + 1e-12))
        nodes.append(SwapNode(arb(0), acb(kernel.real, kernel.imag), size, exact, spread))
    return nodes


def number(x: acb) -> complex:
    return complex(float(x.real.mid()), float(x.imag.mid()))


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("types", [2, 3])
@pytest.mark.parametrize("slack", [1e-3, 1e9])
def test_all_backgrounds_are_below_the_bound(
    types: int, slack: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random kernels and logarithms, so that mixed backgrounds are often the largest."""
    monkeypatch.setattr("shuffledp.certification.backgrounds._MAX_POINTS", 40)
    mixed, close = 0, 0
    for seed in range(24):
        rng = Random(f"{seed} {types}")
        examined = Examined(arb(0.25), arb(0.75), 5, rng.choice([1, 3, 6]), arb(-0.5))
        nodes = random_nodes(rng, types, examined)
        found = float(Backgrounds(nodes, examined, types).largest(slack, silent).bound)
        values = {
            others: sum(
                (number(n.kernel) * average(examined, [number(n.excess[v]) for v in others])).real
                for n in nodes
            )
            for others in combinations_with_replacement(range(types), 5)
        }
        worst = max(values, key=lambda others: values[others])
        assert values[worst] <= found + 1e-12
        mixed += len(set(worst)) > 1
        close += found <= values[worst] + 0.1 * abs(values[worst])
    assert mixed >= 6
    assert close >= 6 or slack > 1


def test_the_variance_in_a_simplex() -> None:
    rng = Random(5)
    for _ in range(300):
        types = rng.choice([2, 3, 4])
        corners = []
        for _ in range(types):
            parts = [rng.choice([0, 0, 1, 2, 9]) for _ in range(types)]
            total = sum(parts) or 1
            corners.append(
                tuple(
                    Fraction(p, total) for p in (parts if sum(parts) else [1, *[0] * (types - 1)])
                )
            )
        points = [complex(rng.random(), rng.random()) for _ in range(types)]
        width = max(abs(x - y) for x in points for y in points)
        shares = [sum(c[v] for c in corners) / types for v in range(types)]
        for mix in (*corners, shares):
            mean = sum(float(s) * x for s, x in zip(mix, points, strict=True))
            variance = sum(float(s) * abs(x - mean) ** 2 for s, x in zip(mix, points, strict=True))
            assert variance <= float(_most_variance(corners)) * width**2 + 1e-12


def characteristic(law: TiltedLaw, t: float) -> complex:
    pairs = zip(law.values, law.probability, strict=True)
    waves = sum(float(p.mid()) * cmath.exp(1j * t * float(x.mid())) for x, p in pairs)
    return float(law.zero.mid()) + waves


@pytest.mark.parametrize("count", [3, 40, 400])
@pytest.mark.parametrize("allowance", [1e-3, 3.0])
def test_nodes_that_are_left_out_are_bounded(count: int, allowance: float) -> None:
    """All nodes up to far beyond the last one, in doubles, for all homogeneous backgrounds."""
    slots = slots_of(parse("krr(k=3, epsilon0=1)"), Case(Pair(0, 1), (0, 1, 2)), ball(0.3))
    assert slots is not None
    n = 9
    plan = Planner(slots, n, 1e-2).first_plan()
    assert plan is not None
    plan = replace(plan, tau=0.05, step=0.125, count=count, value=plan.value * allowance / 1e-4)
    first, *types = (tilt_by(law, plan.theta) for law in (slots.first, *slots.types))
    top = types[0].log_mgf.mid()
    examined = Examined(slots.blanket_mass, slots.rest, n - 1, 4, top)
    nodes = collect_nodes(first, types, examined, plan)
    assert nodes is not None
    kept = {float(node.t.mid()) for node in nodes.kept}
    for law in types:
        missing = 0.0
        for k in range(1000):
            t = plan.step * k
            if t in kept:
                continue
            log = cmath.log(characteristic(law, t)) + float((law.log_mgf - top).mid())
            size = plan.step / math.pi * math.exp(-((plan.tau * t) ** 2) / 2) / (1 + t * t)
            missing += size * abs(characteristic(first, t)) * abs(central(examined, log))
        assert missing <= float(nodes.left_out)
