"""Our enclosures and the paper's grid never exclude each other.

The grid rounds G up or down and convolves with a fast Fourier transform, so that, but for
round-off, its two values enclose the same number that ours enclose.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_mechanisms import any_mechanism, deltas, matrices
from strategies import coefficients, exp_epsilons

from shuffledp import KRR, OUE, RAPPOR, Laplace, MatrixRandomizer, joint
from shuffledp.basics.interval import Interval
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import delta_above, delta_below, epsilon_above, epsilon_below
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import LocalRandomizer

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from paper_grid import grid_delta, grid_epsilon, paper_interval_length

#: What round-off of the transform may add, relative to the range of G.
NOISE = 1e-11

RTOL = 1e-4


def agree(decomposition: Decomposition, n: int, epsilon: float, step: float) -> None:
    gains, curve = decomposition.at(epsilon), Decomposed(decomposition, n, RTOL)
    scale = max(1.0, float(np.abs(gains.upper.values).max()))
    up = grid_delta(gains, n, interval_length=step * scale, rounding="up")
    down = grid_delta(gains, n, interval_length=step * scale, rounding="down")
    noise = NOISE * scale
    assert delta_below(curve.below(epsilon).log) <= up + noise
    assert delta_above(curve.above(epsilon).log) >= down - noise
    assert up - down <= 2 * step * scale + 2 * noise  # the comparison says something


@settings(max_examples=150)
@given(
    coefficients(max_components=5, singular=True),
    st.integers(1, 300),
    exp_epsilons(),
    st.sampled_from([0.1, 0.01, 0.001]),
)
def test_any_decomposition(parts, n, exp_epsilon, step):
    agree(parts.decomposition(), n, math.log(exp_epsilon), step)


@pytest.mark.heavy
@settings(max_examples=120)
@given(any_mechanism | matrices(zeros=True), st.integers(1, 300), st.floats(0, 1))
def test_any_mechanism(randomizer: LocalRandomizer, n: int, share: float):
    level = min(randomizer.epsilon0, 5.0)
    for pair in randomizer.neighbours()[:2]:
        agree(randomizer.decomposition(pair), n, share**2 * level, 0.005)
        for other in randomizer.common_inputs(pair)[:2]:
            agree(randomizer.decomposition(pair, other), n, share**2 * level, 0.005)


def our_epsilon(decomposition: Decomposition, n: int, delta: float) -> Interval:
    curve = Decomposed(decomposition, n, RTOL)
    roots = (find(curve, delta, RTOL) for find in (epsilon_below, epsilon_above))
    return Interval(*(root.epsilon for root in roots))


@settings(max_examples=25)
@given(any_mechanism, st.integers(1, 100), deltas)
def test_epsilon_of_any_mechanism(randomizer: LocalRandomizer, n: int, delta: float):
    assume(delta > 1e-7)  # below, the grid is noise
    pair = randomizer.neighbours()[0]
    decomposition = randomizer.decomposition(pair)
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
    decomposition = randomizer.decomposition(randomizer.neighbours()[0])
    step = 16 * paper_interval_length(randomizer.epsilon0)
    arguments = {"target_delta": delta, "interval_length": step, "tolerance": 1e-3}
    up = grid_epsilon(decomposition, n, rounding="up", **arguments)
    down = grid_epsilon(decomposition, n, rounding="down", **arguments)
    ours = our_epsilon(decomposition, n, delta)
    assert down <= ours.upper
    assert ours.lower <= up < 1.5 * down


@pytest.mark.heavy(keep=0)
@pytest.mark.parametrize("n", [1, 20, 1000])
def test_a_matrix_with_a_hundred_thousand_outputs(n: int):
    rng = np.random.default_rng(5)
    matrix = np.exp(0.7 * rng.random((2, 100_000)))
    randomizer = MatrixRandomizer(matrix / matrix.sum(axis=1, keepdims=True))
    for pair in randomizer.neighbours():
        for sigmas in (0.0, 1.0, 3.0):
            agree(randomizer.decomposition(pair), n, 0.3 * sigmas / math.sqrt(n), 0.002)
