"""Errors of tilted laws, with a unit round-off that is 0 or large enough to see."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest

from shuffledp.decomposition import Law
from shuffledp.divergence import tilt as module
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import _sum, log_mgf, tilt, tilt_sum


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


NEAR = make_law([0.9, -0.5, 0.0, 0.3], [0.3, 0.2, 0.3, 0.2])  # all exponents below 1
FAR = make_law([4.0, -3.0, 0.0, 1.0], [0.1, 0.6, 0.2, 0.1])


def with_errors(law: Law, value: list[float], weight: list[float]) -> Law:
    return Law(law.values, law.weights, np.array(value), np.array(weight))


@pytest.mark.parametrize("theta", [0.3, 1.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_errors_of_weights_change_a_small_k_by_no_more_than_stated(
    theta: float, sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the weights miss to 1 sits at 0: an atom counts by e^{theta g} - 1."""
    monkeypatch.setattr(module, "UNIT", 0.0)
    law = Law(sign * NEAR.values, NEAR.weights, NEAR.value_error, NEAR.weight_error)
    errors = np.array([1e-6, 4e-6, 2e-6, 3e-6])
    stated = tilt(with_errors(law, [0.0] * 4, errors.tolist()), theta)
    growth = law.weights * np.expm1(theta * law.values)
    worst = max(
        abs(math.log1p(float(growth @ (1 + up * errors * np.sign(growth)))) - stated.log_mgf)
        for up in (-1, 1)
    )
    assert worst * 0.9999 <= stated.log_mgf_error <= worst * 1.0001


@pytest.mark.parametrize("theta", [0.6, 5.0])
def test_errors_of_weights_change_a_large_k_by_no_more_than_stated(
    theta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNIT", 0.0)
    errors = np.array([1e-6, 4e-6, 2e-6, 3e-6])
    stated = tilt(with_errors(FAR, [0.0] * 4, errors.tolist()), theta)
    moved = Law(FAR.values, FAR.weights * (1 + errors), FAR.value_error, FAR.weight_error)
    worst = float(log_mgf(moved, np.array([theta]))[0][0]) - stated.log_mgf
    assert worst * 0.9999 <= stated.log_mgf_error <= worst * 1.0001


@pytest.mark.parametrize("law", [NEAR, FAR])
@pytest.mark.parametrize("theta", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("size", [1.0, 1e3, 3e4])
def test_the_shift_of_values_is_weighted_by_the_tilted_law(
    law: Law, theta: float, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value up by its error: K rises by no more than theta times the stated mean shift."""
    monkeypatch.setattr(module, "UNIT", 0.0)
    errors = size * np.array([1e-5, 3e-5, 2e-5, 1e-5])
    stated = tilt(with_errors(law, errors.tolist(), [0.0] * 4), theta)
    moved = Law(law.values + errors, law.weights, errors, errors)
    rise = float(log_mgf(moved, np.array([theta]))[0][0]) - stated.log_mgf
    weighted = float(stated.probability @ (errors * np.exp(theta * errors)))
    assert rise <= theta * stated.value_shift * (1 + 1e-9)
    assert weighted <= stated.value_shift
    assert stated.value_shift <= weighted * np.exp(theta * errors.max()) * (1 + 1e-8) + 1e-290


def test_a_vague_value_counts_though_its_probability_underflows() -> None:
    """At -1000, give or take 1010, an atom of negligible probability may be the largest gain."""
    law = Law(np.array([0.5, -1000.0]), np.full(2, 0.5), np.array([0.0, 1010.0]), np.zeros(2))
    tilted = tilt(law, 1.0)
    assert tilted.probability[1] == 0
    exact = 0.5 * math.exp(10.0) * 1010.0 / (0.5 * math.exp(0.5))
    assert exact <= tilted.value_shift <= exact * (1 + 1e-6)


@pytest.mark.parametrize(
    ("law", "theta"),
    [
        (FAR, 500.0),  # large exponents
        (make_law([1.0, -1e-3], [1e-200, 1.0]), 700.0),  # a small weight against a large exponent
        (make_law([1.0, -1.0], [0.5, 0.5]), 300.0),
        (make_law([0.001, -1.0], [1e-250, 1.0]), 400.0),  # a K far below 0
        (make_law([-1.0, -1.0], [0.5, 0.5]), 2.0),  # no slack in the sum of two negative terms
    ],
)
def test_rounding_of_a_large_k_is_covered(
    law: Law, theta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A logarithm is good to 4 units; a product, a sum, its distance from K and K itself to one."""
    unit = 1e-6
    monkeypatch.setattr(module, "UNIT", unit)
    tilted = tilt(law, theta)
    p = tilted.probability
    exponent, log_weight, k = theta * law.values, np.log(law.weights), tilted.log_mgf
    total = exponent + log_weight
    rounded = 4 * np.abs(log_weight) + np.abs(exponent) + np.abs(total)
    assert tilted.log_mgf_error >= unit * (float(p @ rounded) + abs(k))
    own = unit * (4 + float(p @ (rounded + np.abs(total - k))))
    assert tilted.probability_error >= own + tilted.log_mgf_error  # the error of K is common


def test_rounding_of_a_small_k_is_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = 1e-6
    monkeypatch.setattr(module, "UNIT", unit)
    law = make_law([0.99, 0.98, -0.01], [0.5, 0.3, 0.2])
    tilted = tilt(law, 1.0)
    growth = float(law.weights @ np.abs(np.expm1(law.values)))
    assert tilted.log_mgf_error >= unit * (growth / math.exp(tilted.log_mgf) + tilted.log_mgf)
    own = unit * (5 + float(tilted.probability @ np.abs(law.values)) + tilted.log_mgf)
    assert tilted.probability_error >= own + tilted.log_mgf_error


@pytest.mark.parametrize("theta", [0.5, 3.0])
@pytest.mark.parametrize("errors", [[1e-3, 1e-5, 1e-5, 1e-5], [1e-5, 1e-5, 1e-3, 2e-3]])
def test_the_error_of_the_probabilities_is_a_mean(
    theta: float, errors: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain, or weighted by the distance from the mean: whichever is larger."""
    monkeypatch.setattr(module, "UNIT", 0.0)
    tilted = tilt(with_errors(NEAR, [0.0] * 4, errors), theta)
    p, distance = tilted.probability, np.abs(tilted.centred)
    own = np.expm1(np.array(errors) + tilted.log_mgf_error)
    plain, weighted = float(p @ own), float((p * distance) @ own) / float(p @ distance)
    assert tilted.probability_error == pytest.approx(max(plain, weighted), rel=1e-12)


@pytest.mark.parametrize("law", [NEAR, FAR])
@pytest.mark.parametrize("theta", [0.02, 0.3, 5.0])
@pytest.mark.parametrize("size", [1e-3, 0.1, 0.7])
def test_large_errors_of_weights_are_covered_beyond_their_first_order(
    law: Law, theta: float, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights anywhere within the errors of their logarithms, with the sum 1."""
    monkeypatch.setattr(module, "UNIT", 0.0)
    for signs in product((-1, 0, 1), repeat=4):
        weights = law.weights * np.exp(size * np.array(signs))
        weights /= weights.sum()
        vague = with_errors(law, [0.0] * 4, np.abs(np.log(weights / law.weights)).tolist())
        raised = weights * np.exp(theta * law.values)
        k, p = math.log(float(raised.sum())), raised / raised.sum()
        tilted = tilt(vague, theta)
        several, errors = log_mgf(vague, np.array([theta]))
        assert abs(k - tilted.log_mgf) <= tilted.log_mgf_error + 1e-14
        assert abs(k - several[0]) <= errors[0] + 1e-14
        distance = np.abs(tilted.centred)
        moved, error = np.abs(p - tilted.probability), tilted.probability_error
        assert moved.sum() <= error + 1e-14
        assert moved @ distance <= error * tilted.mean_deviation + 1e-14
        assert p @ distance**2 <= tilted.variance + 1e-14


def test_the_error_of_the_zero_is_that_of_its_atoms(monkeypatch: pytest.MonkeyPatch) -> None:
    law = make_law([1.0, 0.0, -1.0, 0.0], [0.2, 0.3, 0.3, 0.2])
    vague = with_errors(law, [0.0] * 4, [1e-2, 1e-5, 1e-2, 3e-5])
    monkeypatch.setattr(module, "UNIT", 0.0)
    for theta in (0.5, 5.0):
        tilted = tilt(vague, theta)
        assert tilted.zero_error == pytest.approx(3e-5 + tilted.log_mgf_error, rel=1e-12)
    monkeypatch.setattr(module, "UNIT", 1e-3)
    assert tilt(vague, 0.5).zero_error >= 3e-5 + 4e-3 + 4e-3


@pytest.mark.parametrize("scale", [0.5, 0.99, 1.01, 1.9, 2.1, 5.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_log_mgf_where_its_formula_changes(scale: float, sign: int) -> None:
    law = make_law([sign * 1.0, -sign * 0.9, 0.2], [0.6, 0.3, 0.1])
    exact = math.log(float(law.weights @ np.exp(scale * law.values)))
    assert log_mgf(law, np.array([scale]))[0][0] == pytest.approx(exact, abs=1e-14)
    assert tilt(law, scale).log_mgf == pytest.approx(exact, abs=1e-14)


def test_short_sums_are_exact() -> None:
    assert _sum(np.array([1e16, 1.0, -1e16])) == 1.0
    assert _sum(np.full(1000, 0.125)) == 125.0


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e250])
def test_in_units_of_the_saddle_point_it_is_one(unit: float) -> None:
    law = Law(FAR.values * unit, FAR.weights, FAR.value_error, FAR.weight_error)
    total = BlockSum.of((law, 50))
    factor = saddle_point(total)
    standard = total.in_units(factor)
    assert standard.laws[0].values == pytest.approx(law.values * factor, rel=1e-12)
    assert factor * unit == pytest.approx(saddle_point(BlockSum.of((FAR, 50))), rel=0.1)
    tilted = tilt_sum(standard, 1.0)
    assert abs(tilted.mean - 2) <= 0.11 * (tilted.variance + 2) ** 0.5


def test_far_losses_stay_finite() -> None:
    errors = np.array([0.0, 1e-3])
    law = Law(np.array([1e-200, -1.0]), np.array([0.5, 0.5]), errors, errors * 0)
    (standard,) = BlockSum.of((law, 3)).in_units(1e200).laws
    assert standard.values[1] == -1e100
    assert standard.value_error[1] == 0
    law = Law(np.array([1.0, -2.0]), law.weights, errors, errors * 0)
    (near,) = BlockSum.of((law, 3)).in_units(1.0).laws
    assert near.value_error[1] > 0


def test_a_loss_that_gains_can_make_up_for_is_kept() -> None:
    """Whatever factor is proposed: in these units 1e100 is no large loss."""
    law = Law(np.array([1.0, -3.0, -1e9]), np.full(3, 1 / 3), np.zeros(3), np.zeros(3))
    (huge,) = BlockSum.of((law, 1000)).in_units(1e110).laws
    assert huge.values.tolist() == pytest.approx([1e110, -3e110, -2e113])
    # Gains of other blocks count as well.
    other = Law(np.array([1e6, 0.0]), np.full(2, 0.5), np.zeros(2), np.zeros(2))
    huge, _ = BlockSum.of((law, 1000), (other, 1)).in_units(1e110).laws
    assert huge.values.tolist() == pytest.approx([1e110, -3e110, -2.002e116])


def test_probabilities_of_rare_atoms_were_found_to_miss() -> None:
    """Weights near 1e-224 beside exponents of 538: both are rounded far more than their sum."""
    values = [1069.0041049480326, 1067.7888085256204, -1.0]
    law = Law(
        np.array(values),
        np.array([6.98615076399517e-225, 1.4903301401362952e-224, 1.0]),
        *[np.zeros(3)] * 2,
    )
    theta = 0.503961083602903
    tilted = tilt(law, theta)
    with mpmath.workdps(60):
        mgf = mpmath.fsum(
            mpmath.mpf(w) * mpmath.exp(mpmath.mpf(theta) * g)
            for g, w in zip(values, law.weights.tolist(), strict=True)
        )
        gaps = [
            abs(p - mpmath.mpf(w) * mpmath.exp(mpmath.mpf(theta) * g) / mgf)
            for p, g, w in zip(tilted.probability, values, law.weights.tolist(), strict=True)
        ]
        assert mpmath.fsum(gaps) <= tilted.probability_error


@pytest.mark.parametrize("sign", [1, -1])
def test_rare_large_values_leave_a_small_k_accurate(sign: int) -> None:
    """Seen from n = 1e9, an error of a few units of K would be one of 1e-6."""
    rng = np.random.default_rng(2)
    values = sign * np.concatenate([rng.normal(0.0, 3.0, 40), [5e5, -2e5, 0.0]])
    weights = np.concatenate([rng.uniform(0.5, 1.0, 40), [1e-9, 1e-8, 9.0]])
    weights /= math.fsum(weights)
    law = Law(values, weights, np.zeros(43), np.zeros(43))
    tilted = tilt(law, 3e-5)
    with mpmath.workdps(60):
        # The weights stand for what they are with a residual at 0.
        exact = mpmath.log1p(
            mpmath.fsum(
                mpmath.mpf(w) * mpmath.expm1(mpmath.mpf(3e-5) * mpmath.mpf(v))
                for w, v in zip(weights.tolist(), values.tolist(), strict=True)
            )
        )
        assert abs(exact - mpmath.mpf(tilted.log_mgf)) <= tilted.log_mgf_error
    assert 0 < tilted.log_mgf_error < 4 * module.UNIT
    assert tilted.probability.sum() == pytest.approx(1.0, abs=1e-12)


def test_large_values_that_count_are_no_small_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1 + sum w (e^x - 1) more than 1/3 is left wherever that is what is summed."""
    for values, weights in (
        ([5e5, 0.0], [1e-4, 1 - 1e-4]),  # e^15 times 1e-4
        ([-5e5, 0.0], [0.9, 0.1]),
        ([2e7, 0.0], [1e-200, 1.0]),  # beyond doubles
        ([4.0e4, -4.0e4, 0.0], [0.3, 0.3, 0.4]),
    ):
        law = make_law(values, weights)
        exponent = 3e-5 * law.values
        assert module._growth(law.weights, exponent, np.abs(exponent)) is None
        exact = mpmath.log(
            mpmath.fsum(
                mpmath.mpf(w) * mpmath.exp(mpmath.mpf(3e-5) * mpmath.mpf(v))
                for w, v in zip(law.weights.tolist(), law.values.tolist(), strict=True)
            )
        )
        tilted = tilt(law, 3e-5)
        assert abs(float(exact) - tilted.log_mgf) <= tilted.log_mgf_error + 1e-14 * abs(exact)
    monkeypatch.setattr(module, "UNIT", 1e-3)
    rare = make_law([5e5, 1.0, 0.0], [1e-9, 0.5, 0.5])
    growth = rare.weights * np.expm1(3e-5 * rare.values)
    assert tilt(rare, 3e-5).log_mgf_error >= 1e-3 * 15 * float(growth[0])  # a rounded exponent
