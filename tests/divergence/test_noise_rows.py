"""Many sums of continuous noise at once: each use of the transform's error, and all together."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from test_noise_oracle import law_of_gains, log_mean

from shuffledp import ShuffleAccountant, curve
from shuffledp.decomposition import Decomposition, Smooth, SmoothLaw, SmoothRows
from shuffledp.decomposition.smooth import Quadrature
from shuffledp.divergence import (
    LogEnclosure,
    Point,
    log_delta_at,
    log_delta_bounds_at,
    log_deltas_at,
    row_contour,
    row_tilt,
    row_transform,
    transform,
)
from shuffledp.divergence import several as several_points
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.characteristic import bound_far, bound_square, evaluate
from shuffledp.divergence.proposals.panels import choose_jump_rule
from shuffledp.divergence.proposals.rows import saddle_points_of
from shuffledp.divergence.proposals.rules import RuleQuestion, alike, choose_finenesses
from shuffledp.divergence.row_contour import (
    SaddleRows,
    chernoff_bounds,
    contour_enclosures,
    contour_log_means,
)
from shuffledp.divergence.row_jumps import log_means_with_jumps
from shuffledp.divergence.row_sums import RowBlock, tilt_blocks
from shuffledp.divergence.row_tilt import log_mgfs_of, tilt_rows
from shuffledp.divergence.row_transform import RowTransform, TransformErrors, row_log_mgf_errors
from shuffledp.divergence.smooth import with_tails
from shuffledp.divergence.smooth_jumps import JumpRule, divide
from shuffledp.divergence.tilt import log_mgf, log_mgf_of_sum, tilt, tilt_sum
from shuffledp.divergence.transform import TransformError, log_mgf_errors
from shuffledp.randomizers import Gaussian, Laplace, Pair

Array = NDArray[np.float64]
PAIR = Pair(0, 1)
MECHANISMS = [Gaussian(sigma=0.6), Gaussian(sigma=1.0), Gaussian(sigma=4.0), Laplace(epsilon0=3.0)]
EPSILONS = np.array([0.0, 0.03, 0.1])
FIELDS = ("values", "weights", "value_error", "weight_error")
BOUNDS = ("log_size", "top", "turn", "log_density", "largest")
BY_STRIP = BOUNDS[:3]  # the axis of rows comes before that of panels


def smooth_of(made: Decomposition) -> Smooth:
    assert made.smooth is not None
    return made.smooth


def rule_of(mechanism: Gaussian | Laplace, end: float, width: float) -> Quadrature:
    smooth = smooth_of(mechanism.blanket(PAIR))
    return smooth.quadrature(min(end, smooth.length), width)


def meet(first: LogEnclosure, second: LogEnclosure) -> bool:
    return first.lower <= second.upper and second.lower <= first.upper


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_row_is_the_law_at_its_epsilon(mechanism: Gaussian | Laplace) -> None:
    rule = rule_of(mechanism, 6.0, 0.9)
    node = float(rule.nodes.log_ratio0[3])  # where its value comes out as 0
    epsilons = np.array([*EPSILONS, node])
    rows = rule.rows(epsilons)
    for row, epsilon in enumerate(epsilons.tolist()):
        law = rule.law(epsilon)
        assert (rows.values[row, : law.nodes] != 0).all()
        for name in FIELDS:
            np.testing.assert_allclose(
                getattr(rows, name)[row], getattr(law, name), rtol=1e-12, atol=1e-14
            )
        for name in BOUNDS:
            found = getattr(rows.bound, name)
            own = found[:, :, row] if name in BY_STRIP else found[row]
            np.testing.assert_allclose(own, getattr(law.bound, name), rtol=1e-12)


@pytest.mark.parametrize("atoms", [False, True])
def test_laws_given_some_panels_are_vague_by_the_error_of_their_mass(atoms: bool) -> None:
    """Weights may be larger by it, and so may sizes and densities, rounded up."""
    rule, error = rule_of(Laplace(epsilon0=3.0), 6.0, 0.9), 0.05
    log_mass = math.log(0.4)
    rows = rule.rows(EPSILONS)
    panels = np.arange(rows.bound.piece.size) < 3
    found = rows.given(panels, log_mass, error, atoms=atoms)
    kept = np.append(np.repeat(panels, rows.bound.points), np.full(rows.size - rows.nodes, atoms))
    np.testing.assert_array_equal(found.values, rows.values[:, kept])
    np.testing.assert_allclose(found.weights, rows.weights[:, kept] / 0.4, rtol=1e-12)
    np.testing.assert_array_equal(found.value_error, rows.value_error[:, kept])
    assert (found.weight_error >= rows.weight_error[:, kept] + error).all()
    assert (found.weight_error <= rows.weight_error[:, kept] + error + 1e-12).all()
    for name in ("log_size", "log_density"):
        own, before = getattr(found.bound, name), getattr(rows.bound, name)
        before = before[..., panels] if name in BY_STRIP else before[:, panels]
        known = before < math.inf
        assert (own[~known] == math.inf).all()
        raised = own[known] - before[known]
        assert (raised > error - log_mass + 5e-10).all()
        assert (raised < error - log_mass + 1e-8).all()


def test_rows_that_are_joined_keep_their_laws_and_bounds() -> None:
    """Rules of the same panels for other noise: every row is that of its own part."""
    parts = [
        rule_of(Gaussian(sigma=sigma), 4.0, 0.9).rows(EPSILONS[:count])
        for sigma, count in ((1.0, 2), (1.5, 3))
    ]
    joined = SmoothRows.together(parts)
    assert joined.values.shape[0] == 5
    for part, places in zip(parts, (np.arange(2), np.arange(2, 5)), strict=True):
        own = joined.chosen(places)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(own, name), getattr(part, name))
        for name in (*BOUNDS, "points", "piece"):
            np.testing.assert_array_equal(getattr(own.bound, name), getattr(part.bound, name))
    for name in BOUNDS:
        of_both = [getattr(part.chosen(np.arange(2)).bound, name) for part in parts]
        assert (of_both[0] != of_both[1]).any()


def test_rows_of_other_panels_are_not_joined() -> None:
    first, second = (rule_of(Gaussian(sigma=1.0), 6.0, width).rows(EPSILONS) for width in (1, 2))
    assert SmoothRows.together([first, first]).values.shape[0] == 6
    with pytest.raises(ValueError, match="panels"):
        SmoothRows.together([first, replace(first, bound=second.bound)])


#: Rules that hardly follow the law: dropping their error would be seen everywhere.
COARSE = [(Gaussian(sigma=1.0), 6.0, 3.0, 0.02), (Laplace(epsilon0=4.0), 4.0, 4.0, 0.1)]


@pytest.mark.parametrize(("mechanism", "end", "width", "theta"), COARSE)
def test_the_error_enters_where_it_does_for_a_single_law(
    mechanism: Gaussian | Laplace, end: float, width: float, theta: float
) -> None:
    rule, n = rule_of(mechanism, end, width), 300
    thetas = theta * np.array([1.0, 0.5, 1.5])
    rows = tilt_rows(rule.rows(EPSILONS), np.full(3, n), thetas)
    assert rows.is_sound.all()
    times = np.array([1e-4, 0.02, 0.3, 1.0, 5.0, 1e3])
    points = np.array([0.2, 3.0, 0.6, 1.0, 1.4, 2.0, 0.4, 5.0, 1.1, 0.9])
    mgfs = log_mgfs_of(rows, np.tile(points, (3, 1)))
    for row, epsilon in enumerate(EPSILONS.tolist()):
        law = rule.law(epsilon).scaled(float(thetas[row]))
        one = tilt(law, 1.0)
        total = tilt_sum(BlockSum.of((law, n)), 1.0)
        own = rows.sum_of(row)
        assert one.transform is not None
        assert own.value_shift == 0
        assert own.log_mgf_error == pytest.approx(total.log_mgf_error, rel=1e-3)
        assert own.log_mgf_error > 0.999 * n * one.transform.log_mgf_error
        assert own.zero_error > 0.999 * n * one.transform.log_mgf_error
        alone = log_mgf_of_sum(BlockSum.of((law, n)), points)
        known = alone.errors < math.inf
        np.testing.assert_allclose(mgfs[row].errors[known], alone.errors[known], rtol=0.02)
        t = times / math.sqrt(one.variance)
        atoms = rows.atoms_of(np.full(t.size, row))
        assert atoms.transform is not None
        np.testing.assert_allclose(atoms.transform.at(t), one.transform.at(t), rtol=1e-3)
        np.testing.assert_allclose(atoms.transform.modulus(t), one.transform.modulus(t), rtol=1e-3)
        found, single = evaluate(atoms, t), evaluate(one, t)
        assert found.limit is not None
        assert single.limit is not None
        assert (found.error >= 0.999 * one.transform.at(t)).all()
        np.testing.assert_allclose(found.error, single.error, rtol=1e-3)
        np.testing.assert_allclose(found.limit, single.limit, rtol=1e-3)
        half = 0.1 * t
        bounds, expected = bound_square(atoms, t, half), bound_square(one, t, half)
        np.testing.assert_allclose(bounds, expected, rtol=1e-3)
        assert (bound_far(atoms, t, half) >= bounds).all()


@pytest.mark.parametrize(("mechanism", "end", "width", "theta"), COARSE)
def test_large_errors_are_those_of_single_laws(
    mechanism: Gaussian | Laplace,
    end: float,
    width: float,
    theta: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values are off by so much that all terms count; the last row says nothing."""
    for module in (row_transform, transform):
        monkeypatch.setattr(module, "ROUND_UP", 1.1)
    rule, theta = rule_of(mechanism, end, width), 5 * theta if end < 5 else 2.5 * theta
    shifts = np.array([0.1, 0.3, 0.6])
    vague = np.linspace(0.01, 0.1, rule.law(0.0).size)
    rows = rule.rows(EPSILONS).scaled(np.full(3, theta))
    errors = {"value_error": vague, "weight_error": vague[::-1] + 0.1}
    laws = [replace(rule.law(e).scaled(theta), **errors) for e in EPSILONS.tolist()]
    rows = replace(rows, **{name: np.tile(own, (3, 1)) for name, own in errors.items()})
    k = np.array([float(log_mgf(law, np.ones(1))[0][0]) for law in laws])
    deviations = np.array([0.1, 0.2, 0.3])
    found = TransformErrors(rows, k, shifts, deviations)
    own = RowTransform(found, np.arange(3))
    for row, law in enumerate(laws):
        one = TransformError(law, 1.0, float(k[row]), float(shifts[row]), float(deviations[row]))
        assert found.log_mgf_error[row] == pytest.approx(one.log_mgf_error, rel=1e-9)
        for t in (0.0, 1e-3, 0.2, 3.0, 40.0, 1e6):
            times = np.full(1, t)
            here = own.chosen(np.array([row]))
            np.testing.assert_allclose(here.at(times), one.at(times), rtol=1e-9)
            np.testing.assert_allclose(here.modulus(times), one.modulus(times), rtol=1e-9)
    assert (found.log_mgf_error < math.inf).tolist() == [True, True, False]


def test_errors_of_values_are_in_those_of_transforms() -> None:
    """As for a single law if all values are equally vague, and no less if some are more."""
    rule, points = rule_of(Laplace(epsilon0=4.0), 4.0, 4.0), np.array([0.3, 1.5, 0.9, 2.2, 1.0])
    size = rule.law(0.0).size
    for vague in (np.full(size, 0.02), np.linspace(0.0, 0.05, size), np.linspace(0.05, 0.0, size)):
        laws = [replace(rule.law(e).scaled(0.1), value_error=vague) for e in EPSILONS.tolist()]
        rows = rule.rows(EPSILONS).scaled(np.full(3, 0.1))
        rows = replace(
            rows, value_error=np.tile(vague, (3, 1)), weight_error=np.zeros_like(rows.weights)
        )
        mgfs = row_tilt._log_mgf(rows, np.tile(points, (3, 1)))
        found = row_log_mgf_errors(rows, np.tile(points, (3, 1)), mgfs.log_mgf, mgfs.shift)
        for row, law in enumerate(laws):
            single = log_mgf_errors(law, points, mgfs.log_mgf[row])
            assert (single > 1e-4).all()
            assert (found[row] >= single * (1 - 1e-9)).all()
            assert (found[row] <= single * (1 + (1e-9 if vague[0] == vague[-1] else 9))).all()


def test_errors_of_transforms_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product and a sum, by a unit each, at least; here with a large one."""
    unit, n = 1e-3, 300
    laws = rule_of(Gaussian(sigma=1.0), 6.0, 3.0).rows(EPSILONS)
    tilted = tilt_rows(laws, np.full(3, n), np.full(3, 0.02))
    plain = replace(tilted, log_mgf_error=np.full(3, 1e-3), zero_error=np.full(3, 2e-3))
    k, shift = tilted.log_mgf / n, np.full(3, 1e-9)
    monkeypatch.setattr(row_tilt, "UNIT", 0.0)
    exact = row_tilt._with_transform(plain, tilted.laws, k, shift)
    monkeypatch.setattr(row_tilt, "UNIT", unit)
    rounded = row_tilt._with_transform(plain, tilted.laws, k, shift)
    for name in ("log_mgf_error", "zero_error"):
        own, added = getattr(plain, name), getattr(exact, name) - getattr(plain, name)
        assert (added > 1e-4 * own).all()
        needed = (own + added * (1 + unit)) * (1 + unit)
        assert (getattr(rounded, name) >= needed).all()
        assert (getattr(rounded, name) <= needed * (1 + 10 * unit)).all()
    # The errors themselves dwarf those of nodes, so that both factors count.
    none = replace(plain, log_mgf_error=np.zeros(3))
    rounded = row_tilt._with_transform(none, tilted.laws, k, shift)
    monkeypatch.setattr(row_tilt, "UNIT", 0.0)
    exact = row_tilt._with_transform(none, tilted.laws, k, shift)
    assert (exact.log_mgf_error < 1).all()
    assert (rounded.log_mgf_error >= exact.log_mgf_error * (1 + unit) ** 2).all()


@pytest.mark.parametrize("share", [20.0, 60.0])
def test_tilts_that_a_rule_hardly_follows_have_the_error_they_say(share: float) -> None:
    """The quadrature is off by far more than rounding here, and all uses of K know it."""
    mechanism, end, epsilon, n = Gaussian(sigma=0.5), 5.0, 0.1, 50
    laws = rule_of(mechanism, end, 2.5).rows(np.array([epsilon]))
    theta = share / float(laws.values.max())
    values, weights = law_of_gains(mechanism, end, epsilon, None)
    rows = tilt_rows(laws, np.array([n]), np.array([theta]))
    exact = n * math.log1p(float(weights @ np.expm1(theta * values)))
    assert 1e-9 < abs(float(rows.log_mgf[0]) - exact) <= float(rows.log_mgf_error[0])
    (mgfs,) = log_mgfs_of(rows, np.array([[0.5, 1.0, 0.8]]))
    assert 1e-9 < abs(float(mgfs.values[1]) - exact) <= float(mgfs.errors[1])


@pytest.mark.filterwarnings("ignore:overflow")
def test_rules_that_cannot_follow_their_laws_say_nothing() -> None:
    laws = rule_of(Gaussian(sigma=0.5), 36.0, 1.2).rows(np.array([0.0, 0.1]))
    assert not tilt_rows(laws, np.array([100, 100]), np.ones(2)).is_sound.any()
    assert contour_log_means(laws, np.array([100, 100]), [1e-2, 1e-2]) == [None, None]


def test_values_that_are_off_by_their_errors_turn_the_characteristic_function() -> None:
    off, theta = 1e-4, 0.0186
    laws = rule_of(Gaussian(sigma=1.0), 6.5, 0.3).rows(np.array([0.06]))
    vague = replace(laws, value_error=laws.value_error + off)
    rows = tilt_rows(vague, np.ones(1, int), np.array([theta]))
    assert rows.is_sound.all()
    t = np.array([0.01, 0.1, 1.0, 5.0]) / math.sqrt(float(rows.atoms.variance[0]))
    atoms = rows.atoms_of(np.zeros(t.size, int))
    found = evaluate(atoms, t)
    assert atoms.transform is not None
    # All values are larger by as much: the transform is what it was, times a phase.
    moved = np.exp(found.log_modulus) * np.abs(np.expm1(1j * theta * off * t))
    assert (found.error >= moved).all()
    assert (atoms.transform.at(t) >= theta * off * t).all()
    (mgfs,) = log_mgfs_of(rows, np.array([[0.5, 1.0]]))
    assert (mgfs.errors >= theta * off * np.array([0.5, 1.0])).all()
    assert (mgfs.errors < 4 * theta * off).all()


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
@pytest.mark.parametrize("width", [0.4, 1.2])
@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon", "theta"),
    [
        (Gaussian(sigma=1.0), 1000, 0.2, 0.03),
        (Gaussian(sigma=5.0), 200, 0.0, 0.3),
        (Laplace(epsilon0=1.0), 100, 0.2, 0.2),
        (Laplace(epsilon0=4.0), 1000, 0.4, 0.02),
    ],
)
def test_enclosures_hold_what_a_fine_rule_finds(
    mechanism: Gaussian | Laplace, n: int, epsilon: float, theta: float, width: float, rtol: float
) -> None:
    end = min(6.0, smooth_of(mechanism.blanket(PAIR)).length)
    exact = log_mean(*law_of_gains(mechanism, end, epsilon, None), n, theta)
    laws = rule_of(mechanism, end, width).rows(np.array([epsilon, epsilon]))
    found = contour_enclosures(SaddleRows.of([RowBlock(laws, np.array([n, n]))]), [rtol, rtol])
    for own in found:
        assert own.lower - 1e-10 <= exact <= own.upper + 1e-10
        # Rows that need many nodes say nothing.
        assert own.width < 0.5 or mechanism.epsilon0 == math.inf or rtol < 1e-4


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(MECHANISMS),
    st.sampled_from([None, 0, 1]),
    st.integers(64, 10**8),
    st.floats(0.3, 9.0),
    st.floats(4.0, 10.0),
    st.sampled_from([1.2, 0.6, 0.3]),
    st.floats(0.2, 4.0),
)
def test_any_rule_and_any_tilt_meet_single_answers(
    mechanism: Gaussian | Laplace,
    holder: int | None,
    n: int,
    depth: float,
    end: float,
    width: float,
    factor: float,
) -> None:
    made = mechanism.blanket(PAIR) if holder is None else mechanism.background(PAIR, holder)
    smooth = smooth_of(made)
    rule = smooth.quadrature(min(end, smooth.length), width)
    epsilons = depth / math.sqrt(n) * np.array([1.0, 0.5])
    block = RowBlock(rule.rows(epsilons), np.array([n, n]))
    thetas = factor * saddle_points_of([(block.laws, block.times)])
    saddles = SaddleRows(thetas, tilt_blocks([block], thetas))
    found = contour_enclosures(saddles, [1e-3, 1e-3])
    bounds = chernoff_bounds(saddles)
    for epsilon, own, bound in zip(epsilons.tolist(), found, bounds, strict=True):
        single = log_delta_at(made, n, epsilon, rtol=1e-5)
        assert meet(with_tails(rule, n, epsilon, own), single)
        above = with_tails(rule, n, epsilon, LogEnclosure(-math.inf, bound.log_mean))
        assert above.upper >= single.lower


@pytest.mark.parametrize("mechanism", [Laplace(epsilon0=1.0), Gaussian(sigma=2.0)])
def test_points_together_are_those_alone(
    mechanism: Gaussian | Laplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = mechanism.blanket(PAIR)
    points = [Point(made, 10_000 + i, 0.004 * i) for i in range(10)]
    fine = [log_delta_at(made, point.n, point.epsilon, rtol=1e-6) for point in points]
    alone: list[float] = []
    monkeypatch.setattr(
        several_points,
        "log_delta_at",
        lambda made, n, epsilon, rtol: (
            alone.append(epsilon) or log_delta_at(made, n, epsilon, rtol=rtol)
        ),
    )
    for own, exact in zip(log_deltas_at(points, [1e-4] * 10), fine, strict=True):
        assert meet(own, exact)
        assert own.width <= 1e-4
        assert own.lower <= exact.lower + 1e-6
        assert exact.upper <= own.upper + 1e-6
    assert not alone
    for bound, exact in zip(log_delta_bounds_at(points), fine, strict=True):
        assert exact.lower <= bound <= exact.upper + 6


def test_what_lies_beyond_the_end_is_covered() -> None:
    made, n, epsilon = Gaussian(sigma=1.0).blanket(PAIR), 1000, 0.02
    exact = log_delta_at(made, n, epsilon, rtol=1e-4)
    for end in (3.0, 4.5):
        rule = smooth_of(made).quadrature(end, 0.6)
        (mean,) = contour_log_means(rule.rows(np.array([epsilon])), np.array([n]), [1e-4])
        assert mean is not None
        assert meet(with_tails(rule, n, epsilon, mean), exact)


# -- jumps ----------------------------------------------------------------------------------------


def test_sums_of_several_blocks_are_those_of_single_ones() -> None:
    made = Gaussian(sigma=1.0).blanket(PAIR)
    n, epsilon = 2000, 0.15
    plan = choose_jump_rule(smooth_of(made), n, epsilon, 1e-4)
    assert plan is not None
    division = divide(plan)
    assert division is not None
    rest, jump = division.rest, division.classes[0]
    epsilons = np.array([epsilon, 1.02 * epsilon])
    coarse, fine = plan.rule.rows(epsilons), plan.fine.rows(epsilons)
    blocks = [
        RowBlock(rest.of_rows(coarse), np.array([n - 1, n])),
        RowBlock(jump.of_rows(fine), np.array([1, 2])),
    ]
    saddles = SaddleRows.of(blocks)
    points = np.tile(np.array([0.5, 1.0, 1.5]), (2, 1))
    mgfs = saddles.sums.log_mgfs(points)
    for row, (times, number) in enumerate(((n - 1, 1), (n, 2))):
        laws: list[tuple[SmoothLaw, int]] = [
            (rest.of(plan.rule.law(float(epsilons[row]))), times),
            (jump.of(plan.fine.law(float(epsilons[row]))), number),
        ]
        scaled = [(law.scaled(float(saddles.thetas[row])), k) for law, k in laws]
        one, own = tilt_sum(BlockSum.of(*scaled), 1.0), saddles.sums.sum_of(row)
        for name in ("log_mgf", "mean", "mean_size", "variance"):
            assert getattr(own, name) == pytest.approx(getattr(one, name), rel=1e-7, abs=1e-9)
        assert own.log_zero == one.log_zero == -math.inf
        assert own.log_mgf_error >= one.log_mgf_error / 3
        single = log_mgf_of_sum(BlockSum.of(*scaled), points[0])
        np.testing.assert_allclose(mgfs[row].values, single.values, rtol=1e-9, atol=1e-9)
        assert (mgfs[row].errors >= single.errors / 3).all()


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon"),
    [
        (Gaussian(sigma=1.0), 1000, 0.2),
        (Gaussian(sigma=1.0), 10_000, 0.1),
        (Gaussian(sigma=0.7), 10_000, 0.167),
        (Gaussian(sigma=0.5), 10**6, 0.0611),
    ],
)
def test_neighbours_may_share_their_jumps(mechanism: Gaussian, n: int, epsilon: float) -> None:
    made = mechanism.blanket(PAIR)
    plan = choose_jump_rule(smooth_of(made), n, epsilon, 1e-4)
    assert plan is not None
    epsilons, times = epsilon * np.array([1.0, 1.03, 0.98]), np.array([n, n + 1, n + n // 20])
    found = log_means_with_jumps(plan, times, epsilons, [8e-5] * 3)
    for own, e, k in zip(found, epsilons.tolist(), times.tolist(), strict=True):
        value = with_tails(plan.rule, k, e, own)
        assert value.width < 1e-3
        assert meet(value, log_delta_at(made, k, e, rtol=1e-4))


@pytest.mark.heavy
@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([Gaussian(sigma=0.5), Gaussian(sigma=1.0)]),
    st.integers(64, 10**6),
    st.floats(0.5, 30.0),
    st.integers(4, 12),
    st.integers(1, 3),
)
def test_any_division_into_jumps_meets_single_answers(
    mechanism: Gaussian, n: int, depth: float, first: int, orders: int
) -> None:
    made = mechanism.blanket(PAIR)
    rule = smooth_of(made).quadrature(8.0, 0.5)
    plan = JumpRule(rule, first, rule, (first, first + 2, rule.panels.count), orders)
    epsilons = depth / math.sqrt(n) * np.array([1.0, 0.9])
    found = log_means_with_jumps(plan, np.array([n, n]), epsilons, [1e-2, 1e-2])
    for own, epsilon in zip(found, epsilons.tolist(), strict=True):
        assert meet(with_tails(rule, n, epsilon, own), log_delta_at(made, n, epsilon, rtol=1e-3))


def test_a_division_that_leaves_something_out_says_nothing() -> None:
    rule = rule_of(Gaussian(sigma=1.0), 8.0, 0.5)
    bad = JumpRule(rule, 8, rule, (9, rule.panels.count), 2)
    good = JumpRule(rule, 8, rule, (8, rule.panels.count), 2)
    for plan, n in ((bad, 1000), (good, 2)):
        (found,) = log_means_with_jumps(plan, np.array([n]), np.array([0.1]), [1e-3])
        assert found == LogEnclosure(-math.inf, math.inf)
    few = log_means_with_jumps(good, np.array([1000, 2]), np.array([0.1, 0.1]), [1e-3, 1e-3])
    assert few == [LogEnclosure(-math.inf, math.inf)] * 2


def test_more_jumps_and_their_bounds_are_in_the_remainder() -> None:
    """Fewer orders leave more to the remainder, which only raises the upper end."""
    rule = rule_of(Gaussian(sigma=1.0), 8.0, 0.5)
    ends = []
    for orders in (1, 2, 3):
        plan = JumpRule(rule, 8, rule, (8, rule.panels.count), orders)
        (found,) = log_means_with_jumps(plan, np.array([5000]), np.array([0.08]), [1e-3])
        ends.append(found)
    assert ends[0].lower < ends[1].lower <= ends[2].upper
    assert ends[0].upper > ends[1].upper >= ends[2].lower
    division = divide(JumpRule(rule, 8, rule, (8, rule.panels.count), 2))
    assert division is not None
    assert division.choices() == [Counter(), Counter({0: 1})]
    assert division.remainder(5000, math.inf, 0.0, 0.0) == math.inf


# -- proposals, and all together ------------------------------------------------------------------


def test_rules_between_two_questions_are_as_fine_as_both() -> None:
    smooth = smooth_of(Gaussian(sigma=1.0).blanket(PAIR))
    questions = [RuleQuestion(smooth, 20_000, 0.001 * i, 1e-4) for i in range(17)]
    found = choose_finenesses(questions)
    for i in (0, 1, 5, 8, 9, 15, 16):
        left = questions[min(i - i % 8, 8)].choose()
        right = questions[min(i - i % 8, 8) + 8].choose()
        own = found[i]
        assert own is not None
        assert left is not None
        assert right is not None
        assert own.end == max(left.end, right.end)
        assert own.halvings == max(left.halvings, right.halvings)
    assert choose_finenesses([]) == []
    many = [RuleQuestion(smooth, n, 0.1, 1e-4) for n in (100, 200, 5000, 6000)]
    assert list(alike(dict(enumerate(many)))) == [[0, 1], [2, 3]]


def test_bad_tilts_cost_width_never_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Gaussian(sigma=2.0).blanket(PAIR)
    points = [Point(made, 5000, 0.005 * i) for i in range(6)]
    fine = [log_delta_at(made, point.n, point.epsilon, rtol=1e-6) for point in points]
    for factor in (0.3, 2.5):
        monkeypatch.setattr(
            row_contour,
            "saddle_points_of",
            lambda blocks, factor=factor: factor * saddle_points_of(blocks),
        )
        for own, exact in zip(log_deltas_at(points, [1e-3] * 6), fine, strict=True):
            assert meet(own, exact)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("text", ["laplace(epsilon0=1)", "gaussian(sigma=2)", "gaussian(sigma=1)"])
def test_curves_of_noise_keep_their_word(text: str) -> None:
    users = [int(n) for n in np.geomspace(2000, 20_000, 12)]
    (found,) = curve(text, "users", users, target_delta=1e-6, bounds="blanket").curves
    for n, epsilon in zip(users, found.y.tolist(), strict=True):
        accountant = ShuffleAccountant(text, n, bound="blanket")
        assert epsilon == pytest.approx(accountant.get_epsilon(1e-6), rel=2e-4)
        made = accountant.randomizer.blanket(accountant.randomizer.neighbours()[0])
        assert log_delta_at(made, n, epsilon, rtol=1e-6).lower <= math.log(1e-6)


def test_profiles_of_noise_agree_with_single_answers() -> None:
    accountant = ShuffleAccountant("laplace(epsilon0=1)", 5000, bound="blanket")
    epsilons = np.linspace(0.0, 0.1, 15)
    profile = accountant.profile(epsilons)
    for epsilon, lower, upper in zip(epsilons, profile.lower, profile.upper, strict=True):
        single = accountant.delta_interval(float(epsilon))
        assert lower <= single.upper
        assert single.lower <= upper
        assert upper == pytest.approx(single.upper, rel=1e-4)
