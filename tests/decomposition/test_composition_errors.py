"""Stated errors of merged components, products and mixtures (see test_component_errors.py)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from rounding import INF, OTHER, UNEVEN, VAGUE, A, B, C, coarse_unit, no_rounding  # noqa: F401

from shuffledp.decomposition import Decomposition

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
