"""Support mechanisms against their probability matrices, and identities of their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from enumeration import (
    Matrix,
    assert_dominated,
    assert_masses_of_laws,
    assert_same_law,
    backgrounds,
    hadamard_matrix,
    krr_matrix,
    local_hash_matrix,
    subset_matrix,
    unary_matrix,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    LocalHash,
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
    SubsetSelection,
    UnaryEncoding,
)

LEVELS = (0.1, 1.0, 4.0)
UNARY_PROBABILITIES = ((0.75, 0.25), (0.9, 0.6), (0.2, 0.6), (0.05, 0.9))


@dataclass(frozen=True)
class Case:
    """A mechanism, its matrix, and the number of its first input."""

    randomizer: LocalRandomizer
    build: Callable[[], Matrix]

    def __str__(self) -> str:
        return str(self.randomizer)


def _cases() -> list[Case]:
    cases = []
    for level in LEVELS:
        expo = math.exp(level)
        half = math.exp(level / 2)
        for d in range(2, 6):
            cases += [
                Case(KRR(k=d, epsilon0=level), lambda d=d, e=level: krr_matrix(d, e)),
                Case(
                    BinaryLocalHash(epsilon0=level, domain_size=d),
                    lambda d=d, e=level: local_hash_matrix(d, 2, e),
                ),
                Case(
                    LocalHash(epsilon0=level, buckets=2, domain_size=d),
                    lambda d=d, e=level: local_hash_matrix(d, 2, e),
                ),
                Case(
                    RAPPOR(epsilon0=level, domain_size=d),
                    lambda d=d, h=half: unary_matrix(d, h / (h + 1), 1 / (h + 1)),
                ),
                Case(
                    OUE(epsilon0=level, domain_size=d),
                    lambda d=d, e=expo: unary_matrix(d, 0.5, 1 / (e + 1)),
                ),
            ]
            if d < 5:
                cases.append(
                    Case(
                        LocalHash(epsilon0=level, buckets=3, domain_size=d),
                        lambda d=d, e=level: local_hash_matrix(d, 3, e),
                    )
                )
            cases += [
                Case(
                    SubsetSelection(epsilon0=level, domain_size=d, size=size),
                    lambda d=d, s=size, e=level: subset_matrix(d, s, e),
                )
                for size in range(1, d)
            ]
        cases += [
            Case(
                HadamardResponse(epsilon0=level, domain_size=d),
                lambda d=d, e=level: hadamard_matrix(d, e),
            )
            for d in range(2, 9)
        ]
    cases += [
        Case(UnaryEncoding(p=p, q=q, domain_size=d), lambda d=d, p=p, q=q: unary_matrix(d, p, q))
        for p, q in UNARY_PROBABILITIES
        for d in range(2, 6)
    ]
    # Default parameters: three buckets are best near log 2, four near 1; two of six values near 1.
    cases += [
        Case(
            LocalHash(epsilon0=math.log(2), domain_size=4),
            lambda: local_hash_matrix(4, 3, math.log(2)),
        ),
        Case(LocalHash(epsilon0=1.0, domain_size=3), lambda: local_hash_matrix(3, 4, 1.0)),
        Case(SubsetSelection(epsilon0=1.0, domain_size=6), lambda: subset_matrix(6, 2, 1.0)),
        Case(SubsetSelection(epsilon0=5.0, domain_size=4), lambda: subset_matrix(4, 1, 5.0)),
    ]
    return cases


@pytest.fixture(params=_cases(), ids=str, scope="module")
def case(request: pytest.FixtureRequest) -> tuple[LocalRandomizer, MatrixRandomizer]:
    made: Case = request.param
    return made.randomizer, MatrixRandomizer(made.build())


def test_level_is_that_of_the_matrix(case):
    randomizer, matrix = case
    np.testing.assert_allclose(matrix.matrix.sum(axis=1), 1, rtol=0, atol=1e-14)
    assert randomizer.epsilon0 == pytest.approx(matrix.epsilon0, rel=1e-12)


@pytest.mark.heavy(keep=39)
def test_blanket_is_that_of_the_matrix_for_every_ordered_pair(case):
    randomizer, matrix = case
    (pair,) = randomizer.neighbours()
    closed = randomizer.decomposition(pair)
    inputs = len(matrix.matrix)
    assert len(matrix.neighbours()) == inputs * (inputs - 1)
    for rows in matrix.neighbours():
        assert_same_law(matrix.decomposition(rows), closed)


def test_blanket_of_an_unchanged_input_is_that_of_the_matrix(case):
    randomizer, matrix = case
    (pair,) = randomizer.unchanged()
    closed = randomizer.decomposition(pair)
    for rows in matrix.unchanged():
        assert_same_law(matrix.decomposition(rows), closed)


@pytest.mark.heavy(keep=6)
def test_backgrounds_are_those_of_the_matrix(case):
    randomizer, matrix = case
    inputs = range(min(len(matrix.matrix), 5))
    for first, second, other in product(inputs, repeat=3):
        pair = Pair(first, second)
        closed = randomizer.decomposition(pair, other)
        assert closed.residual == 0
        assert_same_law(closed, matrix.decomposition(pair, other))


def test_common_inputs_are_the_pair_and_a_third():
    pair = Pair(0, 1)
    hadamard = HadamardResponse(epsilon0=1.0, domain_size=4)
    assert list(hadamard.common_inputs(pair)) == [0, 1, 2, 3]
    assert list(KRR(k=3, epsilon0=1.0).common_inputs(pair)) == [0, 1, 2]
    assert list(KRR(k=3, epsilon0=1.0).common_inputs(Pair(2, 0))) == [2, 0, 1]


# The table of the paper


def five_points(decomposition: Decomposition) -> tuple[float, float, float, float]:
    """c-masses at (E, 1), (1, E), (E, E) and (1, 1)."""
    mass = dict.fromkeys([(True, False), (False, True), (True, True), (False, False)], 0.0)
    for log0, log1, weight in decomposition.components:
        mass[bool(log0 > 0), bool(log1 > 0)] += float(weight)
    return tuple(mass.values())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("outputs", [4, 8, 16, 1024])
def test_printed_hadamard_row_has_too_much_mass(level, outputs):
    big = math.exp(level)
    # The row as printed in the paper, whose D is the number of outputs.
    p = q = 1 / (2 * (big + 1))
    r = 1 / (2 * (big + 1)) + 2 * (big - 1) / (outputs * (big + 1))
    printed = (big + 1) * p + big * q + r
    assert printed == pytest.approx(1 + 2 * (big - 1) / (outputs * (big + 1)), rel=1e-14)
    assert printed > 1 + 1e-5

    blanket = HadamardResponse(epsilon0=level, domain_size=outputs - 1).decomposition(Pair(1, 2))
    p_, p_mirrored, q_, r_ = five_points(blanket)
    assert p_ == p_mirrored == pytest.approx(p, rel=1e-14)
    assert (big + 1) * p_ + big * q_ + r_ == pytest.approx(1, rel=1e-14)
    # The two agree on the total, which is why the error is easily overlooked.
    assert q_ + r_ == pytest.approx(q + r, rel=1e-14)
    assert q_ < q * (1 - 1 / outputs)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("d", [2, 3, 7, 20])
def test_other_printed_rows_are_right(level, d):
    big, half = math.exp(level), math.exp(level / 2)
    rows = {
        BinaryLocalHash: (
            1 / (2 * (big + 1)),
            1 / (2 * (big + 1)) - 2.0 ** (1 - d) / (big + 1),
            1 / (2 * (big + 1)) + big * 2.0 ** (1 - d) / (big + 1),
        ),
        RAPPOR: (
            1 / (half + 1) ** 2,
            1 / (half * (half + 1) ** 2) - 1 / (half * (half + 1) ** d),
            half / (half + 1) ** 2 + half / (half + 1) ** d,
        ),
        OUE: (
            1 / (2 * (big + 1)),
            1 / (2 * big * (big + 1)) - 1 / (2 * big * (big + 1) ** (d - 1)),
            big / (2 * (big + 1)) + 1 / (2 * (big + 1) ** (d - 1)),
        ),
    }
    for mechanism, (p, q, r) in rows.items():
        blanket = mechanism(epsilon0=level, domain_size=d).decomposition(Pair(0, 1))
        assert five_points(blanket) == pytest.approx((p, p, q, r), rel=1e-12, abs=1e-15)


# Identities

support_levels = st.floats(1e-6, 50)
domain_sizes = st.none() | st.integers(2, 60)


@st.composite
def unary_encodings(draw):
    p, q = draw(st.tuples(st.floats(0.001, 0.999), st.floats(0.001, 0.999)))
    if abs(p - q) < 1e-4:
        p = q + 0.1 if q < 0.5 else q - 0.1
    return UnaryEncoding(p=p, q=q, domain_size=draw(domain_sizes))


@st.composite
def subset_selections(draw):
    d = draw(st.integers(2, 60))
    size = draw(st.none() | st.integers(1, d - 1))
    return SubsetSelection(epsilon0=draw(support_levels), domain_size=d, size=size)


support_randomizers = st.one_of(
    st.builds(KRR, k=st.integers(2, 10**6), epsilon0=support_levels),
    st.builds(BinaryLocalHash, epsilon0=support_levels, domain_size=domain_sizes),
    st.builds(
        LocalHash,
        epsilon0=support_levels,
        buckets=st.none() | st.integers(2, 1000),
        domain_size=domain_sizes,
    ),
    st.builds(RAPPOR, epsilon0=support_levels, domain_size=domain_sizes),
    st.builds(OUE, epsilon0=support_levels, domain_size=domain_sizes),
    st.builds(HadamardResponse, epsilon0=support_levels, domain_size=domain_sizes),
    unary_encodings(),
    subset_selections(),
)


@settings(max_examples=300)
@given(randomizer=support_randomizers)
def test_masses_add_up(randomizer):
    pair = randomizer.neighbours()[0]
    blanket = randomizer.decomposition(pair)
    assert_masses_of_laws(blanket)
    for background in backgrounds(randomizer, pair):
        assert_masses_of_laws(background)
        assert background.residual == 0
    big = math.exp(randomizer.epsilon0)
    p, p_mirrored, q, r = five_points(blanket)
    assert p == p_mirrored > 0
    assert (big + 1) * p + big * q + r == pytest.approx(1, rel=1e-13)
    assert float(blanket.residual) == pytest.approx(1 - 2 * p - q - r, abs=1e-13)


@settings(max_examples=100)
@given(randomizer=support_randomizers)
def test_ratios_are_the_level_or_nothing(randomizer):
    pair = randomizer.neighbours()[0]
    level = randomizer.epsilon0
    blanket = randomizer.decomposition(pair)
    found = {(float(c.log0), float(c.log1)) for c in blanket.components}
    assert found <= {(level, 0.0), (0.0, level), (level, level), (0.0, 0.0)}
    assert {(level, 0.0), (0.0, level)} <= found
    for background in backgrounds(randomizer, pair):
        logs = {float(log) for c in background.components for log in (c.log0, c.log1)}
        assert logs <= {-level, 0.0, level}


@settings(max_examples=100)
@given(randomizer=support_randomizers)
def test_reversed_pair_has_the_same_law(randomizer):
    blanket = randomizer.decomposition(randomizer.neighbours()[0])
    assert_same_law(blanket.swap(), blanket)


growing_families = st.one_of(
    st.builds(lambda e: lambda d: BinaryLocalHash(epsilon0=e, domain_size=d), support_levels),
    st.builds(
        lambda e, g: lambda d: LocalHash(epsilon0=e, buckets=g, domain_size=d),
        support_levels,
        st.integers(2, 50),
    ),
    st.builds(lambda e: lambda d: RAPPOR(epsilon0=e, domain_size=d), support_levels),
    st.builds(lambda e: lambda d: OUE(epsilon0=e, domain_size=d), support_levels),
    st.builds(lambda e: lambda d: HadamardResponse(epsilon0=e, domain_size=d), support_levels),
    st.builds(lambda r: lambda d: UnaryEncoding(p=r.p, q=r.q, domain_size=d), unary_encodings()),
)


@settings(max_examples=100)
@given(family=growing_families, d=st.integers(2, 50))
def test_larger_domains_protect_less_and_tend_to_the_limit(family, d):
    def points(size: int | None) -> tuple[float, float, float, float]:
        randomizer = family(size)
        return five_points(randomizer.decomposition(randomizer.neighbours()[0]))

    p, _, q, r = points(d)
    p_next, _, q_next, r_next = points(d + 1)
    p_limit, _, q_limit, r_limit = points(None)
    assert p == p_next == p_limit
    slack = 1e-14
    assert q - slack <= q_next <= q_limit + slack
    assert r + slack >= r_next >= r_limit - slack
    far = points(2**45)
    assert far == pytest.approx((p_limit, p_limit, q_limit, r_limit), abs=1e-12)


@settings(max_examples=60)
@given(family=growing_families, d=st.integers(2, 8), share=st.floats(-1, 1))
def test_limit_dominates_every_domain_in_convex_order(family, d, share):
    finite, limit = family(d), family(None)
    pair = finite.neighbours()[0]
    epsilon = share * min(finite.epsilon0, 10)
    assert_dominated(
        finite.decomposition(pair).at(epsilon).upper, limit.decomposition(pair).at(epsilon).upper
    )


@settings(max_examples=50)
@given(level=support_levels, k=st.integers(2, 10**9), share=st.floats(-1, 1))
def test_more_values_protect_more_in_krr(level, k, share):
    pair = Pair(0, 1)
    smaller, larger = KRR(k=k + 1, epsilon0=level), KRR(k=k, epsilon0=level)
    epsilon = share * min(level, 10)
    assert_dominated(
        smaller.decomposition(pair).at(epsilon).upper, larger.decomposition(pair).at(epsilon).upper
    )


def test_two_inputs_have_no_third():
    for randomizer in (
        KRR(k=2, epsilon0=1.0),
        OUE(epsilon0=1.0, domain_size=2),
        HadamardResponse(epsilon0=1.0, domain_size=2),
        SubsetSelection(epsilon0=1.0, domain_size=2),
    ):
        assert len(backgrounds(randomizer, randomizer.neighbours()[0])) == 2


def test_local_hash_is_binary_local_hash_for_two_buckets():
    for d in (2, 5, None):
        general = LocalHash(epsilon0=1.5, buckets=2, domain_size=d).decomposition(Pair(0, 1))
        assert_same_law(
            general, BinaryLocalHash(epsilon0=1.5, domain_size=d).decomposition(Pair(0, 1))
        )


@settings(max_examples=50)
@given(level=st.floats(1e-3, 5), d=st.integers(2, 100))
def test_special_unary_encodings(level, d):
    """RAPPOR and OUE are unary encodings; flipping the meaning of the bits changes nothing."""
    half, big = math.exp(level / 2), math.exp(level)
    for special, p, q in (
        (RAPPOR(epsilon0=level, domain_size=d), half / (half + 1), 1 / (half + 1)),
        (OUE(epsilon0=level, domain_size=d), 0.5, 1 / (big + 1)),
    ):
        expected = special.decomposition(Pair(0, 1))
        general = UnaryEncoding(p=p, q=q, domain_size=d)
        assert_same_law(general.decomposition(Pair(0, 1)), expected, tolerance=1e-10)
        if 1 - p > 0:
            mirrored = UnaryEncoding(p=1 - p, q=1 - q, domain_size=d)
            assert_same_law(mirrored.decomposition(Pair(0, 1)), expected, tolerance=1e-10)


@pytest.mark.parametrize("level", [0.3, 0.69, 0.7, 1.0, 2.0, 4.0])
def test_default_buckets_minimise_the_variance(level):
    """A support mechanism errs by q(1-q)/(p-q)^2 per person; here p = E/(E+g-1), q = 1/g."""

    def variance(g: int) -> float:
        p, q = math.exp(level) / (math.exp(level) + g - 1), 1 / g
        return q * (1 - q) / (p - q) ** 2

    chosen = LocalHash(epsilon0=level).hash_buckets
    best = min(range(2, 200), key=variance)
    assert variance(chosen) <= variance(best) * 1.05


@pytest.mark.parametrize(("level", "d"), [(0.5, 10), (1.0, 10), (1.0, 101), (3.0, 1000), (9.0, 5)])
def test_default_subset_size_is_near_the_optimal_share(level, d):
    size = SubsetSelection(epsilon0=level, domain_size=d).subset_size
    assert 1 <= size <= d - 1
    assert abs(size - max(1, d / (math.exp(level) + 1))) <= 0.5 + 1e-9
