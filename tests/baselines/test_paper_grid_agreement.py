"""Our enclosures and the paper's grid never exclude each other.

The grid rounds G up or down and convolves with a fast Fourier transform, so that, but for
round-off, its two values enclose the same number that ours enclose.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_mechanisms import any_mechanism, deltas, matrices
from shuffledp.decomposition import GPARV, Decomposition
from shuffledp.divergence import log_delta
from strategies import coefficients, exp_epsilons

from shuffledp import KRR, OUE, RAPPOR, Laplace, MatrixRandomizer, joint
from shuffledp.baselines.paper_grid import grid_delta, grid_epsilon, paper_interval_length
from shuffledp.interval import Interval
from shuffledp.randomizers import LocalRandomizer

#: What round-off of the transform may add, relative to the range of G.
NOISE = 1e-11


def agree(gparv: GPARV, n: int, step: float) -> None:
    scale = max(1.0, float(np.abs(gparv.upper.values).max()))
    ours = log_delta(gparv, n)
    up = grid_delta(gparv, n, interval_length=step * scale, rounding="up")
    down = grid_delta(gparv, n, interval_length=step * scale, rounding="down")
    noise = NOISE * scale
    assert math.exp(ours.lower) <= up + noise
    assert math.exp(ours.upper) >= down - noise
    assert up - down <= 2 * step * scale + 2 * noise  # the comparison says something


@settings(max_examples=150)
@given(
    coefficients(max_components=5, singular=True),
    st.integers(1, 300),
    exp_epsilons(),
    st.sampled_from([0.1, 0.01, 0.001]),
)
def test_any_decomposition(parts, n, exp_epsilon, step):
    agree(parts.decomposition().at(math.log(exp_epsilon)), n, step)


@settings(max_examples=120)
@given(any_mechanism | matrices(zeros=True), st.integers(1, 300), st.floats(0, 1))
def test_any_mechanism(randomizer: LocalRandomizer, n: int, share: float):
    level = min(randomizer.epsilon0, 5.0)
    for pair in randomizer.neighbours()[:2]:
        agree(randomizer.blanket(pair).at(share**2 * level), n, 0.005)
        for other in randomizer.common_inputs(pair)[:2]:
            agree(randomizer.background(pair, other).at(share**2 * level), n, 0.005)


def our_epsilon(decomposition: Decomposition, n: int, delta: float) -> Interval:
    log = math.log(delta)
    target = Interval(math.nextafter(log, -math.inf), math.nextafter(log, math.inf))
    return enclose_epsilon(decomposition, n, target, 1e-4)


@settings(max_examples=25)
@given(any_mechanism, st.integers(1, 100), deltas)
def test_epsilon_of_any_mechanism(randomizer: LocalRandomizer, n: int, delta: float):
    assume(delta > 1e-7)  # below, the grid is noise
    pair = randomizer.neighbours()[0]
    decomposition = randomizer.blanket(pair)
    assume(decomposition.max_epsilon > 0.01)
    step = 0.01 * float(np.ptp(decomposition.at(0.0).upper.values))
    arguments = {"target_delta": delta, "interval_length": step, "tolerance": 1e-3}
    up = grid_epsilon(decomposition, n, rounding="up", **arguments)
    down = grid_epsilon(decomposition, n, rounding="down", **arguments)
    ours = our_epsilon(decomposition, n, delta)
    assert ours.lower <= up
    assert ours.upper >= down * (1 - 1e-6)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    "randomizer",
    [
        KRR(k=10, epsilon0=0.1),
        RAPPOR(epsilon0=4.0),
        Laplace(epsilon0=0.1),
        joint(KRR(k=4, epsilon0=1.0), OUE(epsilon0=1.0)),
    ],
    ids=str,
)
def test_settings_of_the_paper(randomizer: LocalRandomizer):
    """Coarser than in the paper by a factor of 16, to be quick."""
    n, delta = 1000, 1e-6
    decomposition = randomizer.blanket(randomizer.neighbours()[0])
    step = 16 * paper_interval_length(randomizer.epsilon0)
    arguments = {"target_delta": delta, "interval_length": step, "tolerance": 1e-3}
    up = grid_epsilon(decomposition, n, rounding="up", **arguments)
    down = grid_epsilon(decomposition, n, rounding="down", **arguments)
    ours = our_epsilon(decomposition, n, delta)
    assert down <= ours.upper
    assert ours.lower <= up < 1.5 * down


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("n", [1, 20, 1000])
def test_a_matrix_with_a_hundred_thousand_outputs(n: int):
    rng = np.random.default_rng(5)
    matrix = np.exp(0.7 * rng.random((2, 100_000)))
    randomizer = MatrixRandomizer(matrix / matrix.sum(axis=1, keepdims=True))
    for pair in randomizer.neighbours():
        for sigmas in (0.0, 1.0, 3.0):
            agree(randomizer.blanket(pair).at(0.3 * sigmas / math.sqrt(n)), n, 0.002)
