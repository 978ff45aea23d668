"""Stated errors of cells and segments (see test_component_errors.py)."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest
from rounding import INF, OTHER, UNEVEN, VAGUE, A, B, C, coarse_unit, no_rounding  # noqa: F401

from shuffledp.decomposition import Decomposition, decompose_segments
from shuffledp.decomposition import segments as segments_module

# -- coarsening -----------------------------------------------------------------------------------


def cloud_with_errors(size: int, covered: float = 0.25) -> Decomposition:
    rng = np.random.default_rng(3)
    u, v = np.exp(rng.uniform(0, 1, (2, size)))
    c = rng.dirichlet(np.ones(size)) * covered
    d = Decomposition.from_coefficients(c * u / (c @ u), c * v / (c @ v), c)
    return replace(
        d, log_ratio_error=rng.uniform(1e-5, 1e-3, size), weight_error=rng.uniform(1e-5, 1e-3, size)
    )


@pytest.mark.usefixtures("no_rounding")
def test_errors_of_cells_are_those_of_their_vaguest_members():
    d = cloud_with_errors(100)
    coarse = d.coarsen(16)
    worst = float(d.log_ratio_error.max()), float(d.weight_error.max())
    # The mean of a cell is a quotient of two sums of weights.
    assert coarse.log_ratio_error.max() == (d.log_ratio_error + 2 * d.weight_error).max()
    assert coarse.weight_error.max() == worst[1]
    assert coarse.log_ratio_error.min() >= d.log_ratio_error.min()
    assert (coarse.upper.log_ratio_error == worst[0]).all()
    assert (coarse.upper.weight_error == worst[1]).all()


def test_cells_are_rounded(monkeypatch):
    d = cloud_with_errors(100)
    plain = d.coarsen(16)
    unit = 1e-7
    coarse_unit(monkeypatch, unit)
    rounded = d.coarsen(16)
    for one, other in ((plain, rounded), (plain.upper, rounded.upper)):
        assert (other.log_ratio_error - one.log_ratio_error >= 4 * unit).all()
        assert (other.weight_error - one.weight_error >= 0.9 * unit).all()
    assert (rounded.upper.weight_error - plain.upper.weight_error >= 100 * unit).all()
    assert (rounded.upper.log_ratio_error - plain.upper.log_ratio_error >= 100 * unit).all()
    assert (rounded.log_ratio_error - plain.log_ratio_error).max() <= 100 * unit


def test_both_sides_of_cells_become_small():
    cloud = cloud_with_errors(300)
    covered = 1 - cloud.residual
    mean = [-math.log(covered)]
    cells = Decomposition(
        log_ratio0=mean, log_ratio1=mean, weight=[covered], residual=cloud.residual, spread=cloud
    )
    coarse = cells.coarsen(16)
    assert coarse.size == 1
    assert coarse.upper.size <= 2 * 16 + 4


@pytest.mark.parametrize("step", [0.1, 0.3])
@pytest.mark.parametrize("covered", [0.25, 1.0])  # with the latter, some ratios are below 1
def test_a_lattice_reaches_from_the_smallest_to_the_largest_ratio_and_no_further(step, covered):
    d = cloud_with_errors(300, covered)
    upper = d.coarsen_to_lattice(step).upper
    for name in ("log_ratio0", "log_ratio1"):
        points = np.unique(np.round(getattr(upper, name) / step)).astype(int)
        logs = getattr(d, name) / step
        assert points[0] == math.floor(logs.min())
        assert points[-1] == math.ceil(logs.max())


@pytest.mark.parametrize("which", ["0", "1"])
def test_a_lattice_has_a_point_for_ratios_of_zero(which):
    """They stay where they are, on either side, with all their mass."""
    d = cloud_with_errors(100)
    masses = {"0": d.weight * d.ratio0, "1": d.weight * d.ratio1}
    masses[which][:20] = 0
    masses[which] /= masses[which].sum()
    coarse = Decomposition.from_coefficients(masses["0"], masses["1"], d.weight).coarsen_to_lattice(
        0.1
    )
    for side in (coarse, coarse.upper):
        zero = np.isneginf(getattr(side, f"log_ratio{which}"))
        assert float(side.weight[zero].sum()) == pytest.approx(float(d.weight[:20].sum()))


# -- segments -------------------------------------------------------------------------------------


def segments(**changes: object) -> Decomposition:
    arguments: dict = {
        "mean": ([math.log(2), 0.0], [0.0, math.log(2)]),
        "weight": [0.25, 0.25],
        "start": ([0.0, 0.0], [0.0, 0.0]),
        "stop": ([math.log(4), 0.0], [0.0, math.log(4)]),
        "residual": 0.3,
        "log_ratio_error": [1e-4, 2e-4],
        "weight_error": [3e-4, 4e-4],
        "tails": [(0.2, 0.05, 0.1), (0.05, 0.2, 0.1)],
    }
    return decompose_segments(**(arguments | changes))


@pytest.mark.usefixtures("no_rounding")
def test_errors_of_segments():
    d = segments()
    tail = segments_module._TAIL_ERROR
    assert sorted(d.weight.tolist()) == [0.1, 0.1, 0.25, 0.25]
    assert (d.weight_error[d.weight == 0.1] == tail).all()
    assert sorted(d.weight_error.tolist()) == [tail, tail, 3e-4, 4e-4]
    errors = [2 * tail, 2 * tail, 1e-4, 2e-4]
    assert sorted(d.log_ratio_error.tolist()) == pytest.approx(errors, rel=1e-9, abs=0)
    # The ends hold 2/3 at 1 and 1/3 at 4, parts of 1 to 2 of the mean, so b = 2.
    assert d.upper.log_ratio_error.max() == pytest.approx((1 + 2.1 * 2) * 2e-4)
    assert d.upper.weight_error.max() == 4e-4
    assert d.upper.residual_error == pytest.approx(0.4 * tail)
    assert d.upper.singular_error == tail
    assert d.upper.residual == pytest.approx(0.5)
    assert sorted(d.upper.singular0.tolist()) == [0.0, 0.0, 0.05, 0.2]


def test_segments_are_rounded(monkeypatch):
    unit = 1e-7
    coarse_unit(monkeypatch, unit)
    d = segments()
    tails = d.weight_error < 1e-5
    assert (d.log_ratio_error[tails] >= unit * (math.log(2) + math.log(2))).all()
    assert d.upper.weight_error.min() >= 3e-4 + 10 * unit
    assert d.residual_error >= 20 * unit
    assert d.upper.residual_error >= 12 * unit


def test_a_residual_of_tails_alone_has_their_error():
    ends = ([0.0], [0.0])
    tail = (0.2, 0.2, 0.2)
    d = decompose_segments(ends, [0.8], start=ends, stop=ends, residual=0.0, tails=[tail])
    assert d.upper.residual == 0.2
    assert d.upper.residual_error >= segments_module._TAIL_ERROR


@pytest.mark.parametrize(
    ("mean", "width"),
    [
        (0.4, 1.0),
        (1e-7, 2e-7),
        (1e-8, 2e-7),
        (1e-3, 10.0),
        (5.0, 10.0),
        (9.999, 10.0),
        (30.0, 40.0),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_errors_of_split_cells_cover_wrong_logs(mean, width, sign):
    """Whatever the true logs are, some cover of the true cell lies within the stated errors.

    A cover has two ends that enclose the true ones and shares that give the true mean. Ends and
    shares vary over an interval each, so one exists if the extreme means enclose the true one.
    """
    mp, e = mpmath.MPContext(), mpmath.mpf("1e-12")
    mp.dps = 40
    logs = np.array([[0.0], [sign * mean], [sign * width]])
    split = segments_module._split(*logs, np.full(1, float(e)))
    to_small, to_large = (mp.mpf(float(x[0])) for x in (split.to_start, split.to_stop))
    if sign < 0:
        to_small, to_large = to_large, to_small
    small, large = sorted((0.0, sign * width))
    reach, slack = (mp.mpf(float(x[0])) for x in (split.end_error, split.share_error))
    assert max(reach, slack) < 1e-3
    lightest = max(to_large * (1 - slack), 1 - to_small * (1 + slack))
    heaviest = min(to_large * (1 + slack), 1 - to_small * (1 - slack))
    for move0, move1, move2 in product((-1, 1), repeat=3):
        true0, true2 = small + move0 * e, large + move2 * e
        true1 = mp.exp(sign * mp.mpf(mean) + move1 * e)
        least = (1 - lightest) * mp.exp(small - reach) + lightest * mp.exp(true2)
        most = (1 - heaviest) * mp.exp(true0) + heaviest * mp.exp(large + reach)
        assert least <= true1 <= most


def test_ratios_of_tails_are_rounded(monkeypatch):
    """Logarithms of large ratios are rounded by as much as they are large."""
    unit = 1e-7
    coarse_unit(monkeypatch, unit)
    d = segments(tails=[(0.2, 0.05, 1e-20), (0.05, 0.2, 1e-20)], residual=0.5)
    tails = d.weight < 1e-10
    size = np.abs(d.log_ratio0[tails]) + np.abs(d.log_ratio1[tails])
    assert (size > 80).all()
    assert (d.log_ratio_error[tails] >= unit * size).all()


@pytest.mark.parametrize("mean", [-0.1, math.log(4) + 0.1])
def test_a_mean_beyond_either_end_is_rejected(mean):
    with pytest.raises(ValueError, match="mean of every cell must lie between its ends"):
        segments(mean=([mean, 0.0], [0.0, math.log(2)]))


@pytest.mark.parametrize("sign", [-1, 1])
def test_cells_that_span_many_orders_of_magnitude_keep_their_mean(sign):
    """The share of the larger end may be far below one unit in the last place of 1."""
    ends, mean = [0.0, -85.0][::sign], -42.0
    rest = 1 - 0.4 * math.exp(mean)
    d = decompose_segments(
        ([mean, math.log(rest / 0.2)], [math.log(1.25), math.log(2.5)]),
        [0.4, 0.2],
        start=([ends[0], math.log(rest / 0.2)], [math.log(1.25), math.log(2.5)]),
        stop=([ends[1], math.log(rest / 0.2)], [math.log(1.25), math.log(2.5)]),
        residual=0.4,
    )
    cell = d.upper.log_ratio1 < 0.5
    assert d.upper.weight[cell].min() > 0
    mass = float(d.upper.weight[cell] @ d.upper.ratio0[cell])
    assert mass == pytest.approx(0.4 * math.exp(mean), rel=1e-13)


@pytest.mark.parametrize(("log0", "log1"), [(math.log(4), math.log(2)), (math.log(2), math.log(4))])
def test_the_share_of_a_cell_comes_from_its_longer_side(log0, log1):
    """Both ratios grow along the segment; the mean lies a third of the way."""
    mean = [math.log1p((math.exp(x) - 1) / 3) for x in (log0, log1)]
    d = decompose_segments(
        ([mean[0]], [mean[1]]),
        [0.4],
        start=([0.0], [0.0]),
        stop=([log0], [log1]),
        residual=0.4,
        tails=[(1 - 0.4 * math.exp(mean[0]), 1 - 0.4 * math.exp(mean[1]), 0.2)],
    )
    ends = sorted(zip(d.upper.ratio0.tolist(), d.upper.weight.tolist(), strict=True))
    assert ends[0] == pytest.approx((1.0, 0.4 * 2 / 3))
    assert ends[1] == pytest.approx((math.exp(log0), 0.4 / 3))
