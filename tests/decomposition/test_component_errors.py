"""Stated errors of decompositions: they cover what they must, and hardly more.

The unit round-off is set to 0, to see the errors of the data alone, or made large enough to see.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from shuffledp.decomposition import Decomposition, decompose_segments
from shuffledp.decomposition import boxes as boxes_module
from shuffledp.decomposition import components as components_module
from shuffledp.decomposition import decomposition as module
from shuffledp.decomposition import faint as faint_module
from shuffledp.decomposition import masses as masses_module
from shuffledp.decomposition import mixture as mixture_module
from shuffledp.decomposition import product as product_module
from shuffledp.decomposition import segments as segments_module

INF = math.inf
ROUNDED = (
    boxes_module,
    components_module,
    faint_module,
    masses_module,
    mixture_module,
    module,
    product_module,
    segments_module,
)

A, B = np.array([0.5, 0.2, 0.2]), np.array([0.1, 0.3, 0.5])  # the rest of both is singular
C = np.array([0.2, 0.1, 0.3])
VAGUE = Decomposition(
    log_ratio0=np.log(A / C),
    log_ratio1=np.log(B / C),
    weight=C,
    residual=0.4,
    log_ratio_error=[1e-4, 3e-4, 2e-4],
    weight_error=[2e-4, 1e-4, 5e-4],
    residual_error=3e-4,
    singular0=[0.08, 0.02],
    singular1=[0.01, 0.09],
    singular_error=7e-4,
)
OTHER = Decomposition(
    log_ratio0=np.log([2.0, 0.5]),
    log_ratio1=np.log([0.5, 2.0]),
    weight=[0.25, 0.25],
    residual=0.5,
    log_ratio_error=[4e-4, 1e-4],
    weight_error=[1e-4, 6e-4],
    residual_error=1e-4,
    singular0=[0.375],
    singular1=[0.375],
    singular_error=2e-4,
)


UNEVEN = replace(OTHER, log_ratio_error=[0.0, 5e-3], weight_error=[0.0, 0.0])


@pytest.fixture
def no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse_unit(monkeypatch, 0.0)


def coarse_unit(monkeypatch: pytest.MonkeyPatch, unit: float) -> None:
    for place in ROUNDED:
        monkeypatch.setattr(place, "UNIT", unit)
    monkeypatch.setattr(mixture_module, "_ROUNDING", 8 * unit)


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
    rounded = far.max_epsilon_interval()
    assert rounded.upper - plain.upper >= 1e-6 * 460
    assert plain.lower - rounded.lower >= 1e-6 * 460


# -- merging, products, mixtures ------------------------------------------------------------------


@pytest.mark.usefixtures("no_rounding")
def test_a_merged_weight_is_as_vague_as_its_vaguest_part():
    d = Decomposition(
        log_ratio0=np.zeros(3),
        log_ratio1=np.zeros(3),
        weight=[0.25, 0.5, 0.25],
        residual=0.0,
        log_ratio_error=0.0,
        weight_error=[1e-3, 2e-5, 4e-3],
    )
    assert d.merge().weight_error.tolist() == [4e-3]
    assert d.merge().weight.tolist() == [1.0]


@pytest.mark.usefixtures("no_rounding")
@pytest.mark.parametrize(
    ("one", "two"), [(VAGUE, OTHER), (OTHER, VAGUE), (VAGUE, VAGUE), (VAGUE, UNEVEN)]
)
def test_errors_of_a_product(one, two):
    """Move both factors as far as they may: the product moves no further than it says."""
    joint = one.product(two)
    shape = (one.size, two.size)
    logs = np.add.outer(one.log_ratio_error, two.log_ratio_error)
    assert joint.log_ratio_error.reshape(shape) == pytest.approx(logs, abs=1e-15)
    weights = np.outer(1 + one.weight_error, 1 + two.weight_error) - 1
    assert joint.weight_error.reshape(shape) == pytest.approx(weights, rel=1e-10)
    for sign in (-1, 1):
        first = one.residual * (1 + sign * one.residual_error)
        second = two.residual * (1 + sign * two.residual_error)
        shift = abs((first + second - first * second) / joint.residual - 1)
        assert shift <= joint.residual_error <= 8 * shift
    # A singular mass is a singular one times a singular one, or times weight and ratio.
    needed = max(
        one.singular_error + two.singular_error,
        one.singular_error + float((two.log_ratio_error + two.weight_error).max()),
        two.singular_error + float((one.log_ratio_error + one.weight_error).max()),
    )
    assert needed <= joint.singular_error <= 2.5 * needed


def test_a_product_is_rounded(monkeypatch):
    plain = VAGUE.product(OTHER)
    unit = 1e-7
    coarse_unit(monkeypatch, unit)
    rounded = VAGUE.product(OTHER)
    assert (rounded.weight_error - plain.weight_error >= 0.9 * unit).all()
    assert rounded.residual_error - plain.residual_error >= 2 * unit
    assert rounded.singular_error - plain.singular_error >= 4 * unit


@pytest.mark.parametrize("swapped", [False, True])
def test_sums_of_logarithms_are_rounded(swapped):
    """The error of each sum is known exactly, also if only one of the two sums is rounded."""
    log = 1e-3 + 1 / 3
    a = 0.1 * (3 + math.exp(-log))
    one = Decomposition(
        log_ratio0=[math.log(3.0), -log],
        log_ratio1=[0.0, 0.0],
        weight=[0.1, 0.1],
        residual=0.8,
        singular0=[1 - a],
        singular1=[0.8],
    )
    if swapped:
        one = one.swap()
    joint = one.product(one)
    for name in ("log_ratio0", "log_ratio1"):
        own = [Fraction(float(x)) for x in getattr(one, name)]
        exact = [x + y for x in own for y in own]
        gaps = [
            abs(Fraction(float(x)) - y) for x, y in zip(getattr(joint, name), exact, strict=True)
        ]
        assert any(gaps) == ((name == "log_ratio1") == swapped)
        errors = map(Fraction, joint.log_ratio_error.tolist())
        assert all(gap <= error for gap, error in zip(gaps, errors, strict=True))


def test_logarithms_are_rounded_by_as_much_as_they_are_large():
    for a, b in ((0.75, 0.25), (0.25, 0.75)):
        d = Decomposition.from_coefficients([a, 1 - a], [b, 1 - b], [0.25, 0.25])
        assert (d.log_ratio_error >= 2.0**-53 * math.log(3)).all()


def tiny(a: float, b: float) -> Decomposition:
    return Decomposition.from_coefficients([a, 1 - a], [b, 1 - b], [1e-170, 0.5])


def test_weights_that_underflow_are_exposed_above_and_absorbed_below():
    a, b = 1e-3, 2e-3
    joint = tiny(a, b).product(tiny(a, b))
    assert joint.size == joint.upper.size == 3
    assert joint.upper.singular0.tolist() == pytest.approx([a * a])
    assert joint.upper.singular1.tolist() == pytest.approx([b * b])
    assert joint.singular0.size == 0
    for side in (joint, joint.upper):
        assert side.weight.tolist() == pytest.approx([5e-171, 5e-171, 0.25])
    heaviest = joint.weight * joint.ratio0, joint.weight * joint.ratio1
    assert heaviest[0].sum() == pytest.approx(1, abs=1e-12)
    assert sorted(heaviest[0][:2]) == pytest.approx([a * (1 - a), a * (1 - a) + a * a])
    assert sorted(heaviest[1][:2]) == pytest.approx([b * (1 - b), b * (1 - b) + b * b])
    assert joint.log_ratio_error[:2].max() >= 1e-12
    mixed = tiny(a, b).product(replace(tiny(b, a), spread=tiny(b, a)))
    assert sorted(mixed.upper.singular0.tolist()) == pytest.approx([a * b])


def test_weights_that_just_fit_stay(monkeypatch):
    d = Decomposition.from_coefficients([1e-12, 1.0], [1e-12, 1.0], [1e-140, 0.5])
    joint = d.product(d)
    assert joint.spread is None
    assert joint.size == 4
    assert joint.weight.min() == pytest.approx(1e-280)
    coarse_unit(monkeypatch, 1e-7)
    assert tiny(0.1, 0.2).product(tiny(0.1, 0.2)).upper.singular_error >= 1e-12


@pytest.mark.usefixtures("no_rounding")
@pytest.mark.parametrize("excess", [0.0, 5e-13, -5e-13])
def test_errors_of_a_mixture(excess):
    mixed = Decomposition.mixture([0.25, 0.75 + excess], [VAGUE, OTHER])
    assert mixed.weight_error.tolist() == [*VAGUE.weight_error, *OTHER.weight_error]
    assert mixed.residual_error == 3e-4
    assert mixed.singular_error == 7e-4
    assert mixed.log_ratio_error.tolist() == [*VAGUE.log_ratio_error, *OTHER.log_ratio_error]


@pytest.mark.parametrize("shares", [(0.25, 0.75 + 5e-13), (0.25, 0.75 - 5e-13), (0.1, 0.9)])
def test_the_weights_of_a_mixture_are_divided_by_their_sum(shares):
    exact = replace(VAGUE, weight_error=[0.0]), replace(OTHER, weight_error=[0.0])
    mixed = Decomposition.mixture(shares, exact)
    total = sum(map(Fraction, shares))
    expected = [
        Fraction(share) / total * Fraction(weight)
        for share, part in zip(shares, exact, strict=True)
        for weight in part.weight.tolist()
    ]
    for weight, error, truth in zip(mixed.weight, mixed.weight_error, expected, strict=True):
        assert abs(Fraction(float(weight)) / truth - 1) <= Fraction(float(error)) < 1e-15


def test_a_mixture_with_a_part_too_rare_for_doubles():
    rare = Decomposition.from_coefficients([0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [1e-10, 0.2, 0.1])
    mixed = Decomposition.mixture([1e-303, 1.0], [rare, OTHER])
    assert mixed.spread is not None
    for side in (mixed, mixed.upper):
        assert side.weight.min() >= 1e-304
        assert float(side.weight.sum()) + side.residual == pytest.approx(1, abs=1e-15)
    exposed = mixed.upper.singular0 < 1e-200
    assert mixed.upper.singular0[exposed].tolist() == pytest.approx([0.7e-303], rel=1e-9, abs=0)
    assert mixed.upper.singular1[exposed].tolist() == pytest.approx([1e-304], rel=1e-9, abs=0)


def test_singular_masses_of_a_mixture_that_underflow_count_above():
    rare = Decomposition.from_coefficients([1e-10, 1 - 1e-10], [0.0, 1.0], [0.0, 0.5])
    mixed = Decomposition.mixture([1e-302, 1.0], [rare, OTHER])
    assert mixed.upper.singular0[0] == 2.0**-1022
    assert mixed.singular0[0] == 0


def test_a_mixture_is_rounded(monkeypatch):
    plain = Decomposition.mixture([0.25, 0.75], [VAGUE, OTHER])
    coarse_unit(monkeypatch, 1e-7)
    rounded = Decomposition.mixture([0.25, 0.75], [VAGUE, OTHER])
    assert (rounded.weight_error - plain.weight_error >= 0.9e-7).all()
    assert rounded.residual_error - plain.residual_error >= 2.9e-7
    assert rounded.singular_error - plain.singular_error >= 0.9e-7


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
