"""Many sums at once, against sums over all outcomes in fractions and against single sums."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from exact_sums import ExactSum, contains, double_law
from numpy.typing import NDArray
from tiers import examples

from shuffledp import parse
from shuffledp.decomposition import Decomposition, Law, LawRows
from shuffledp.divergence import (
    BlockSum,
    Point,
    log_delta_at,
    log_delta_bound_at,
    log_delta_bounds_at,
    log_deltas_at,
    row_contour,
    row_nodes,
    row_selection,
    row_sums,
    row_tilt,
)
from shuffledp.divergence import characteristic as characteristics
from shuffledp.divergence import integrand as integrands
from shuffledp.divergence.contour import chernoff_log_mean
from shuffledp.divergence.nodes import _Nodes
from shuffledp.divergence.proposals import rows as proposals
from shuffledp.divergence.proposals.rows import RowGrids, saddle_points, saddle_points_of
from shuffledp.divergence.row_contour import (
    SaddleRows,
    chernoff_bounds,
    chernoff_log_means,
    contour_enclosures,
    contour_log_means,
)
from shuffledp.divergence.row_nodes import sum_rows
from shuffledp.divergence.row_sums import RowBlock, RowSums, tilt_blocks
from shuffledp.divergence.row_tilt import TiltedRows, log_mgfs_of, tilt_rows
from shuffledp.divergence.tilt import log_mgf, tilt, tilt_sum

Array = NDArray[np.float64]


def exact_atoms(draw: random.Random, size: int) -> list[tuple[Fraction, Fraction]]:
    """Values in sixteenths, some of them 0, and probabilities in 64ths."""
    cuts = sorted(draw.sample(range(1, 64), size - 1))
    weights = [Fraction(b - a, 64) for a, b in zip([0, *cuts], [*cuts, 64], strict=True)]
    values = [Fraction(draw.randint(-40, 24), 16) for _ in range(size)]
    values[0] = Fraction(draw.randint(1, 40), 16)
    if draw.random() < 0.4:
        values[-1] = Fraction(0)
    return list(zip(values, weights, strict=True))


def rows_of(*laws: Law) -> LawRows:
    return LawRows.joined([LawRows.of(law) for law in laws])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_rows_enclose_the_sum_over_all_outcomes(size: int) -> None:
    draw = random.Random(size)
    atoms = [exact_atoms(draw, size) for _ in range(examples(120))]
    times = [draw.randint(1, 9) for _ in atoms]
    rtols = [draw.choice([1e-2, 1e-4, 1e-7]) for _ in atoms]
    found = contour_log_means(rows_of(*map(double_law, atoms)), np.array(times), rtols)
    settled = 0
    for own, n, rtol, mean in zip(atoms, times, rtols, found, strict=True):
        if mean is not None:
            settled += 1
            assert contains(mean, ExactSum([(own, n)]).mean_positive())
            assert mean.width <= 1.001 * rtol + 1e-12
    assert settled > len(atoms) / 3  # few summands often need many nodes


@pytest.mark.parametrize(
    "text",
    [
        "krr(k=10, epsilon0=2)",
        "krr(k=3, epsilon0=0.01)",
        "oue(epsilon0=4)",
        "subset(epsilon0=1, domain_size=10)",
        "hadamard(epsilon0=6, domain_size=100)",
        "joint(krr(k=2, epsilon0=1), krr(k=3, epsilon0=0.5))",
    ],
)
@pytest.mark.parametrize("n", [64, 1000, 10**6, 10**12])
def test_rows_agree_with_single_sums(text: str, n: int) -> None:
    """A single sum that is a thousand times narrower lies inside."""
    mechanism = parse(text)
    blanket = mechanism.blanket(mechanism.neighbours()[0])
    ends = np.linspace(0.0, 8.0, 9) * mechanism.epsilon0 / math.sqrt(n)
    epsilons = [float(e) for e in ends if e < 0.9 * mechanism.epsilon0]
    together = log_deltas_at([Point(blanket, n, e) for e in epsilons], [1e-4] * len(epsilons))
    for epsilon, found in zip(epsilons, together, strict=True):
        fine = log_delta_at(blanket, n, epsilon, rtol=1e-7)
        assert found.lower <= fine.upper
        assert fine.lower <= found.upper
        assert found.width <= max(1.001e-4, fine.width)


def test_bounds_from_one_tilt_are_those_of_single_sums_and_hold() -> None:
    """Tilts within 5% of the saddle point give bounds as close, above the sum over all outcomes."""
    draw = random.Random(3)
    atoms = [exact_atoms(draw, 3) for _ in range(examples(100))]
    times = [draw.randint(1, 9) for _ in atoms]
    bounds = chernoff_log_means(rows_of(*map(double_law, atoms)), np.array(times))
    for own, n, bound in zip(atoms, times, bounds, strict=True):
        total = BlockSum.of((double_law(own), n))
        assert bound == pytest.approx(chernoff_log_mean(total), abs=0.05)
        mean = ExactSum([(own, n)]).mean_positive()
        with mpmath.workdps(40):
            assert mpmath.mpf(bound) >= mpmath.log(mpmath.mpf(mean.numerator) / mean.denominator)
    lost = Law(np.zeros(4), WEIGHTS, np.zeros(4), np.zeros(4))
    assert chernoff_log_means(rows_of(lost), np.array([5])) == [math.inf]


def vague_rows(error: float) -> RowBlock:
    """Sums whose weights and values may be off by as much."""
    laws = [replace(law, value_error=error * np.abs(law.values)) for law in LAWS]
    rows = rows_of(*(replace(law, weight_error=np.full(4, error)) for law in laws))
    return RowBlock(rows, np.array([7, 2000, 3]))


def test_bounds_from_one_tilt_know_their_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and K that are larger by their errors; every term is rounded by a large unit."""
    unit, error = 1e-4, 1e-5
    saddles = SaddleRows.of([vague_rows(error)])
    [block] = saddles.sums.blocks
    assert saddles.sums.is_sound.all()
    plain = chernoff_bounds(saddles)
    monkeypatch.setattr(row_contour, "UNIT", unit)
    for row, (law, bound) in enumerate(zip(LAWS, chernoff_bounds(saddles), strict=True)):
        n, theta = int(block.times[row]), float(saddles.thetas[row])
        k, wrong = n * float(exact_log_mgf(law, theta)), float(block.log_mgf_error[row])
        larger = replace(law, values=law.values + error * np.abs(law.values))
        moved = n * float(exact_log_mgf(larger, theta))
        assert wrong > 1e-7
        assert plain[row].log_mean >= moved + wrong - 1 - math.log(theta)
        errors = wrong + float(block.value_shift[row])
        exact = k + errors - 1 - math.log(theta)
        assert plain[row].log_mean == pytest.approx(exact, rel=1e-9)
        sizes = abs(k) + errors + 1 + abs(math.log(theta))
        assert bound.log_mean == pytest.approx(exact + 16 * unit * sizes, rel=1e-9)
        # K of a single summand, from a quotient.
        assert bound.log_mgf == pytest.approx(k / n, rel=1e-9)
        assert plain[row].log_mgf_error == pytest.approx(wrong / n, rel=1e-9)
        needed = wrong / n * (1 + 4 * unit) + 2 * unit * abs(float(block.log_mgf[row]) / n)
        assert bound.log_mgf_error == pytest.approx(needed, rel=1e-11)


def test_enclosures_in_units_of_the_tilt_are_rounded_outwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The logarithm of the tilt is good to four units, and a sum to one."""
    unit = 1e-4
    saddles = SaddleRows.of([RowBlock(rows_of(*LAWS), np.array([70, 2000, 300]))])
    plain = contour_enclosures(saddles, [1e-3] * 3)
    monkeypatch.setattr(row_contour, "UNIT", unit)
    for theta, own, wide in zip(
        saddles.thetas.tolist(), plain, contour_enclosures(saddles, [1e-3] * 3), strict=True
    ):
        slack = unit * (4 * abs(math.log(theta)) + 1)
        assert own.width < 1e-3
        for gap in (wide.upper - own.upper, own.lower - wide.lower):
            assert slack <= gap <= slack + 2 * unit


@pytest.mark.parametrize("n", [5, 1000, 10**9])
def test_bounds_on_delta_are_above_enclosures(n: int) -> None:
    mechanism = parse("krr(k=10, epsilon0=2)")
    blanket = mechanism.blanket(mechanism.neighbours()[0])
    points = [Point(blanket, n, 3 * i / math.sqrt(n)) for i in range(4) if i * i * 9 < 3 * n]
    for point, bound in zip(points, log_delta_bounds_at(points), strict=True):
        single = log_delta_at(blanket, n, point.epsilon)
        assert single.lower <= bound <= single.upper + 6
        assert bound == pytest.approx(log_delta_bound_at(blanket, n, point.epsilon), abs=0.05)
    assert log_delta_bounds_at([]) == []


def test_a_row_does_not_depend_on_its_neighbours_but_for_rounding() -> None:
    blanket = parse("krr(k=10, epsilon0=2)").blanket(parse("krr(k=10, epsilon0=2)").neighbours()[0])
    points = [Point(blanket, n, e) for n in (100, 10**4, 10**8) for e in (0.0, 0.003, 0.08, 1.0)]
    rtols = [1e-4] * len(points)
    ahead = log_deltas_at(points, rtols)
    behind = log_deltas_at(points[::-1], rtols)[::-1]
    for one, other in zip(ahead, behind, strict=True):
        assert one.lower == pytest.approx(other.lower, rel=1e-9, abs=1e-9)
        assert one.upper == pytest.approx(other.upper, rel=1e-9, abs=1e-9)


def test_what_cannot_be_evaluated_together_is_evaluated_alone() -> None:
    noise = parse("laplace(epsilon0=9)")  # cells, and no continuous law beside them
    few = parse("krr(k=2, epsilon0=1)")
    singular = Decomposition.from_coefficients([0.5, 0.5, 0.0], [0.4, 0.5, 0.1], [0.2, 0.3, 0.0])
    points = [
        *(Point(noise.blanket(noise.neighbours()[0]), 1000, e) for e in (0.0, 0.1, 0.2)),
        *(Point(few.blanket(few.neighbours()[0]), 5, e) for e in (0.0, 0.1, 2.0)),
        *(Point(singular, 1000, e) for e in (0.0, 0.1, 0.2)),
    ]
    found = log_deltas_at(points, [1e-3] * len(points))
    alone = [log_delta_at(p.decomposition, p.n, p.epsilon, rtol=1e-3) for p in points]
    assert found == alone
    assert log_deltas_at([], []) == []


# -- tilting --------------------------------------------------------------------------------------


def exact_log_mgf(law: Law, s: float, weights: Array | None = None) -> mpmath.mpf:
    with mpmath.workdps(60):
        used = law.weights if weights is None else weights
        terms = (
            mpmath.mpf(float(w)) * mpmath.exp(mpmath.mpf(s) * mpmath.mpf(float(g)))
            for w, g in zip(used, law.values, strict=True)
        )
        return mpmath.log(mpmath.fsum(terms) / mpmath.fsum(mpmath.mpf(float(w)) for w in used))


WEIGHTS = np.array([0.1, 0.25, 0.15, 0.5])  # the last one makes the sum exactly 1
LAWS = [
    Law(np.array(values), WEIGHTS, np.zeros(4), np.zeros(4))
    for values in ([2.0, -1.0, -0.4, 0.0], [1e-3, -2e-4, 1e-5, 0.0], [30.0, -4.0, 0.5, -1.0])
]


def test_logarithms_of_transforms_are_as_good_as_stated() -> None:
    tilted = tilt_rows(rows_of(*LAWS), np.array([7, 10**9, 3]), np.ones(3))
    points = np.tile(np.array([0.01, 0.3, 1.0, 2.5]), (3, 1))
    for law, n, mgfs in zip(LAWS, (7, 10**9, 3), log_mgfs_of(tilted, points), strict=True):
        for s, value, error in zip(points[0], mgfs.values, mgfs.errors, strict=True):
            exact = n * exact_log_mgf(law, float(s))
            assert abs(float(exact - mpmath.mpf(float(value)))) <= error
            single, single_error = log_mgf(law, np.array([s]))
            assert error <= 30 * n * float(single_error[0])
            assert value == pytest.approx(n * float(single[0]), rel=1e-12)


def test_transforms_that_overflow_are_unknown() -> None:
    tilted = tilt_rows(rows_of(*LAWS), np.array([5, 5, 5]), np.ones(3))
    far = log_mgfs_of(tilted, np.full((3, 1), 100.0))
    assert [float(mgfs.errors[0]) < math.inf for mgfs in far] == [True, True, False]


@pytest.mark.parametrize("sign", [1, -1])
def test_errors_of_weights_are_in_the_error_of_the_transform(
    sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that are wrong sum to 1, too: what is taken from one atom goes to others."""
    monkeypatch.setattr(row_tilt, "UNIT", 0.0)
    law, stated = LAWS[0], 1e-5
    vague = Law(law.values, law.weights, np.zeros(4), np.full(4, stated))
    tilted = tilt_rows(rows_of(vague), np.array([3]), np.ones(1))
    largest = 0.0
    for signs in product((-1, 1), repeat=3):
        change = law.weights[:3] * stated * np.array(signs) * sign
        weights = np.append(law.weights[:3] + change, law.weights[3] - change.sum())
        if abs(change.sum()) <= stated * law.weights[3]:
            moved = abs(float(exact_log_mgf(law, 1.0, weights) - exact_log_mgf(law, 1.0)))
            largest = max(largest, 3 * moved)
    error = float(tilted.log_mgf_error[0])
    assert 0 < largest <= error <= 3 * largest


def test_tilted_rows_are_tilted_laws() -> None:
    thetas, times = np.array([0.7, 900.0, 0.05]), np.array([7, 10**9, 3])
    rows = tilt_rows(rows_of(*LAWS), times, thetas)
    assert rows.is_sound.all()
    for row, (law, n, theta) in enumerate(zip(LAWS, times.tolist(), thetas, strict=True)):
        one = tilt_sum(BlockSum.of((law.scaled(float(theta)), n)), 1.0)
        own, single = rows.sum_of(row), one.laws[0]
        assert own.theta == 1
        atoms = rows.atoms.chosen(np.array([row]))
        for name in ("log_mgf", "mean", "mean_size", "variance", "log_zero"):
            assert getattr(own, name) == pytest.approx(getattr(one, name), rel=1e-9, abs=1e-9)
        errors = ("log_mgf_error", "value_shift", *(["zero_error"] if one.log_zero > -99 else []))
        for name in errors:
            assert getattr(one, name) / 40 <= getattr(own, name) <= 40 * getattr(one, name) + 1e-299
        for name in ("probability", "centred", "mean_deviation", "variance"):
            assert getattr(atoms, name)[0] == pytest.approx(getattr(single, name), rel=1e-9)


def test_probabilities_are_as_good_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exponents, weights and K are moved by what the large unit stands for."""
    unit = 1e-6
    for module in (row_tilt, characteristics):
        monkeypatch.setattr(module, "UNIT", unit)
    law = Law(LAWS[0].values, LAWS[0].weights, np.zeros(4), np.full(4, 1e-5))
    rows = tilt_rows(rows_of(law), np.array([1]), np.ones(1))
    stated = float(rows.atoms.probability_error[0])
    probability = rows.atoms.probability[0]
    for signs in product((-1, 1), repeat=4):
        moved = law.weights * (1 + 1e-5 * np.array(signs))
        moved = moved * np.exp(law.values * (1 + unit * np.array(signs)))
        moved /= moved.sum()
        assert float(np.abs(moved - probability).sum()) <= stated


def test_errors_of_values_shift_the_sum() -> None:
    law = Law(LAWS[0].values, LAWS[0].weights, np.array([1e-4, 2e-4, 0.0, 0.0]), np.zeros(4))
    rows = tilt_rows(rows_of(law), np.array([6]), np.full(1, 0.8))
    one = tilt(law.scaled(0.8), 1.0)
    assert float(rows.value_shift[0]) == pytest.approx(6 * one.value_shift, rel=1e-3)
    for size in (1.2, 3.0):
        vague = Law(law.values, law.weights, np.full(4, size), np.zeros(4))
        assert not tilt_rows(rows_of(vague), np.array([6]), np.ones(1)).is_sound[0]


def without_errors_of_k(monkeypatch: pytest.MonkeyPatch) -> None:
    """K is exact, so that the other errors of a tilted law can be seen."""
    found = row_tilt._log_mgf

    def exact(laws: LawRows, points: Array) -> row_tilt._LogMgfs:
        sure = replace(laws, weight_error=np.zeros_like(laws.weight_error))
        return replace(found(sure, points), error=np.zeros(points.shape))

    monkeypatch.setattr(row_tilt, "_log_mgf", exact)


#: Values, and weights such that all of them count once tilted.
APART = [[0.0, -3.0, 2.0, 6.0], [0.0, 9.0, 12.0, 3.0], [0.0, -0.1, 0.01, 0.02]]


@pytest.mark.parametrize("values", APART)
def test_every_rounding_of_a_probability_counts(
    values: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the exponential, of the product, of an exponent and of its distance from K."""
    unit = 1e-6
    monkeypatch.setattr(row_tilt, "UNIT", unit)
    without_errors_of_k(monkeypatch)
    x = np.array(values)
    weights = np.exp(-x) / np.exp(-x).sum()
    wrong = np.array([1e-5, 0.0, 2e-5, 3e-5])
    law = Law(x, weights, np.zeros(4), wrong)
    rows, n = tilt_rows(rows_of(law), np.array([9]), np.ones(1)), 9
    k = float(rows.log_mgf[0]) / n
    needed = wrong + unit * (5 + np.abs(x) + np.abs(x - k))
    p, atoms = np.full(4, 0.25), rows.atoms
    np.testing.assert_allclose(atoms.probability[0], p, rtol=1e-9)
    stated = float(atoms.probability_error[0])
    assert float(p @ needed) <= stated <= 3 * float(needed.max())
    assert float(p @ (needed * np.abs(x - p @ x))) <= stated * float(atoms.mean_deviation[0])
    # A product is rounded; so are a logarithm, to four units, and a sum over the atoms.
    log_zero = n * math.log(0.25)
    assert float(rows.log_mgf_error[0]) >= 2 * unit * abs(n * k)
    (mgfs,) = log_mgfs_of(rows, np.array([[0.4, 1.0, 1.7]]))
    assert (mgfs.errors >= 2 * unit * np.abs(mgfs.values)).all()
    allowed = n * (needed[0] + 4 * unit) + 5 * unit * abs(log_zero)
    assert allowed <= float(rows.zero_error[0]) <= 3 * allowed


@pytest.mark.parametrize("scale", [0.01, 1.0, 5.0])
def test_errors_of_far_atoms_are_weighed_with_their_distance(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a wrong weight adds to the characteristic function at small t."""
    monkeypatch.setattr(row_tilt, "UNIT", 0.0)
    without_errors_of_k(monkeypatch)
    x = scale * np.array([1.0, -0.1, 0.01, 0.0])
    weights = np.array([0.01, 0.3, 0.19, 0.5])
    for far in range(3):
        wrong = np.where(np.arange(4) == far, 0.1, 0.0)
        rows = tilt_rows(rows_of(Law(x, weights, np.zeros(4), wrong)), np.ones(1, int), np.ones(1))
        p, centred = rows.atoms.probability[0], rows.atoms.centred[0]
        stated, deviation = rows.atoms.probability_error[0], rows.atoms.mean_deviation[0]
        needed = max(0.1 * p[far] * abs(centred[far]) / deviation, 0.1 * p[far])
        assert needed <= stated <= 1.1 * needed


def test_shifts_are_those_of_tilted_laws_with_wrong_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of p e^d d where weights may be larger, too."""
    without_errors_of_k(monkeypatch)
    law, n = LAWS[0], 6
    wrong, vague = np.array([0.3, 0.01, 0.2, 0.0]), np.array([0.2, 0.02, 0.0, 0.1])
    rows = tilt_rows(rows_of(replace(law, value_error=wrong, weight_error=vague)), *one_row(n))
    p = rows.atoms.probability[0]
    exact = n * float(p @ (np.exp(wrong + vague) * wrong))
    assert exact <= float(rows.value_shift[0])
    whole = n * float(p @ wrong) * math.exp(float((wrong + vague).max()))
    assert whole * (1 + 5e-10) <= float(rows.value_shift[0]) <= whole * (1 + 1e-8)
    nothing = tilt_rows(rows_of(replace(law, values=np.zeros(4))), *one_row(n))
    assert float(nothing.value_shift[0]) > 0  # products that underflow


def one_row(n: int) -> tuple[NDArray[np.int64], Array]:
    return np.array([n]), np.ones(1)


@pytest.mark.parametrize("size", [-40.0, -5.0, 5.0, 60.0, 200.0])
@pytest.mark.parametrize("share", [0.5, 1e-3])
def test_rounded_exponents_are_in_the_error_of_the_transform(
    size: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exponent is moved by a large unit; its atom makes up some share of the transform."""
    unit = 1e-8
    monkeypatch.setattr(row_tilt, "UNIT", unit)
    weight = share * math.exp(-max(size, 0.0))
    values = np.array([size, 0.0])
    law = Law(values, np.array([weight, 1 - weight]), np.zeros(2), np.zeros(2))
    found = row_tilt._log_mgf(rows_of(law), np.array([[1.0]]))
    moved = weight * (math.exp(size * (1 + unit)) - math.exp(size)) / (1 - weight + share)
    assert abs(moved) <= float(found.error[0, 0]) <= 30 * (1 + abs(size)) * unit


def test_shifts_of_transforms_are_those_of_wrong_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of w e^{sg} d, with weights that may be larger and exponentials that are rounded."""
    unit = 1e-4
    monkeypatch.setattr(row_tilt, "UNIT", unit)
    law, s = LAWS[0], np.array([0.3, 1.0, 2.0])
    wrong, vague = np.array([0.3, 0.01, 0.2, 0.4]), np.array([0.2, 0.02, 0.0, 0.1])
    rows = rows_of(replace(law, value_error=wrong, weight_error=vague))
    found = row_tilt._log_mgf(rows, s[None, :]).shift[0]
    for own, shift in zip(s, found, strict=True):
        power = np.exp(own * law.values)
        rounded = power + 8 * unit * (1 + np.abs(power - 1))
        needed = float((law.weights * np.exp(vague) * wrong) @ rounded)
        assert needed * (1 - 1e-9) <= shift <= needed * (1 + 1e-9)


@pytest.mark.parametrize(
    "values",
    [
        [1e-300, -1e-300, 0.0, 0.0],  # units of round-off underflow
        [1e120, -1e120, 0.0, 0.0],
        [1.0, -1e120, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],  # nothing varies
        [1.0, -1e-295, 0.0, 0.0],
    ],
)
def test_rows_beyond_doubles_are_left_to_others(values: list[float]) -> None:
    law = Law(np.array(values), WEIGHTS, np.zeros(4), np.zeros(4))
    rows = tilt_rows(rows_of(law, LAWS[0]), np.array([100, 100]), np.ones(2))
    assert rows.is_sound.tolist() == [False, True]
    _, kept = contour_log_means(rows_of(law, LAWS[0]), np.array([100, 100]), [1e-3, 1e-3])
    assert kept is not None


def test_a_huge_value_that_hardly_counts_is_left_to_others() -> None:
    weights = np.array([0.1, 1e-130, 0.4, 0.5])
    law = Law(np.array([1.0, -1e120, 0.0, 0.0]), weights, np.zeros(4), np.zeros(4))
    assert not tilt_rows(rows_of(law), *one_row(100)).is_sound[0]


def test_what_underflows_is_not_taken_for_an_atom_at_zero() -> None:
    law = Law(np.array([1.0, -1.0, 1e-200, 0.0]), WEIGHTS, np.zeros(4), np.zeros(4))
    assert not tilt_rows(rows_of(law), np.array([2]), np.full(1, 1e-200)).is_sound[0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_sums_over_blocks_are_rounded(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a unit of the size of every term, for each of them, and two more; one block has none."""
    unit = 1e-4
    orders = [[0, 1, 2], [2, 0, 1], [1, 2, 0]][:count]
    vague = vague_rows(1e-6)
    blocks = [RowBlock(vague.laws.chosen(np.array(own)), np.array([7, 20, 3])) for own in orders]
    sums = tilt_blocks(blocks, np.array([0.4, 0.1, 0.05]))
    points = np.tile(np.array([0.5, 1.0, 1.3]), (3, 1))
    mgfs = [log_mgfs_of(block, points) for block in sums.blocks]
    monkeypatch.setattr(row_sums, "UNIT", unit)
    units = (count + 2) * unit if count > 1 else 0.0
    together = sums.log_mgfs(points)
    for row in range(3):
        parts, own = [block.sum_of(row) for block in sums.blocks], sums.sum_of(row)
        assert own.theta == 1
        for name in ("log_mgf", "mean", "mean_size", "variance", "log_zero"):
            total = sum(getattr(part, name) for part in parts)
            assert getattr(own, name) == pytest.approx(total, rel=1e-12)
        size = sum(abs(part.log_mgf) for part in parts)
        wrong = sum(part.log_mgf_error for part in parts) + units * size
        assert own.log_mgf_error == pytest.approx(wrong, rel=1e-9)
        shift = sum(part.value_shift for part in parts) * (1 + units)
        assert own.value_shift == pytest.approx(shift, rel=1e-9)
        wrong = sum(part.zero_error for part in parts) + units * abs(own.log_zero)
        if own.log_zero > -math.inf:
            assert own.zero_error == pytest.approx(wrong, rel=1e-9)
        values = np.array([part[row].values for part in mgfs])
        errors = np.array([part[row].errors for part in mgfs]).sum(axis=0)
        np.testing.assert_allclose(together[row].values, values.sum(axis=0), rtol=1e-12)
        errors = errors + units * np.abs(values).sum(axis=0)
        np.testing.assert_allclose(together[row].errors, errors, rtol=1e-9)
    assert any(sums.sum_of(row).log_zero > -math.inf for row in range(3)) or count == 3


# -- nodes ----------------------------------------------------------------------------------------


def tilted_rows() -> TiltedRows:
    laws, times = rows_of(*LAWS), np.array([40, 2000, 70])
    return tilt_rows(laws, times, saddle_points(laws, times))


def all_nodes(tilted: TiltedRows, row: int, tau: float, step: float, count: int) -> _Nodes:
    """The sums over every node, by the code for single sums."""
    law = LAWS[row].scaled(float(tilted.laws.values[row, 0] / LAWS[row].values[0]))
    nodes = _Nodes(tilt_sum(BlockSum.of((law, int(tilted.times[row]))), 1.0), tau, step)
    nodes.add(np.arange(count + 1))
    return nodes


GRIDS = RowGrids(
    np.array([0.05, 0.04, 0.06]), np.array([400, 300, 500]), np.zeros(3, int), np.zeros(3, int)
)
TAUS = np.array([0.2, 0.3, 0.1])


@pytest.mark.parametrize("allowance", [1e-3, 1e-9])
def test_skipped_nodes_are_bounded_row_by_row(allowance: float) -> None:
    tilted = tilted_rows()
    for row, found in enumerate(sum_rows(tilted, TAUS, GRIDS, np.full(3, allowance))):
        assert found is not None
        step, count = float(GRIDS.step[row]), int(GRIDS.count[row])
        whole = all_nodes(tilted, row, float(TAUS[row]), step, count).sums
        slack = 1e-11
        assert abs(whole.mean - found.mean) <= found.skipped_mean + slack
        assert abs(whole.density - found.density) <= found.skipped_density + slack
        assert found.skipped_mean < 100 * allowance
        assert found.rounding_mean >= whole.rounding_mean * 0.1


@pytest.mark.parametrize("step", [0.03, 0.4, 1.6])
def test_stretches_of_rows_are_above_all_their_nodes(step: float) -> None:
    """Both sums of moduli, of one block and of one with few copies beside it."""
    tilted, times = tilted_rows(), np.array([2, 3, 1])
    beside = tilt_rows(tilted.laws.chosen(np.array([2, 0, 0])), times, np.array([0.1, 0.2, 0.3]))
    for blocks in ((tilted,), (tilted, beside)):
        grids = replace(GRIDS, step=np.full(3, step))
        rows = row_nodes._Rows(RowSums(blocks), TAUS, grids)
        rises = 0
        for row, start, size in product(range(3), range(1, 90, 7), (1, 2, 5)):
            where = np.array([row]), np.array([start]), np.array([size])
            mean, density = rows.bounds(*where, bound=characteristics.bound_square)[:, 0].tolist()
            t = step * np.arange(start, start + size)
            moduli = np.exp(-((TAUS[row] * t) ** 2) / 2) * step / math.pi
            for block in blocks:
                p, centred = block.atoms.probability[row], block.atoms.centred[row]
                moduli *= np.abs(np.exp(1j * np.outer(t, centred)) @ p) ** block.times[row]
            assert float(moduli.sum()) <= density * (1 + 1e-9)
            assert float((moduli / (1 + t**2)).sum()) <= mean * (1 + 1e-9)
            rises += bool(moduli[-1] > 2 * size * moduli[0])
        assert rises > 0 or step < 0.4


@pytest.mark.parametrize("proposed", ["none", "outside", "twice", "backwards"])
def test_every_node_is_kept_or_bounded_whatever_is_proposed(
    proposed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starts(
        deviation: Array, step: Array, begin: NDArray[np.int64], count: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = np.arange(begin.size)
        return {
            "none": (rows[:0], rows[:0]),
            "outside": (np.append(rows, rows), np.append(begin - 5, count + 9)),
            "twice": (np.append(rows, rows), np.append(begin + 3, begin + 3)),
            "backwards": (np.append(rows, rows)[::-1], np.append(begin + 30, begin + 4)[::-1]),
        }[proposed]

    def no_lobe(sigma: Array, step: Array) -> NDArray[np.int64]:
        return np.zeros(sigma.size, dtype=np.int64)

    monkeypatch.setattr(row_selection, "stretch_starts", starts)
    monkeypatch.setattr(row_selection, "main_lobes", no_lobe)
    tilted = tilted_rows()
    for row, found in enumerate(sum_rows(tilted, TAUS, GRIDS, np.full(3, 1e-6))):
        assert found is not None
        step, count = float(GRIDS.step[row]), int(GRIDS.count[row])
        whole = all_nodes(tilted, row, float(TAUS[row]), step, count).sums
        assert abs(whole.mean - found.mean) <= found.skipped_mean + 1e-11


@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("allowance", [0.0, 1.0, 30.0, 1e6])
def test_every_node_is_kept_once_or_counted_once(
    kinds: int, several: bool, allowance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bounds that are exact sums: what is skipped is what the nodes that are left lack."""
    up = 1.5
    monkeypatch.setattr(row_selection, "ROUND_UP", up)
    weights = np.random.default_rng(3).uniform(0.5, 1.5, (kinds, 4, 600))
    weights[:, :, ::41] = 20.0
    count = np.array([500, 37, 0, 1])

    def bound(rows: NDArray[np.int64], starts: Array, sizes: Array) -> Array:
        return np.array(
            [
                [
                    float(own[r, a : a + n].sum())
                    for r, a, n in zip(rows, starts, sizes, strict=True)
                ]
                for own in weights
            ]
        ).reshape(kinds, rows.size)

    def rough(rows: NDArray[np.int64], starts: Array, sizes: Array) -> Array:
        found = bound(rows, starts, sizes)
        return np.where(starts % 3 == 0, found, math.inf)

    none = np.zeros(4, dtype=np.int64)
    grids = RowGrids(np.array([0.02, 0.3, 0.1, 0.2]), count, none, none)
    bounds = [rough, bound] if several else [bound]
    deviations = np.array([2.0, 0.3, 1.0, 1.0]), np.array([30.0, 4.0, 9.0, 1e3])
    allowances = np.full((kinds, 4), 300 * allowance)
    found = row_selection.select_nodes(grids, deviations, bounds, allowances)
    assert found.left.tolist() == [True, True, False, True]
    assert not (found.rows == 2).any()
    for row, last in ((0, 500), (1, 37), (3, 1)):
        kept = found.nodes[found.rows == row]
        assert kept.size == np.unique(kept).size
        assert 0 <= kept.min() <= kept.max() <= last
        assert 0 in kept
        lacking = weights[:, row, : last + 1].sum(axis=1) - weights[:, row, kept].sum(axis=1)
        np.testing.assert_allclose(found.skipped[:, row], up * lacking, rtol=1e-9, atol=1e-9)
        assert kept.size == last + 1 or allowance > 0
        assert kept.size <= 50 or allowance < 1e6


def test_rows_that_keep_too_many_nodes_are_given_up() -> None:
    """Whether the main lobe has too many or all stretches together; the others stay."""
    none = np.zeros(3, dtype=np.int64)
    grids = RowGrids(np.full(3, 0.02), np.array([500, 100, 500]), none, none)

    def nothing(rows: NDArray[np.int64], starts: Array, sizes: Array) -> Array:
        return np.full((1, rows.size), 1.0)

    deviations = np.ones(3), np.array([30.0, 30.0, 0.1])
    for most, left in ((600, [True] * 3), (501, [True] * 3), (400, [False, True, False])):
        found = row_selection.select_nodes(grids, deviations, [nothing], np.zeros((1, 3)), most)
        assert found.left.tolist() == left
        assert np.unique(found.rows).tolist() == np.flatnonzero(left).tolist()
        for row in np.flatnonzero(left).tolist():
            count = int(grids.count[row])
            assert np.sort(found.nodes[found.rows == row]).tolist() == list(range(count + 1))


def test_a_node_adds_what_it_adds_to_a_single_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also its error, with a unit that is large enough to see, and one more for adding up."""
    for module in (row_nodes, integrands, characteristics):
        monkeypatch.setattr(module, "UNIT", 1e-7)
    tilted = tilted_rows()
    grids = RowGrids(GRIDS.step, np.array([5, 5, 5]), GRIDS.left, GRIDS.right)
    for row, found in enumerate(sum_rows(tilted, TAUS, grids, np.full(3, 1e-30))):
        assert found is not None
        whole = all_nodes(tilted, row, float(TAUS[row]), float(GRIDS.step[row]), 5).sums
        assert found.mean == pytest.approx(whole.mean, rel=1e-12)
        assert found.density == pytest.approx(whole.density, rel=1e-12)
        for name in ("rounding_mean", "rounding_density"):
            assert getattr(whole, name) < getattr(found, name) < 3 * getattr(whole, name)
        assert found.rounding_density - whole.rounding_density > 5 * 1e-7 * abs(found.density)
    once = sum_rows(tilted, TAUS, grids, np.full(3, 1e-30))
    monkeypatch.setattr(row_nodes, "ROUND_UP", 2.0)
    for one, two in zip(once, sum_rows(tilted, TAUS, grids, np.full(3, 1e-30)), strict=True):
        assert one is not None
        assert two is not None
        assert two.rounding_mean == pytest.approx(2 * one.rounding_mean, rel=1e-3)
        assert two.rounding_density == pytest.approx(2 * one.rounding_density, rel=1e-3)


def test_rows_with_too_many_nodes_are_given_up_alone() -> None:
    grids = RowGrids(
        np.array([0.05, 1e-9, 0.06]), np.array([400, 10**12, 0]), GRIDS.left, GRIDS.right
    )
    first, second, third = sum_rows(tilted_rows(), TAUS, grids, np.full(3, 1e-6))
    assert first is not None
    assert second is None
    assert third is None


# -- proposals ------------------------------------------------------------------------------------


def test_cuts_leave_no_more_than_is_allowed() -> None:
    taus, allowed = np.array([0.3, 1e-3, 5.0, 0.1]), np.array([1e-6, 1e-12, 1e-3, 1.0])
    cuts = proposals._cuts(taus, allowed)
    assert (taus * np.exp(-(cuts**2) / 2) / (math.pi * cuts**3) <= allowed).all()
    assert (cuts <= 9).all()


def test_enclosures_hold_for_bad_proposals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong tilt costs width, or the row; never truth."""
    atoms = [exact_atoms(random.Random(seed), 3) for seed in range(40)]
    laws, times = rows_of(*map(double_law, atoms)), np.full(40, 6)
    for factor in (0.2, 3.0):
        monkeypatch.setattr(
            "shuffledp.divergence.row_contour.saddle_points_of",
            lambda blocks, factor=factor: factor * saddle_points_of(blocks),
        )
        found = contour_log_means(laws, times, [1e-2] * 40)
        assert any(mean is not None for mean in found)
        for own, mean in zip(atoms, found, strict=True):
            assert mean is None or contains(mean, ExactSum([(own, 6)]).mean_positive())


@pytest.mark.parametrize("signs", [(1, 0, 0), (-1, 1, 0), (1, -1, 1)])
def test_variances_of_rows_are_no_less_than_vague_weights_allow(signs: tuple[int, ...]) -> None:
    law = Law(np.array([3.0, -1.0, 0.5]), np.array([0.1, 0.6, 0.3]), np.zeros(3), np.zeros(3))
    weights = law.weights * np.exp(1e-4 * np.array(signs))
    weights /= weights.sum()
    vague = replace(law, weight_error=np.abs(np.log(weights / law.weights)))
    tilted = tilt_rows(LawRows.of(vague), np.array([70]), np.array([0.4]))
    raised = weights * np.exp(0.4 * law.values)
    true = float(raised / raised.sum() @ tilted.atoms.centred[0] ** 2)
    assert tilted.is_sound[0]
    assert true - 1e-14 <= tilted.atoms.variance[0] <= true * (1 + 1e-3)
