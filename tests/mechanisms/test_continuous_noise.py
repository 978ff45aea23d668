"""Reports on a grid: which one, what rounding changes, and what sums of rounded reports reveal."""

from __future__ import annotations

import dataclasses
import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from shuffledp import Laplace, ShuffleAccountant, parse
from shuffledp.bounds.sums.noise import geometric_log_delta, normal_log_delta

Law = NDArray[np.float64]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("laplace(1)", 2**16),
        ("laplace(1.0000001)", 2**17),
        ("laplace(300)", 2**25),
        ("laplace(1e-12)", 1),
        ("gaussian(0.3)", 2**18),
        ("gaussian(1)", 2**16),
        ("gaussian(1e6)", 1),
    ],
)
def test_the_usual_grid_has_at_least_65536_steps_to_the_scale(text, steps):
    noise = parse(text)
    assert (noise.steps, noise.unit) == (steps, 1 / steps)
    assert steps == 1 or 2**16 <= steps * noise.scale < 2**17
    assert noise.grid is None


def test_a_grid_is_named_unless_it_is_the_usual_one():
    coarse, usual = Laplace(1.0, "interval", 1024), Laplace(1.0, "interval", 2**16)
    assert str(coarse) == "laplace(epsilon0=1.0, domain='interval', grid=1024)"
    assert parse(str(coarse)) == coarse != usual == Laplace(1.0, "interval")
    assert dataclasses.replace(usual, epsilon0=2.0).steps == 2**17
    assert coarse.steps == 1024


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("laplace(1, grid=512)", "1024"),
        ("laplace(1, grid=2147483648)", "1073741824"),
        ("gaussian(2, grid=3000)", "a power of two from 512 to 536870912, got 3000"),
        ("laplace(1e-12, grid=2)", "1"),
    ],
)
def test_other_grids_are_refused(text, allowed):
    with pytest.raises(ValueError, match=f"grid must be .*{allowed}"):
        parse(text)


@pytest.mark.heavy
def test_the_grid_changes_no_guarantee():
    for text in ("laplace(1{})", "gaussian(1{})"):
        usual, coarse = (
            ShuffleAccountant(text.format(grid), 1000).get_epsilon(1e-6)
            for grid in ("", ", grid=1024")
        )
        assert usual == coarse


@pytest.mark.parametrize("text", ["laplace(1)", "gaussian(1)"])
def test_digits_do_not_tell_the_input(text):
    """In doubles 0 plus noise has more digits than 1 plus noise; here both are on the grid."""
    noise = parse(text)
    for x in (0, 1):
        values = noise.randomize([x] * 1000) * noise.unit
        assert (values % noise.unit == 0).all()


# -- exact laws of rounded noise -----------------------------------------------------------------

_REACH = 200  # steps; what is farther out is less likely than e^-40


def laplace_law(place: float, rate: float) -> Law:
    """The probabilities of the integers from -200 to 200."""
    edges = np.arange(-_REACH, _REACH + 2) - 0.5 - place
    tails = np.exp(-rate * np.abs(edges)) / 2
    law: Law = np.abs(np.diff(np.where(edges < 0, tails, 1 - tails)))
    return law


def normal_law(place: float, sigma: float) -> Law:
    edges = (np.arange(-_REACH, _REACH + 2) - 0.5 - place) / sigma
    return np.diff(ndtr(edges))


@pytest.mark.parametrize("rate", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("place", [0.0, 0.1, 0.3, 0.5, 2.75])
def test_the_mean_error_of_rounding(rate, place):
    mean = laplace_law(place, rate) @ np.arange(-_REACH, _REACH + 1)
    f = place - round(place)
    assert mean - place == pytest.approx(
        math.sinh(rate * f) / (2 * math.sinh(rate / 2)) - f, abs=1e-12
    )
    assert abs(mean - place) < 0.01 * rate**2
    assert normal_law(place, 2.0) @ np.arange(-_REACH, _REACH + 1) == pytest.approx(place)


def revealed(first: Law, second: Law, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def largest(laws: dict[float, Law], epsilon: float) -> float:
    """The largest delta of the sum of two reports, over all neighbouring datasets."""
    sums = {key: np.convolve(laws[key[0]], laws[key[1]]) for key in product(laws, repeat=2)}
    return max(
        revealed(sums[x, v], sums[y, v], epsilon) for x, y, v in product(laws, repeat=3) if x != y
    )


PLACES = [0.0, 0.4, 1.0, 1.37, 2.5, 3.0, 3.77, 4.0]  # of 4 steps


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_sums_of_rounded_laplace_noise_reveal_no_more_than_geometric_noise(share):
    level = 2.0
    laws = {place: laplace_law(place, level / 4) for place in PLACES}
    bound = math.exp(geometric_log_delta(level, 4, 2, share * level).upper)
    found = largest(laws, share * level)
    assert found <= bound + 1e-12
    assert found > 0.8 * bound


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_sums_of_rounded_normal_noise_reveal_no_more_than_ideal_noise(epsilon):
    """Up to aliases, which are below 1e-7 for two steps to sigma."""
    laws = {place: normal_law(place, 2.0) for place in PLACES}
    bound = math.exp(normal_log_delta(0.5, 2, epsilon).upper)
    found = largest(laws, epsilon)
    assert found <= bound + 1e-6
    assert found > 0.5 * bound
