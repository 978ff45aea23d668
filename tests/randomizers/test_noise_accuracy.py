"""Stated errors of the cells of noise against 80 digits, at the ends of the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from enumeration import backgrounds, precision

from shuffledp.decomposition import segments
from shuffledp.randomizers import DiscreteLaplace, Gaussian, Laplace, Pair
from shuffledp.randomizers.noise import HalfCells

mp = precision(80)

LEVELS = (1e-12, 1e-9, 1e-4, 0.1, 1.0, 3.7, 12.0, 50.0, 133.3, 299.99, 300.0)
RESIDUAL_ERROR = segments._RESIDUAL_UNITS * mp.mpf(2) ** -53


def some(count: int) -> list[int]:
    """The first, the last and a few other cells."""
    drawn = np.random.default_rng(count).integers(0, count, 20).tolist() if count else []
    return sorted({*range(min(count, 3)), *range(max(count - 3, 0), count), *drawn})


def assert_cell(cells: HalfCells, i: int, outer, inner, near, far) -> None:
    """Masses and logs of a cell are within their stated errors."""
    assert abs(cells.near[i] / near - 1) <= cells.mass_error[i]
    assert abs(cells.far[i] / far - 1) <= cells.mass_error[i]
    for found, exact in (
        (cells.outer[i], outer),
        (cells.inner[i], inner),
        (cells.log_ratio[i], mp.log(near / far)),
    ):
        assert abs(float(found) - exact) <= cells.error[i] + mp.mpf(10) ** -60


@pytest.mark.parametrize("level", LEVELS)
def test_laplace(level):
    """Cells of equal width in v = e^(log ratio / 2), from the density of the mechanism."""
    cells, exact = Laplace(epsilon0=level).half_cells(), mp.mpf(level)
    count = cells.far.size - 1
    step = mp.expm1(exact / 2) / count

    def tail(x):
        """Mass below an output x between the inputs 0 and 1, of R(0) without its half, and R(1)."""
        return -mp.expm1(-exact * x) / 2, mp.exp(-exact * (1 - x)) / 2

    for i in some(count):
        logs = [2 * mp.log1p(j * step) for j in (i + 1, i)]
        (near0, far0), (near1, far1) = (tail((1 - log / exact) / 2) for log in logs)
        assert_cell(cells, i, *logs, near1 - near0, far1 - far0)
    assert_cell(cells, count, exact, exact, mp.mpf(1) / 2, mp.exp(-exact) / 2)
    assert abs(cells.residual / -mp.expm1(-exact / 2) - 1) <= RESIDUAL_ERROR


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "bound", [1, 2, 3, 4, 101, 102, 8193, 8194, 20000, 20001, 10**6 + 1, 10**9 - 1, 10**9]
)
def test_discrete_laplace(bound, level):
    """Runs of outputs, their geometric series written as differences of powers."""
    cells, rate = DiscreteLaplace(epsilon0=level, bound=bound).half_cells(), mp.mpf(level) / bound
    alpha = mp.exp(-rate)
    inside = (bound - 1) // 2
    count = cells.far.size - 1 - (bound % 2 == 0)
    run = -(-inside // count) if count else 1

    def mass(first, last):
        return (alpha**first - alpha ** (last + 1)) / (1 + alpha)

    for i in some(count):
        first = 1 + i * run
        last = min(first + run - 1, inside)
        near, far = mass(first, last), mass(bound - last, bound - first)
        assert_cell(cells, i, rate * (bound - 2 * first), rate * (bound - 2 * last), near, far)
    if bound % 2 == 0:
        half = mass(bound // 2, bound // 2) / 2
        assert_cell(cells, count, 0, 0, half, half)
    beyond = 1 / (1 + alpha)
    assert_cell(cells, cells.far.size - 1, level, level, beyond, beyond * mp.exp(-mp.mpf(level)))
    blanket = 2 * alpha ** mp.mpf(-(-(bound + 1) // 2)) / (1 + alpha)
    if bound % 2 == 0:
        blanket += (1 - alpha) / (1 + alpha) * alpha ** (bound // 2)
    assert abs(cells.residual / (1 - blanket) - 1) <= RESIDUAL_ERROR


def upper_tail(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


@pytest.mark.parametrize("sigma", [0.3, 0.31, 0.5, 1.0, 2.7, 10.0, 333.3, 1e4, 1e6])
def test_gaussian(sigma):
    """Cells between the given edges, in units of sigma; half the distance of the inputs is h."""
    randomizer, h = Gaussian(sigma=sigma), 1 / (2 * mp.mpf(sigma))
    cells = randomizer.half_cells()
    edges = [mp.mpf(x) for x in randomizer._edges(0.5 / sigma).tolist()]
    for i in some(cells.far.size):
        inner, outer = edges[i], edges[i + 1]
        near = upper_tail(inner - h) - upper_tail(outer - h)
        far = upper_tail(inner + h) - upper_tail(outer + h)
        assert_cell(cells, i, 2 * h * outer, 2 * h * inner, near, far)
    assert abs(cells.residual / mp.erf(h / mp.sqrt(2)) - 1) <= RESIDUAL_ERROR
    near, far = cells.tail
    assert abs(near / upper_tail(edges[-1] - h) - 1) <= segments._TAIL_ERROR
    assert abs(far / upper_tail(edges[-1] + h) - 1) <= segments._TAIL_ERROR


@pytest.mark.heavy(keep=8)
@pytest.mark.parametrize(
    "randomizer",
    [
        *(Laplace(epsilon0=level) for level in LEVELS),
        *(DiscreteLaplace(epsilon0=level, bound=10**9) for level in LEVELS),
        *(Gaussian(sigma=sigma) for sigma in (0.3, 1.0, 1e6)),
    ],
    ids=str,
)
def test_both_sides_state_errors_that_are_small(randomizer):
    """Cells are narrow against the errors of their logs, or wide, and the shares are accurate."""
    largest = randomizer.largest_input
    for pair in (Pair(0, largest), Pair(0, 0)):
        for found in (randomizer.blanket(pair), *backgrounds(randomizer, pair)):
            for side in (found, found.upper):
                assert side.log_ratio_error.max() < 1e-11
                assert side.weight_error.max() < 1e-11


def test_the_light_end_of_a_wide_cell_is_kept():
    """The first cell of a Laplace law of level 300 reaches from ratio 1 to e^-284, mean e^-142.

    Its end at ratio 1 has e^-142 of its mass. So has all of its mirror image.
    """
    randomizer = Laplace(epsilon0=300.0)
    cells, found = randomizer.half_cells(), randomizer.background(Pair(0, 1), 0).upper
    lightest = found.weight[found.log_ratio1 == 0].min()
    assert lightest == pytest.approx(2 * cells.near[0] * np.exp(-cells.log_ratio[0]), rel=1e-9)
