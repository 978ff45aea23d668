from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import enumerated_delta, law_scale, stop_loss, thresholds
from strategies import cloud, coefficients, exp_epsilons

from shuffledp.decomposition import GPARV, Decomposition, Law, decompose_segments

INF = math.inf
EPSILONS = [0.0, 0.05, 0.5, 1.5]

seeds = st.integers(0, 2**32 - 1)


def five_points(epsilon0: float, p: float, q: float) -> Decomposition:
    """Components (E,1), (1,E), (E,E), (1,1) of masses p, p, q, r, with exact logarithms."""
    E = math.exp(epsilon0)
    r = 1 - (E + 1) * p - E * q
    logs0, logs1 = [epsilon0, 0.0, epsilon0, 0.0], [0.0, epsilon0, epsilon0, 0.0]
    residual = math.expm1(epsilon0) * (p + q)
    return Decomposition(log_ratio0=logs0, log_ratio1=logs1, weight=[p, p, q, r], residual=residual)


def components(d: Decomposition) -> np.ndarray:
    """Rows (a/c, b/c, c), in a fixed order."""
    rows = np.stack([d.ratio0, d.ratio1, d.weight], axis=1)
    return rows[np.lexsort(np.round(rows, 9).T)]


def singular_pairs(d: Decomposition) -> list[tuple[float, float]]:
    pairs = zip(d.singular0.tolist(), d.singular1.tolist(), strict=True)
    return sorted(pair for pair in pairs if pair != (0.0, 0.0))


def assert_same(actual: Decomposition, expected: Decomposition) -> None:
    np.testing.assert_allclose(components(actual), components(expected), rtol=1e-12)
    assert actual.residual == pytest.approx(expected.residual, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(singular_pairs(actual), singular_pairs(expected), rtol=1e-12)


def assert_dominated(below: Law, above: Law) -> None:
    """Convex order: equal means, and E(G - t)_+ no larger at any level."""
    slack = law_scale(below, above)
    assert below.values @ below.weights == pytest.approx(above.values @ above.weights, abs=slack)
    levels = thresholds(below, above)
    assert (stop_loss(below, levels) <= stop_loss(above, levels) + slack).all()


# -- construction ---------------------------------------------------------------------------------


def test_stores_ratios_weights_and_residual():
    d = Decomposition.from_coefficients([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.25, 0.25])
    np.testing.assert_allclose(d.ratio0, [4, 1, 1], rtol=1e-15)
    np.testing.assert_allclose(d.ratio1, [2, 2, 1], rtol=1e-15)
    assert d.weight.tolist() == [0.125, 0.25, 0.25]
    assert d.residual == 0.375
    assert d.size == 3
    assert d.upper is d


def test_arrays_are_private_and_frozen():
    a, c = np.array([0.5, 0.5]), np.array([0.25, 0.5])
    d = Decomposition.from_coefficients(a, a, c)
    c[0] = 0.1
    assert d.weight[0] == 0.25
    for name in ("log_ratio0", "log_ratio1", "weight", "singular0", "singular1"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(d, name)[:] = 0.0
    with pytest.raises(AttributeError):
        d.residual = 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_ratio0": [0.0]}, "must have the same length, got 1, 2 and 2"),
        ({"log_ratio1": [0.0, 0.0, 0.0]}, "must have the same length, got 2, 3 and 2"),
        ({"log_ratio0": [math.nan, 0.0]}, "log_ratio0 must be at most 600"),
        ({"log_ratio1": [601.0, 0.0]}, "log_ratio1 must be at most 600"),
        ({"log_ratio0": [INF, 0.0]}, "log_ratio0 must be at most 600"),
        ({"weight": [1.0, 0.0]}, "weight must be positive and finite"),
        ({"weight": [1.5, -0.5]}, "weight must be positive and finite"),
        ({"weight": [INF, 0.5]}, "weight must be positive and finite"),
        ({"weight": [math.nan, 0.5]}, "weight must be positive and finite"),
        ({"weight": [0.5, 0.25]}, r"weight plus residual must sum to 1, got 0\.75"),
        ({"residual": 0.25}, r"weight plus residual must sum to 1, got 1\.25"),
        ({"residual": -0.1}, r"residual must be at least 0, got -0\.1"),
        ({"residual": math.nan}, "residual must be finite"),
        ({"log_ratio0": [0.1, 0.0]}, "masses of a must sum to 1"),
        ({"log_ratio1": [0.1, 0.0]}, "masses of b must sum to 1"),
        ({"singular0": [0.1], "singular1": [0.0]}, r"masses of a must sum to 1, got 1\.1"),
        ({"singular0": [0.0], "singular1": [0.1]}, r"masses of b must sum to 1, got 1\.1"),
        ({"singular0": [-0.1], "singular1": [0.0]}, r"singular0 must lie in \[0, 1\]"),
        ({"singular0": [0.0], "singular1": [1.1]}, r"singular1 must lie in \[0, 1\]"),
        ({"singular0": [0.0]}, "singular0 and singular1 must have the same length, got 1 and 0"),
        ({"weight": [[0.5, 0.5]]}, "weight must be one-dimensional"),
    ],
)
def test_broken_invariants_are_named(changes, message):
    arguments = {
        "log_ratio0": [0.0, 0.0],
        "log_ratio1": [0.0, 0.0],
        "weight": [0.5, 0.5],
        "residual": 0.0,
    }
    Decomposition(**arguments)
    with pytest.raises(ValueError, match=message):
        Decomposition(**(arguments | changes))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [0.5, 0.5], [0.5, 0.5]), "a, b and c must have the same length, got 1, 2 and 2"),
        (([-0.5, 1.5], [0.5, 0.5], [0.5, 0.5]), "a must be at least 0"),
        (([0.5, 0.5], [math.nan, 0.5], [0.5, 0.5]), "b must be at least 0"),
        (([0.5, 0.5], [0.5, 0.5], [0.5, -0.5]), "c must be at least 0"),
        (([0.5, 0.4], [0.5, 0.5], [0.5, 0.5]), "masses of a must sum to 1"),
        (([0.5, 0.5], [0.5, 0.6], [0.5, 0.5]), "masses of b must sum to 1"),
        (([0.5, 0.5], [0.5, 0.5], [0.5, 0.6]), "weight plus residual must sum to 1"),
    ],
)
def test_bad_coefficients_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Decomposition.from_coefficients(*arguments)


def test_a_given_residual_must_fit():
    halves = [0.5, 0.5]
    assert (
        Decomposition.from_coefficients(halves, halves, [0.5, 0.25], residual=0.25).residual == 0.25
    )
    with pytest.raises(ValueError, match="weight plus residual"):
        Decomposition.from_coefficients(halves, halves, [0.5, 0.25], residual=0.125)


def test_components_without_weight_are_kept_apart():
    d = Decomposition.from_coefficients(
        [0.25, 0.25, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0]
    )
    assert singular_pairs(d) == [(0.25, 0.0), (0.25, 0.5)]
    assert d.size == 1
    assert d.residual == 0.5


def test_rounding_noise_is_no_residual():
    tenth = [0.1] * 10
    assert sum(tenth) != 1
    assert Decomposition.from_coefficients(tenth, tenth, tenth).residual == 0.0


@given(coefficients(singular=True))
def test_coefficients_survive(parts):
    d = parts.decomposition()
    covered = [j for j, c in enumerate(parts.c) if c and (parts.a[j] or parts.b[j])]
    silent = sum(c for a, b, c in zip(parts.a, parts.b, parts.c, strict=True) if not a and not b)
    np.testing.assert_allclose(
        d.ratio0 * d.weight, [float(parts.a[j]) for j in covered], rtol=1e-13
    )
    np.testing.assert_allclose(
        d.ratio1 * d.weight, [float(parts.b[j]) for j in covered], rtol=1e-13
    )
    assert d.residual == pytest.approx(float(parts.residual + silent), rel=1e-15)
    assert singular_pairs(d) == sorted((float(a), float(b)) for a, b in parts.singular if a or b)


# -- the law at one epsilon -----------------------------------------------------------------------


def assert_values(law: Law, exact: list[mpmath.mpf]) -> None:
    for value, error, reference in zip(law.values, law.value_error, exact, strict=False):
        assert abs(mpmath.mpf(float(value)) - reference) <= mpmath.mpf(float(error)), (
            value,
            error,
            mpmath.nstr(reference, 20),
        )


@pytest.mark.parametrize("epsilon0", [1e-6, 1e-3, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("below", [0.0, 1e-15, 1e-12, 1e-9, 1e-3, 0.3, 1.0, 1.5])
def test_values_keep_relative_accuracy_next_to_the_largest_epsilon(epsilon0, below):
    d = five_points(epsilon0, p=0.2 / (math.exp(epsilon0) + 1), q=0.1 / math.exp(epsilon0))
    epsilon = epsilon0 * (1 - below)
    law = d.at(epsilon).lower
    with mpmath.workdps(50):
        exact = [
            mpmath.exp(mpmath.mpf(float(x)))
            - mpmath.exp(mpmath.mpf(epsilon) + mpmath.mpf(float(y)))
            for x, y in zip(d.log_ratio0, d.log_ratio1, strict=True)
        ]
        assert_values(law, exact)
        for value, reference in zip(law.values, exact, strict=False):
            assert abs(mpmath.mpf(float(value)) - reference) <= 1e-14 * abs(reference)
    assert law.values[-1] == 0.0
    assert law.weights[-1] == d.residual


@pytest.mark.parametrize("epsilon0", [1e-6, 1e-2, 1.0, 5.0])
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 1e-9, 0.1, 1.0, 3.0])
def test_values_from_coefficients_are_as_accurate_as_stated(epsilon0, epsilon):
    rng = np.random.default_rng(11)
    c = rng.dirichlet(np.ones(40))
    a, b = c * np.exp(epsilon0 * rng.uniform(-1, 1, (2, 40)))
    a, b = a / a.sum(), b / b.sum()
    law = Decomposition.from_coefficients(a, b, c / 2).at(epsilon).lower
    with mpmath.workdps(50):
        factor = mpmath.exp(mpmath.mpf(epsilon))
        first, second = (mpmath.fsum(map(mpmath.mpf, row.tolist())) for row in (a, b))
        exact = [
            (mpmath.mpf(x) / first - factor * mpmath.mpf(y) / second) / mpmath.mpf(z / 2)
            for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        ]
        assert_values(law, exact)
    assert law.value_error.max() < 2e-13 * math.exp(epsilon0 + abs(epsilon))


@given(coefficients(singular=True), st.floats(-1, 3))
def test_values_of_exact_coefficients(parts, epsilon):
    law = parts.decomposition().at(epsilon).lower
    with mpmath.workdps(400):  # epsilon may be as small as doubles are
        growth = mpmath.expm1(mpmath.mpf(epsilon))  # of e^epsilon over 1, which may be tiny
        exact = [
            (mpmath.mpf(float(a - b)) - growth * mpmath.mpf(float(b))) / mpmath.mpf(float(c))
            for a, b, c in zip(parts.a, parts.b, parts.c, strict=True)
            if c and (a or b)
        ]
        assert law.size - len(exact) in (0, 1)  # silent components are part of the residual
        assert_values(law, exact)


@given(coefficients(), st.floats(-1, 3))
def test_mean_is_one_minus_exp_epsilon(parts, epsilon):
    law = parts.decomposition().at(epsilon).lower
    assert law.weights.sum() == pytest.approx(1, abs=1e-15)
    assert law.values @ law.weights == pytest.approx(
        -math.expm1(epsilon), abs=1e-15 * (1 + math.exp(epsilon))
    )


@pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999999])
def test_mean_of_both_sides_of_a_coarse_cloud(epsilon0, share):
    gparv = cloud(5, 300, epsilon0).coarsen(32).at(share * epsilon0)
    for law in (gparv.lower, gparv.upper):
        slack = float(law.weights @ law.value_error) + 1e-13
        assert law.values @ law.weights == pytest.approx(-math.expm1(share * epsilon0), abs=slack)


@given(coefficients(singular=True), exp_epsilons(4))
def test_singular_part_is_enclosed(parts, exp_epsilon):
    gparv = parts.decomposition().at(math.log(exp_epsilon))
    exact = sum((max(a - exp_epsilon * b, Fraction(0)) for a, b in parts.singular), Fraction(0))
    # log(exp_epsilon) is rounded, which moves the sum by an ulp of e^epsilon.
    slack = Fraction(1, 10**15)
    assert Fraction(gparv.singular_lower) - slack <= exact <= Fraction(gparv.singular_upper) + slack
    assert gparv.singular_upper - gparv.singular_lower < 1e-13


@given(coefficients(max_components=3, singular=True), st.integers(1, 4), exp_epsilons(4))
def test_bound_of_the_law_is_the_exact_one(parts, n, exp_epsilon):
    gparv = parts.decomposition().at(math.log(exp_epsilon))
    value = enumerated_delta(gparv.lower, n) + gparv.singular_lower
    assert value == pytest.approx(float(parts.delta(n, exp_epsilon)), abs=1e-13)


def test_zero_coefficients():
    d = Decomposition.from_coefficients([0.0, 1.0], [1.0, 0.0], [0.5, 0.5])
    assert d.log_ratio0.tolist() == [-INF, pytest.approx(math.log(2))]
    np.testing.assert_allclose(d.at(0.5).lower.values, [-2 * math.exp(0.5), 2.0], rtol=1e-15)
    assert d.max_epsilon == INF


@pytest.mark.parametrize("epsilon", [300.5, -301.0, math.nan, INF])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match="epsilon must"):
        five_points(1.0, 0.1, 0.1).at(epsilon)


def test_atoms_have_one_law():
    gparv = five_points(1.0, 0.1, 0.1).at(0.2)
    assert isinstance(gparv, GPARV)
    assert gparv.lower is gparv.upper
    assert gparv.lower.size == 5


# -- the largest epsilon --------------------------------------------------------------------------


@given(coefficients(singular=True).filter(lambda p: all(map(any, zip(p.a, p.b, strict=True)))))
def test_largest_epsilon_is_where_the_bound_vanishes(parts):
    d = parts.decomposition()
    pairs = list(zip(parts.a, parts.b, strict=True))
    if any(a and not b for a, b in pairs):
        assert d.max_epsilon == INF
        return
    largest = max(a / b for a, b in pairs if b)
    assert d.max_epsilon == pytest.approx(math.log(largest), abs=4e-14)
    if d.max_epsilon > 1e-9:
        gparv = d.at(d.max_epsilon * (1 - 1e-9))
        assert enumerated_delta(gparv.upper, 1) + gparv.singular_upper > 0
    gparv = d.at(d.max_epsilon + 1e-12)
    assert enumerated_delta(gparv.upper, 1) + gparv.singular_lower == 0


def test_largest_epsilon_of_cells_is_that_of_their_ends():
    d = cells(5, 3)[0]
    ends = d.spread.log_ratio0 - d.spread.log_ratio1
    assert d.max_epsilon == pytest.approx(float(ends.max()), abs=1e-14)


# -- merging and reversing ------------------------------------------------------------------------


@given(coefficients(singular=True), st.integers(2, 5))
def test_merging_undoes_splitting(parts, pieces):
    d = parts.decomposition()
    split = Decomposition.mixture([1 / pieces] * pieces, [d] * pieces)
    assert split.size == pieces * d.size
    merged = split.merge()
    covered = [(a / c, b / c) for a, b, c in zip(parts.a, parts.b, parts.c, strict=True) if c]
    distinct: Counter = Counter()
    for ratios, c in zip(covered, filter(None, parts.c), strict=True):
        distinct[ratios] += c
    distinct.pop((0, 0), None)  # what neither input produces counts as residual
    expected = np.array(
        sorted((float(r0), float(r1), float(c)) for (r0, r1), c in distinct.items())
    ).reshape(-1, 3)
    actual = np.array(sorted(zip(merged.ratio0, merged.ratio1, merged.weight, strict=True)))
    np.testing.assert_allclose(actual.reshape(-1, 3), expected, rtol=1e-12)
    assert merged.residual == pytest.approx(d.residual)


@given(seeds, st.sampled_from(EPSILONS))
def test_merging_keeps_the_law(seed, epsilon):
    # Ratios on a small lattice, so that many coincide.
    rng = np.random.default_rng(seed)
    u, v = np.exp(0.25 * rng.integers(0, 4, (2, 60)))
    c = rng.dirichlet(np.ones(60))
    d = Decomposition.from_coefficients(c * u / (c @ u), c * v / (c @ v), c / 4)
    merged = d.merge()
    assert merged.size <= 16
    before, after = d.at(epsilon).lower, merged.at(epsilon).lower
    levels = thresholds(before)
    np.testing.assert_allclose(stop_loss(after, levels), stop_loss(before, levels), atol=1e-13)


def test_merging_does_not_join_close_but_different_ratios():
    c = np.full(4, 0.25)
    shift = 1e-12 * np.array([1, -1, 2, -2])
    d = Decomposition.from_coefficients(c * (1 + shift), c, c)
    assert d.merge().size == 4


def test_merging_covers_how_far_ratios_were_moved():
    d = Decomposition(
        log_ratio0=[1e-10, 0.0],
        log_ratio1=[0.0, 0.0],
        weight=[0.5, 0.5],
        residual=0.0,
        log_ratio_error=[1e-10, 1e-10],
    )
    merged = d.merge()
    assert merged.size == 1
    for log in (0.0, 1e-10):
        assert abs(merged.log_ratio0[0] - log) + 1e-10 <= merged.log_ratio_error[0] * (1 + 1e-15)


def test_merging_nothing():
    alone = Decomposition(
        log_ratio0=[], log_ratio1=[], weight=[], residual=1.0, singular0=[1.0], singular1=[1.0]
    )
    assert alone.merge().size == 0


@given(coefficients(singular=True))
def test_swap_is_the_decomposition_of_the_reversed_pair(parts):
    vectors = [list(map(float, x)) for x in (parts.b, parts.a, parts.c)]
    assert_same(parts.decomposition().swap(), Decomposition.from_coefficients(*vectors))


def test_swap_reverses_cells_too():
    d = cells(5, 3)[0]
    swapped = d.swap()
    assert swapped.spread is not None
    assert_same(swapped.spread, d.spread.swap())
    assert_same(swapped.swap(), d)


# -- joint and parallel composition ---------------------------------------------------------------


def outer(x, y) -> np.ndarray:
    return np.outer([float(v) for v in x], [float(v) for v in y]).ravel()


@given(coefficients(max_components=3, singular=True), coefficients(max_components=3, singular=True))
def test_product_is_made_of_products(one, two):
    joint = one.decomposition().product(two.decomposition())
    direct = Decomposition.from_coefficients(
        outer(one.a, two.a),
        outer(one.b, two.b),
        outer(one.c, two.c),
        residual=float(1 - (1 - one.residual) * (1 - two.residual)),
    )
    assert_same(joint, direct)


@given(
    coefficients(max_components=2, singular=True),
    coefficients(max_components=2, singular=True),
    st.integers(1, 2),
    exp_epsilons(),
)
def test_bound_of_a_product(one, two, n, exp_epsilon):
    gparv = one.decomposition().product(two.decomposition()).at(math.log(exp_epsilon))
    triples = [
        (a * d, b * e, c * f)
        for a, b, c in zip(one.a, one.b, one.c, strict=True)
        for d, e, f in zip(two.a, two.b, two.c, strict=True)
    ]
    joint = type(one)(*map(tuple, zip(*triples, strict=True)))
    value = enumerated_delta(gparv.upper, n) + gparv.singular_upper
    assert value == pytest.approx(float(joint.delta(n, exp_epsilon)), abs=1e-12)


@given(
    coefficients(max_components=3, singular=True),
    coefficients(max_components=3, singular=True),
    st.integers(1, 15),
)
def test_mixture_is_made_of_weighted_parts(one, two, sixteenths):
    w = sixteenths / 16
    mixed = Decomposition.mixture([w, 1 - w], [one.decomposition(), two.decomposition()])
    vectors = (
        np.concatenate([w * np.array(x, dtype=float), (1 - w) * np.array(y, dtype=float)])
        for x, y in ((one.a, two.a), (one.b, two.b), (one.c, two.c))
    )
    assert_same(mixed, Decomposition.from_coefficients(*vectors))


@pytest.mark.parametrize(
    ("weights", "count", "message"),
    [
        ([], 0, "non-empty and of equal length, got 0 and 0"),
        ([1.0], 2, "non-empty and of equal length, got 1 and 2"),
        ([0.5, 0.6], 2, "weights must be positive and sum to 1"),
        ([0.0, 1.0], 2, "weights must be positive and sum to 1"),
        ([1.5, -0.5], 2, "weights must be positive and sum to 1"),
        ([math.nan, 0.5], 2, "weights must be finite"),
    ],
)
def test_bad_mixtures(weights, count, message):
    with pytest.raises(ValueError, match=message):
        Decomposition.mixture(weights, [five_points(1.0, 0.1, 0.1)] * count)


def test_subsampling_adds_a_public_silence():
    # Theory: silence has ratios (1, 1), not (0, 0); the residual shrinks with the rate.
    d = five_points(1.0, 0.1, 0.1)
    silence = Decomposition(log_ratio0=[0.0], log_ratio1=[0.0], weight=[1.0], residual=0.0)
    sampled = Decomposition.mixture([0.25, 0.75], [d, silence])
    assert sampled.residual == pytest.approx(0.25 * d.residual)
    law = sampled.at(0.3).lower
    silent = law.values[np.isclose(law.weights, 0.75)]
    np.testing.assert_allclose(silent, [-math.expm1(0.3)], rtol=1e-14)


# -- cells ----------------------------------------------------------------------------------------


def cells(seed: int, count: int, per_cell: int = 6) -> tuple[Decomposition, Decomposition]:
    """Cells and the law they stand for: random atoms on random segments, plus one lone atom."""
    rng = np.random.default_rng(seed)
    starts = 1 + rng.uniform(0, 2, (count, 2))
    stops = starts + rng.uniform(0.1, 1, (count, 2)) * rng.choice([0, 1], (count, 2))
    shares = rng.uniform(0, 1, (count, per_cell, 1))
    ratios = starts[:, None, :] + shares * (stops - starts)[:, None, :]
    mass = rng.dirichlet(np.ones(per_cell), count) * rng.dirichlet(np.ones(count))[:, None]
    # One atom more makes the masses of a and b equal 1.
    mass *= 0.9 / max((mass[..., None] * ratios).sum(axis=(0, 1)))
    rest = 1 - (mass[..., None] * ratios).sum(axis=(0, 1))
    weight = 0.05
    means = (mass[..., None] * ratios).sum(axis=1) / mass.sum(axis=1)[:, None]
    total = float(mass.sum()) + weight
    fine = Decomposition.from_coefficients(
        np.append((mass * ratios[..., 0]).ravel(), rest[0]),
        np.append((mass * ratios[..., 1]).ravel(), rest[1]),
        np.append(mass.ravel(), weight),
    )
    last = np.log(rest / weight)
    coarse = decompose_segments(
        (np.append(np.log(means[:, 0]), last[0]), np.append(np.log(means[:, 1]), last[1])),
        np.append(mass.sum(axis=1), weight),
        residual=1 - total,
        start=(np.append(np.log(starts[:, 0]), last[0]), np.append(np.log(starts[:, 1]), last[1])),
        stop=(np.append(np.log(stops[:, 0]), last[0]), np.append(np.log(stops[:, 1]), last[1])),
    )
    return coarse, fine


@given(seeds, st.integers(1, 5), st.sampled_from(EPSILONS))
def test_cells_enclose_the_law_they_stand_for(seed, count, epsilon):
    coarse, fine = cells(seed, count)
    assert coarse.size < fine.size
    gparv, law = coarse.at(epsilon), fine.at(epsilon).lower
    assert_dominated(gparv.lower, law)
    assert_dominated(law, gparv.upper)


@given(seeds, st.integers(1, 5))
def test_ends_have_the_mass_and_the_means_of_the_cells(seed, count):
    coarse, _ = cells(seed, count)
    spread = coarse.spread
    assert spread is not None
    assert spread.residual == coarse.residual
    assert spread.weight.sum() == pytest.approx(coarse.weight.sum(), abs=1e-14)
    for name in ("ratio0", "ratio1"):
        ours, theirs = getattr(coarse, name), getattr(spread, name)
        assert coarse.weight @ ours == pytest.approx(spread.weight @ theirs, abs=1e-14)
    # Ratios rise together along these cells, so their product is convex there.
    upper = spread.weight @ (spread.ratio0 * spread.ratio1)
    assert upper >= coarse.weight @ (coarse.ratio0 * coarse.ratio1) - 1e-14


@settings(max_examples=40)
@given(seeds, seeds, st.sampled_from(EPSILONS))
def test_compositions_of_cells_enclose_compositions_of_atoms(seed, other, epsilon):
    (coarse, fine), (coarse2, fine2) = cells(seed, 2, 4), cells(other, 2, 4)
    atoms = fine.merge()
    pairs = [
        (coarse.product(coarse2), fine.product(fine2)),
        (coarse.product(atoms), fine.product(atoms)),
        (atoms.product(coarse), atoms.product(fine)),
        (
            Decomposition.mixture([0.25, 0.75], [coarse, fine2]),
            Decomposition.mixture([0.25, 0.75], [fine, fine2]),
        ),
        (coarse.swap(), fine.swap()),
        (coarse.merge(), fine),
    ]
    for enclosing, exact in pairs:
        gparv, law = enclosing.at(epsilon), exact.at(epsilon).lower
        assert gparv.lower is not gparv.upper
        assert_dominated(gparv.lower, law)
        assert_dominated(law, gparv.upper)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_tails_enclose_the_bound(epsilon, n):
    # Ratios 2^i with masses 4^-i / 2: all but the first few are one unbounded cell on each side.
    i = np.arange(1, 12)
    c = 0.25**i / 2
    u = 2.0**i
    rest = 1 - c @ u - c.sum()
    fine = Decomposition.from_coefficients(
        np.concatenate([c * u, c, [rest]]),
        np.concatenate([c, c * u, [rest]]),
        np.concatenate([c, c, [rest / 2]]),
    )
    head, far = slice(0, 3), slice(3, None)
    logs = np.log(u[head])
    zeros = np.zeros(3)
    two = [math.log(2)]
    total, heavy = float(c[far].sum()), float(c[far] @ u[far])
    coarse = decompose_segments(
        (np.concatenate([logs, zeros, two]), np.concatenate([zeros, logs, two])),
        np.concatenate([c[head], c[head], [rest / 2]]),
        residual=fine.residual,
        start=(np.concatenate([logs, zeros, two]), np.concatenate([zeros, logs, two])),
        stop=(np.concatenate([logs, zeros, two]), np.concatenate([zeros, logs, two])),
        tails=[(heavy, total, total), (total, heavy, total)],
    )
    gparv, law = coarse.at(epsilon), fine.merge().at(epsilon).lower
    assert_dominated(gparv.lower, law)
    assert coarse.spread.size == 7
    exact = enumerated_delta(law, n)
    assert enumerated_delta(gparv.lower, n) + gparv.singular_lower <= exact + 1e-13
    assert exact <= enumerated_delta(gparv.upper, n) + gparv.singular_upper + 1e-13


def test_a_mean_outside_its_cell_is_rejected():
    with pytest.raises(ValueError, match="mean of every cell must lie between its ends"):
        decompose_segments(
            ([0.0], [0.0]), [1.0], residual=0.0, start=([0.1], [0.0]), stop=([0.2], [0.0])
        )


# -- coarsening -----------------------------------------------------------------------------------


@settings(max_examples=30)
@given(seeds, st.sampled_from([1e-3, 0.5, 2.0]), st.sampled_from([4, 16, 60]))
def test_coarse_clouds_enclose_the_cloud(seed, epsilon0, limit):
    d = cloud(seed, 200, epsilon0)
    coarse = d.coarsen(limit)
    assert coarse.size <= 2 * limit + 4
    assert coarse.upper.size <= 2 * limit + 4
    for epsilon in (0.0, 0.1 * epsilon0, 0.9 * epsilon0, 2 * epsilon0):
        gparv, law = coarse.at(epsilon), d.at(epsilon).lower
        assert_dominated(gparv.lower, law)
        assert_dominated(law, gparv.upper)


@settings(max_examples=20)
@given(seeds, st.integers(1, 3))
def test_coarse_clouds_enclose_the_bound(seed, n):
    d = cloud(seed, 60, 1.0)
    coarse = d.coarsen(16)
    for epsilon in (0.0, 0.2, 0.7):
        gparv, exact = coarse.at(epsilon), enumerated_delta(d.at(epsilon).lower, n)
        assert enumerated_delta(gparv.lower, n) <= exact + 1e-13
        assert exact <= enumerated_delta(gparv.upper, n) + 1e-13


def test_more_cells_are_tighter():
    d = cloud(1, 2000, 1.0)

    def width(limit):
        gparv = d.coarsen(limit).at(0.3)
        levels = thresholds(gparv.lower, gparv.upper)
        return float((stop_loss(gparv.upper, levels) - stop_loss(gparv.lower, levels)).max())

    widths = [width(limit) for limit in (16, 64, 256, 1024)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.1 * widths[0]


def test_coarse_cells_can_be_coarsened_again():
    d = cloud(2, 500, 1.0)
    twice = d.coarsen(200).coarsen(16)
    for epsilon in (0.0, 0.4):
        gparv, law = twice.at(epsilon), d.at(epsilon).lower
        assert_dominated(gparv.lower, law)
        assert_dominated(law, gparv.upper)


def test_coarsening_keeps_the_singular_part_and_zeros():
    rng = np.random.default_rng(4)
    a, b, c = rng.dirichlet(np.ones(80), 3)
    a[:5], b[5:10], c[10:15] = 0, 0, 0
    a, b, c = a / a.sum(), b / b.sum(), c / (1.5 * c.sum())
    d = Decomposition.from_coefficients(a, b, c)
    coarse = d.coarsen(16)
    assert singular_pairs(coarse) == singular_pairs(coarse.upper) == singular_pairs(d)
    gparv, law = coarse.at(0.5), d.at(0.5).lower
    assert_dominated(gparv.lower, law)
    assert_dominated(law, gparv.upper)


def test_small_decompositions_stay_as_they_are():
    d = five_points(1.0, 0.1, 0.1)
    assert d.coarsen(4) is d
    with pytest.raises(ValueError, match="max_components must be an integer of at least 4"):
        d.coarsen(3)


# -- corners --------------------------------------------------------------------------------------


def test_components_that_neither_input_can_produce():
    d = Decomposition.from_coefficients([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5])
    assert (d.size, d.residual) == (2, 0.5)
    law = d.at(0.1).lower
    assert law.values[2] == 0.0
    assert np.isfinite(law.value_error).all()
    assert d.max_epsilon == pytest.approx(0, abs=4e-15)


def test_value_error_at_large_epsilon0():
    rng = np.random.default_rng(0)
    for epsilon0, epsilon in zip(rng.uniform(8, 30, 200), rng.uniform(0, 2, 200), strict=True):
        d = five_points(epsilon0, p=0.2 / (math.exp(epsilon0) + 1), q=0.1 / math.exp(epsilon0))
        with mpmath.workdps(50):
            top = mpmath.exp(mpmath.mpf(epsilon0)) - mpmath.exp(mpmath.mpf(epsilon))
            assert_values(d.at(epsilon).lower, [top])


@pytest.mark.filterwarnings("ignore:overflow")
def test_values_where_b_is_tiny():
    d = Decomposition.from_coefficients([0.5, 0.5], [1e-315, 1.0], [0.5, 0.5])
    np.testing.assert_allclose(d.at(0.1).lower.values, [1.0, 1 - 2 * math.exp(0.1)], rtol=1e-14)


@pytest.mark.parametrize("log1", [-0.1, 1e-3, -1e-20])
def test_largest_epsilon_is_enclosed(log1):
    # Logarithms count as exact here, so the largest epsilon is exactly 1 - log1.
    weight = [0.25, 0.75]
    logs = [[x, math.log((1 - 0.25 * math.exp(x)) / 0.75)] for x in (1.0, log1)]
    interval = Decomposition(
        log_ratio0=logs[0], log_ratio1=logs[1], weight=weight, residual=0.0
    ).max_epsilon_interval()
    assert Fraction(interval.lower) <= 1 - Fraction(log1) <= Fraction(interval.upper)


def test_weight_error_of_many_merged_components():
    size = 10_000
    masses = np.full(size, 1 / size)
    merged = Decomposition.from_coefficients(masses, masses, 0.9 * masses).merge()
    exact = size * Fraction(0.9 * masses[0])
    assert abs(Fraction(merged.weight[0]) / exact - 1) <= Fraction(merged.weight_error[0])


def test_error_bounds_are_private():
    error = np.zeros(2)
    d = Decomposition(
        log_ratio0=[0.0, 0.0],
        log_ratio1=[0.0, 0.0],
        weight=[0.5, 0.5],
        residual=0.0,
        log_ratio_error=error,
    )
    error[:] = 1.0
    assert not d.log_ratio_error.any()


@pytest.mark.parametrize(
    "changes",
    [
        {"log_ratio_error": [-1.0]},
        {"log_ratio_error": [math.nan]},
        {"weight_error": math.nan},
        {"weight_error": -1.0},
    ],
)
def test_error_bounds_are_checked(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        Decomposition(log_ratio0=[0.0], log_ratio1=[0.0], weight=[1.0], residual=0.0, **changes)


def test_product_of_tiny_weights():
    d = Decomposition.from_coefficients([1e-170, 1.0], [1e-170, 1.0], [1e-170, 0.5])
    assert d.product(d).size >= 3
