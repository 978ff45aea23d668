"""Stated errors of decompositions: they cover what they must, and hardly more.

The unit round-off is set to 0, to see the errors of the data alone, or made large enough to see.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from rounding import INF, OTHER, UNEVEN, VAGUE, A, B, C, coarse_unit, no_rounding  # noqa: F401

from shuffledp.decomposition import Decomposition

# -- invariants -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "errors"),
    [
        ("weight plus residual", ([0.0, 0.0], [0.0, 0.0], [0.5, 0.5 + 1e-9], 0.0), "weight_error"),
        ("weight plus residual", ([1e-9], [1e-9], [1 - 1e-9], 1.5e-9), "residual_error"),
        ("a", ([1e-9, 0.0], [0.0, 0.0], [0.5, 0.5], 0.0), "log_ratio_error"),
        ("b", ([0.0, 0.0], [0.0, -1e-9], [0.5, 0.5], 0.0), "log_ratio_error"),
    ],
)
def test_masses_may_miss_one_by_their_errors_only(name, arguments, errors):
    zero = {"log_ratio_error": 0.0, "weight_error": 0.0, "residual_error": 0.0}
    fields = ("log_ratio0", "log_ratio1", "weight", "residual")
    masses = dict(zip(fields, arguments, strict=True))
    with pytest.raises(ValueError, match=f"the masses of {name} must sum to 1"):
        Decomposition(**(masses | zero))
    Decomposition(**(masses | zero | {errors: 0.9}))


@pytest.mark.parametrize("which", ["0", "1"])
def test_singular_masses_may_miss_one_by_their_error_only(which):
    masses = {"singular0": [0.5], "singular1": [0.5], "residual": 0.5}
    masses[f"singular{which}"] = [0.5 + 1e-9]
    arguments = {"log_ratio0": [0.0], "log_ratio1": [0.0], "weight": [0.5], **masses}
    with pytest.raises(ValueError, match="must sum to 1"):
        Decomposition(**arguments)
    Decomposition(**arguments, singular_error=1e-8)


@pytest.mark.parametrize("name", ["log_ratio_error", "weight_error"])
@pytest.mark.parametrize("error", [1.0, 1.5, [[0.0, 0.0]], [0.0, 0.0, 0.0]])
def test_errors_of_one_or_more_or_of_another_shape_are_rejected(name, error):
    with pytest.raises(ValueError, match=name):
        Decomposition(
            log_ratio0=[0.0, 0.0],
            log_ratio1=[0.0, 0.0],
            weight=[0.5, 0.5],
            residual=0.0,
            **{name: error},
        )


def test_many_small_errors_do_not_break_an_invariant():
    size = 2000
    weight = np.full(size, 1 / size)
    Decomposition(log_ratio0=np.zeros(size), log_ratio1=np.zeros(size), weight=weight, residual=0.0)


@pytest.mark.parametrize("error", [1e-5, 1e-2])
def test_silent_components_bring_their_errors(error, monkeypatch):
    coarse_unit(monkeypatch, 1e-6)
    d = Decomposition(
        log_ratio0=[math.log(2.0), -INF, -INF],
        log_ratio1=[math.log(2.0), -INF, -INF],
        weight=[0.5, 0.125, 0.25],
        residual=0.125,
        weight_error=[0.0, 1e-6, error],
        residual_error=1e-3,
    )
    assert d.size == 1
    assert d.residual == 0.5
    assert max(error, 1e-3) < d.residual_error <= max(error, 1e-3) + 1e-5


@pytest.mark.parametrize("missing", [1e-3, 1e-9])
def test_a_small_residual_is_known_less_well(missing):
    weight = np.random.default_rng(0).dirichlet(np.ones(1000)) * (1 - missing)
    same = weight / weight.sum()
    d = Decomposition.from_coefficients(same, same, weight)
    exact = 1 - sum(map(Fraction, weight.tolist()))
    assert d.residual == pytest.approx(missing, rel=1e-4)
    assert abs(Fraction(d.residual) / exact - 1) <= Fraction(d.residual_error)
    assert d.residual_error < 1e-15


def test_a_residual_of_rounding_size_is_still_accepted():
    weight = np.full(20_000, (1 - 2e-12) / 20_000)
    same = np.full(20_000, 1 / 20_000)
    d = Decomposition.from_coefficients(same, same, weight)
    exact = 1 - sum(map(Fraction, weight.tolist()))
    assert abs(Fraction(d.residual) / exact - 1) <= Fraction(d.residual_error)
    assert d.residual_error < 1e-15


# -- the law at one epsilon -----------------------------------------------------------------------


@pytest.mark.usefixtures("no_rounding")
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.7])
def test_values_move_as_far_as_their_ratios_may(epsilon):
    law = VAGUE.at(epsilon).lower
    for sign in (-1, 1):  # a and b move against each other
        moved0 = VAGUE.ratio0 * np.exp(sign * VAGUE.log_ratio_error)
        moved1 = VAGUE.ratio1 * np.exp(-sign * VAGUE.log_ratio_error)
        shift = np.abs(moved0 - math.exp(epsilon) * moved1 - law.values[:3])
        assert (shift <= law.value_error[:3]).all()
        assert (shift >= 0.99 * law.value_error[:3]).all()
    assert law.values[3] == law.value_error[3] == 0
    assert law.weight_error.tolist() == pytest.approx([2e-4, 1e-4, 5e-4, 3e-4], rel=1e-3)
    assert (law.weight_error >= -np.log1p(-np.append(VAGUE.weight_error, 3e-4))).all()


@pytest.mark.parametrize(
    ("log0", "log1", "epsilon"),
    [
        (1.0, -30.0, 2.0),  # a large negative log ratio of b
        (0.5, -0.5, 200.0),  # a large epsilon
        (0.5, 100.0, 100.0),  # both
        (30.0, 0.0, 0.1),  # a large excess
        (200.0, 0.0, 0.1),  # an excess beyond the range of expm1
        (200.0, 120.0, -1.0),
    ],
)
def test_rounded_logarithms_are_part_of_the_values(log0, log1, epsilon, monkeypatch):
    """Relative errors of exponents are absolute errors of logarithms."""
    light = math.exp(-log0) / 4, math.exp(-log1) / 4
    weight = min(light)
    rest = [math.log((1 - weight * math.exp(x)) / 0.5) for x in (log0, log1)]
    d = Decomposition(
        log_ratio0=[log0, rest[0]],
        log_ratio1=[log1, rest[1]],
        weight=[weight, 0.5],
        residual=0.5 - weight,
    )
    coarse_unit(monkeypatch, 0.0)
    plain = d.at(epsilon).lower.value_error[0]
    unit = 1e-6
    coarse_unit(monkeypatch, unit)
    law = d.at(epsilon).lower
    excess = log0 - log1 - epsilon
    if excess > 40:
        needed = abs(log1 + epsilon) * math.exp(log1 + epsilon) + abs(log0) * math.exp(log0)
    else:
        size = abs(log1 + epsilon) + 1 + max(excess, 0.0)
        needed = abs(law.values[0]) * size
    assert law.value_error[0] - plain >= unit * needed


def test_a_value_that_vanishes_is_as_vague_as_the_difference_of_its_logarithms():
    """Logarithms that count as exact: the rounding of their difference is the whole error."""
    logs = np.array([0.7, -0.1234567])
    weight = 0.2
    rest = [math.log((1 - weight * math.exp(x)) / 0.5) for x in logs]
    d = Decomposition(
        log_ratio0=[logs[0], rest[0]],
        log_ratio1=[logs[1], rest[1]],
        weight=[weight, 0.5],
        residual=0.3,
    )
    epsilon = float(logs[0] - logs[1])
    assert Fraction(epsilon) != Fraction(logs[0]) - Fraction(logs[1])
    law = d.at(epsilon).lower
    with mpmath.workdps(40):
        gain = mpmath.exp(mpmath.mpf(logs[0]))
        exact = gain - mpmath.exp(mpmath.mpf(epsilon) + mpmath.mpf(logs[1]))
        assert exact != 0
        assert abs(law.values[0] - exact) <= law.value_error[0]


@pytest.mark.usefixtures("no_rounding")
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.7, 1.9])  # nearly equal masses at the last
def test_the_singular_part_is_as_wide_as_its_error(epsilon):
    gparv, s = VAGUE.at(epsilon), VAGUE.singular_error
    a, b = VAGUE.singular0, math.exp(epsilon) * VAGUE.singular1
    least = float(np.maximum(a * (1 - s) - b * (1 + s), 0).sum())
    most = float(np.maximum(a * (1 + s) - b * (1 - s), 0).sum())
    assert least * (1 - 1.1 * s) <= gparv.singular_lower <= least * (1 - 0.9 * s)
    assert most * (1 + 0.9 * s) <= gparv.singular_upper <= most * (1 + 1.1 * s)


@pytest.mark.parametrize("epsilon", [-50.0, -1.0, 1.0])
def test_the_singular_part_is_rounded(epsilon, monkeypatch):
    plain = VAGUE.at(epsilon)
    unit = 1e-5
    coarse_unit(monkeypatch, unit)
    rounded = VAGUE.at(epsilon)
    needed = unit * (abs(epsilon) + 4) * plain.singular_upper
    assert rounded.singular_upper - plain.singular_upper >= needed
    assert plain.singular_lower - rounded.singular_lower >= needed * 0.9


def test_many_singular_masses_are_rounded_more(monkeypatch):
    masses = np.full(50, 0.02)
    d = Decomposition(
        log_ratio0=[],
        log_ratio1=[],
        weight=[],
        residual=1.0,
        singular0=masses,
        singular1=masses[::-1],
    )
    plain = d.at(-1.0)
    unit = 1e-5
    coarse_unit(monkeypatch, unit)
    rounded = d.at(-1.0)
    assert rounded.singular_upper - plain.singular_upper >= 50 * unit * plain.singular_upper
    assert plain.singular_lower - rounded.singular_lower >= 45 * unit * plain.singular_upper


def test_each_side_of_cells_keeps_its_singular_part():
    spread = replace(OTHER, singular0=[0.375, 0.0], singular1=[0.0, 0.375])
    gparv = replace(OTHER, spread=spread).at(0.0)
    assert gparv.singular_lower == 0
    assert gparv.singular_upper == pytest.approx(0.375, rel=1e-3)


# -- the largest epsilon --------------------------------------------------------------------------


@pytest.mark.usefixtures("no_rounding")
def test_the_largest_epsilon_is_as_wide_as_the_ratios():
    interval = VAGUE.max_epsilon_interval()
    singular = math.log(0.08 / 0.01)
    assert interval.lower == pytest.approx(singular - 2 * 7e-4, abs=1e-12)
    assert interval.upper == pytest.approx(singular + 2 * 7e-4, abs=1e-12)
    assert VAGUE.max_epsilon == interval.upper
    plain = Decomposition(
        log_ratio0=np.log([2.0, 0.5]),
        log_ratio1=np.log([0.5, 2.0]),
        weight=[0.4, 0.4],
        residual=0.2,
        log_ratio_error=[1e-4, 1e-4],
        weight_error=0.0,
    )
    interval = plain.max_epsilon_interval()
    assert interval.lower == pytest.approx(math.log(4) - 2e-4, abs=1e-12)
    assert interval.upper == pytest.approx(math.log(4) + 2e-4, abs=1e-12)


def test_the_largest_epsilon_of_cells_runs_from_mean_to_end():
    spread = Decomposition(
        log_ratio0=np.log([3.0, 1 / 3]),
        log_ratio1=np.log([1 / 3, 3.0]),
        weight=[0.3, 0.3],
        residual=0.4,
    )
    cells = Decomposition(
        log_ratio0=np.log([2.0, 0.5]),
        log_ratio1=np.log([0.5, 2.0]),
        weight=[0.4, 0.4],
        residual=0.2,
        spread=spread,
    )
    interval = cells.max_epsilon_interval()
    assert interval.lower == pytest.approx(math.log(4))
    assert interval.upper == pytest.approx(math.log(9))


def test_nothing_to_tell_apart():
    alone = Decomposition(
        log_ratio0=[],
        log_ratio1=[],
        weight=[],
        residual=1.0,
        singular0=[0.0, 1.0],
        singular1=[1.0, 0.0],
    )
    assert alone.max_epsilon == INF
    silent = Decomposition(
        log_ratio0=[0.0], log_ratio1=[0.0], weight=[1.0], residual=0.0, log_ratio_error=0.0
    )
    assert silent.max_epsilon_interval().lower == silent.max_epsilon_interval().upper == 0


def test_the_singular_ratio_is_rounded(monkeypatch):
    far = Decomposition(
        log_ratio0=[],
        log_ratio1=[],
        weight=[],
        residual=1.0,
        singular0=[1.0, 0.0],
        singular1=[1e-200, 1.0],
        singular_error=0.0,
    )
    plain = far.max_epsilon_interval()
    coarse_unit(monkeypatch, 1e-6)
    rounded = replace(far).max_epsilon_interval()
    assert rounded.upper - plain.upper >= 1e-6 * 460
    assert plain.lower - rounded.lower >= 1e-6 * 460
