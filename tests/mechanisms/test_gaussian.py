"""The Gaussian mechanism against normal densities of high precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from enumeration import (
    assert_dominated,
    assert_masses_of_laws,
    assert_overlap,
    backgrounds,
    encloses,
    excess,
    precision,
    recut,
    widest,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import law_of

from shuffledp.engine.sums import Law
from shuffledp.mechanisms import Gaussian, Pair

mp = precision(40)

SIGMAS = (0.3, 1.0, 5.0, 50.0)
EXTREMES = (0.3, 1e6)
PAIR = Pair(0, 1)


def density(y, x, sigma):
    return mp.exp(-(((y - x) / sigma) ** 2) / 2) / (sigma * mp.sqrt(2 * mp.pi))


def integral(x, sigma, start, stop):
    """The mass of R(x) between two outputs, integrated in units of the density at the end."""
    unit = density(stop, x, sigma)
    return unit * mp.quad(lambda y: density(y, x, sigma) / unit, [start, stop])


def lower_tail(z):
    """Normal probability below z, to full relative precision on both sides."""
    return mp.erfc(-z / mp.sqrt(2)) / 2


def place(log_ratio: float, sigma):
    """The output at which log R(0)/R(1) has this value: (1/2 - y)/sigma^2."""
    return mp.mpf(1) / 2 - mp.mpf(log_ratio) * sigma**2


def some_cells(count: int) -> list[int]:
    return sorted({0, 1, 2, *range(0, count, count // 16), count - 2, count - 1})


def test_there_is_no_pure_level():
    assert Gaussian(sigma=1.0).epsilon0 == math.inf


@pytest.mark.parametrize("sigma", SIGMAS + EXTREMES)
def test_blanket_mass(sigma):
    blanket = Gaussian(sigma=sigma).decomposition(PAIR)
    exact = mp.erf(1 / (2 * mp.sqrt(2) * mp.mpf(sigma)))
    assert encloses(blanket.residual, exact, 20)
    given = sum(lower_tail(edge / mp.mpf(sigma)) for edge in tail_edges(sigma))
    assert given < 1e-290
    assert encloses(blanket.mass, 1 - exact, 20)


def tail_edges(sigma: float) -> list:
    """How far the inputs are from the outermost cells on the other side."""
    points = Gaussian(sigma=sigma).decomposition(PAIR).cut.points
    return [mp.mpf(points[0]) - 1, -mp.mpf(points[-1])]


@pytest.mark.parametrize("sigma", SIGMAS + EXTREMES)
def test_masses_of_cells_are_integrals_of_the_densities(sigma):
    cut, wide = Gaussian(sigma=sigma).decomposition(PAIR).cut, mp.mpf(sigma)
    for i in some_cells(cut.a.size):
        for x, found in ((0, cut.a[i]), (1, cut.b[i])):
            start, stop = ((mp.mpf(y) - x) / wide for y in cut.points[i : i + 2])
            if start > 0:
                start, stop = -stop, -start
            assert found == pytest.approx(float(lower_tail(stop) - lower_tail(start)), rel=1e-9)


@settings(max_examples=20)
@given(sigma=st.floats(0.3, 1e6) | st.floats(0.3, 10))
def test_masses_add_up(sigma):
    randomizer = Gaussian(sigma=sigma)
    decompositions = [randomizer.decomposition(PAIR)]
    decompositions += backgrounds(randomizer, PAIR)
    for decomposition in decompositions:
        assert_masses_of_laws(decomposition)


def blanket_excess(t, epsilon, sigma) -> float:
    """E(G - t)_+ for the pair (0, 1): integrals of R(0) - e^epsilon R(1) - t c where positive."""
    t, big, sigma = mp.mpf(t), mp.exp(epsilon), mp.mpf(sigma)
    half = mp.mpf(1) / 2

    def masses(left, right):
        """R(0) and R(1) of an interval of outputs, from the tail that is smaller."""
        if left >= right:
            return mp.mpf(0), mp.mpf(0)
        return tuple(
            lower_tail((x - left) / sigma) - lower_tail((x - right) / sigma)
            if left > x
            else lower_tail((right - x) / sigma) - lower_tail((left - x) / sigma)
            for x in (0, 1)
        )

    # Nearer to 0, c = R(1): positive where the ratio exceeds e^epsilon + t.
    level = big + t
    stop = half if level <= 1 else half - sigma**2 * mp.log(level)
    near0, near1 = masses(-mp.inf, stop)
    total = near0 - level * near1
    # Nearer to 1, c = R(0): positive where e^epsilon times the inverse ratio is below 1 - t.
    keep = 1 - t
    if keep > big:
        far0, far1 = masses(half, half + sigma**2 * mp.log(keep / big))
        total += keep * far0 - big * far1
    residual = mp.erf(half / (mp.sqrt(2) * sigma))
    return float(total + residual * max(-t, 0))


def test_oracle_is_the_integral():
    sigma, epsilon, count = 0.8, 0.3, 10**6
    y = -8 + 17 * (np.arange(count) + 0.5) / count
    f0, f1 = (
        np.exp(-(((y - x) / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi)) for x in (0, 1)
    )
    common = np.minimum(f0, f1)
    for t in (-3, -0.5, 0, 0.7):
        direct = np.maximum(f0 - math.exp(epsilon) * f1 - t * common, 0).sum() * 17 / count
        direct += math.erf(1 / (2 * math.sqrt(2) * sigma)) * max(-t, 0)
        assert blanket_excess(t, epsilon, sigma) == pytest.approx(direct, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_cells_enclose_the_law_in_convex_order(sigma, epsilon):
    big = math.exp(epsilon)
    spread = big * math.expm1(min(3 / sigma, 20))
    thresholds = [-30 * spread, -spread, -0.1 * spread, 1 - big, 1e-3, 0.0, 0.1 * spread, spread]
    exact = np.array([blanket_excess(t, epsilon, sigma) for t in thresholds])
    slack = 1e-12 * (1 + np.abs(thresholds) + spread)
    laws = recut(Gaussian(sigma=sigma).decomposition(PAIR))
    width = {cut: widest(d.at(epsilon), thresholds, exact, slack) for cut, d in laws.items()}
    few = 1e-3 * (1 - math.exp(-1 / sigma)) * big
    assert width["own"] <= min(few, width["coarser"] + 1e-12)
    assert width["finer"] <= few / 2


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_backgrounds_enclose_the_law_of_two_datasets(sigma, epsilon):
    """The others hold 0: R(0)(1 - t) > e^epsilon R(1) below one output."""
    first, second = backgrounds(Gaussian(sigma=sigma), PAIR)

    def exact(t: float) -> float:
        big, wide = mp.exp(epsilon), mp.mpf(sigma)
        stop = mp.mpf(1) / 2 + wide**2 * mp.log((1 - mp.mpf(t)) / big)
        return float(
            (1 - mp.mpf(t)) * lower_tail(stop / wide) - big * lower_tail((stop - 1) / wide)
        )

    thresholds = [-5.0, -1.0, -0.1, 0.0, 0.1, 0.9]
    expected = np.array([exact(t) for t in thresholds])
    width = {
        cut: widest(d.at(epsilon), thresholds, expected, 1e-11) for cut, d in recut(first).items()
    }
    few = 5e-4
    assert width["own"] <= min(few, width["coarser"] + 1e-12)
    assert width["finer"] <= few / 2
    # By reflection the others at 1 are the reversed pair with the others at 0.
    assert_overlap(second.at(epsilon), first.swap().at(epsilon), thresholds, slack=1e-11)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_end_points_are_the_worst_pair(sigma):
    """On a grid of outputs every pair of grid inputs is dominated by the end points."""
    steps = 8
    reach = math.ceil(9 * sigma)
    y = np.arange(-reach * steps, (reach + 1) * steps + 1) / steps
    rows = {x: np.exp(-(((y - x) / sigma) ** 2) / 2) for x in np.linspace(0, 1, steps + 1)}
    total = rows[0.5].sum()
    common = np.minimum(rows[0.0], rows[1.0]) / total

    def law(x: float, other: float, epsilon: float) -> Law:
        values = (rows[x] - math.exp(epsilon) * rows[other]) / total / common
        weights = np.append(common, 1 - common.sum())
        return law_of(np.append(values, 0.0), weights)

    for epsilon in (0.0, 0.5 / sigma):
        worst = law(0.0, 1.0, epsilon)
        thresholds = np.concatenate([np.linspace(-20, 20, 81), np.linspace(-1, 1, 21)])
        for x in rows:
            for other in rows:
                smaller = law(x, other, epsilon)
                assert (excess(smaller, thresholds) <= excess(worst, thresholds) + 1e-11).all()


def test_more_noise_reveals_less():
    """A wider normal law is the narrower one plus independent noise, a post-processing."""
    previous = None
    for sigma in (3.0, 1.0, 0.4):
        law = Gaussian(sigma=sigma).decomposition(PAIR).at(0.2)
        thresholds = np.linspace(-10, 10, 41)
        if previous is not None:
            assert (excess(previous, thresholds) <= excess(law.upper, thresholds) + 1e-12).all()
        previous = law.lower


def test_swapped_pair_has_the_same_law():
    blanket = Gaussian(sigma=0.7).decomposition(PAIR)
    assert_dominated(blanket.at(0.4).lower, blanket.swap().at(0.4).lower, slack=1e-11)
    assert_dominated(blanket.swap().at(0.4).lower, blanket.at(0.4).lower, slack=1e-11)
