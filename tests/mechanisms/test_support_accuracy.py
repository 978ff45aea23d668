"""Masses and ratios of support mechanisms against 500 digits: balls must hold them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from enumeration import backgrounds, encloses
from exact_masses import (
    Exact,
    assert_accurate,
    assert_randomizer_accurate,
    exact_hadamard,
    exact_hash,
    exact_krr,
    exact_oue,
    exact_rappor,
    exact_subset,
    exact_unary,
    mp,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    LocalHash,
    LocalRandomizer,
    SubsetSelection,
    UnaryEncoding,
)

LEVELS = (1e-12, 1e-6, 0.01, 1.0, 10.0, 50.0, 300.0)
DOMAINS = (2, 3, 5, 20, None)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("k", [2, 3, 4, 10, 10**6, 10**15])
def test_krr(k, level):
    assert_randomizer_accurate(KRR(k=k, epsilon0=level), exact_krr(k, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("d", DOMAINS)
def test_local_hash(d, level):
    assert_randomizer_accurate(
        BinaryLocalHash(epsilon0=level, domain_size=d), exact_hash(2, d, level)
    )
    for g in (3, 7, 1000):
        randomizer = LocalHash(epsilon0=level, buckets=g, domain_size=d)
        assert_randomizer_accurate(randomizer, exact_hash(g, d, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("d", DOMAINS)
@pytest.mark.parametrize(("mechanism", "exact"), [(RAPPOR, exact_rappor), (OUE, exact_oue)])
def test_named_unary_encodings(mechanism, exact, d, level):
    assert_randomizer_accurate(mechanism(epsilon0=level, domain_size=d), exact(d, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("d", [2, 4, 5, 7, 20, 1000, None])
def test_hadamard(d, level):
    randomizer = HadamardResponse(epsilon0=level, domain_size=d)
    assert_randomizer_accurate(randomizer, exact_hadamard(d, level))


@pytest.mark.parametrize("level", LEVELS)
def test_hadamard_of_three_inputs(level):
    """The only third input is the sum of the other two: it is supported with both or with none."""
    randomizer = HadamardResponse(epsilon0=level, domain_size=3)
    exact = exact_hadamard(3, level)
    blanket = randomizer.decomposition(randomizer.neighbours()[0])
    assert_accurate(blanket, exact.level, exact.blanket())
    assert encloses(blanket.residual, exact.residual())
    third = backgrounds(randomizer, randomizer.neighbours()[0])[2]
    big = mp.exp(level)
    quarter = 1 / (2 * (big + 1))
    expected = {
        (0, 0): big * quarter,
        (-1, -1): big * quarter,
        (1, 0): quarter,
        (0, 1): quarter,
    }
    assert_accurate(third, exact.level, expected)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("d", "size"), [(2, 1), (3, 1), (3, 2), (7, 3), (100, 1), (100, 50), (100, 99), (10**6, 12345)]
)
def test_subset_selection(d, size, level):
    randomizer = SubsetSelection(epsilon0=level, domain_size=d, size=size)
    assert_randomizer_accurate(randomizer, exact_subset(d, size, level))


UNARY = {
    "even": (0.75, 0.25),
    "mirrored": (0.2, 0.7),
    "optimal": (0.5, 0.2689414213699951),
    "strong": (1 - 2.0**-40, 0.5),
    "rare": (1e-6, 1e-9),
    "rarer": (0.25, 1e-100),
    "often": (0.999999, 0.99999),
    "seldom zero": (1e-7, 1e-6),
    "nearly equal": (0.3000001, 0.3),
    "closer": (0.7, 0.7 + 1e-12),
}


@pytest.fixture(params=UNARY)
def unary_laws(request: pytest.FixtureRequest) -> list[tuple[UnaryEncoding, Exact]]:
    p, q = UNARY[request.param]
    return [
        (UnaryEncoding(p=p, q=q, domain_size=d), exact_unary(mp.mpf(p), mp.mpf(q), d))
        for d in DOMAINS
    ]


def test_unary_level(unary_laws):
    for randomizer, exact in unary_laws:
        assert exact.level <= randomizer.epsilon0 <= exact.level * (1 + mp.mpf(2) ** -52)


def test_unary_blanket(unary_laws):
    for randomizer, exact in unary_laws:
        blanket = randomizer.decomposition(randomizer.neighbours()[0])
        assert_accurate(blanket, exact.level, exact.blanket())


def test_unary_residual(unary_laws):
    for randomizer, exact in unary_laws:
        blanket = randomizer.decomposition(randomizer.neighbours()[0])
        assert encloses(blanket.residual, exact.residual())


def test_unary_backgrounds(unary_laws):
    for randomizer, exact in unary_laws:
        pair = randomizer.neighbours()[0]
        first, second, *third = backgrounds(randomizer, pair)
        assert_accurate(first, exact.level, exact.held_by_pair(0))
        assert_accurate(second, exact.level, exact.held_by_pair(1))
        if third:
            assert_accurate(third[0], exact.level, exact.held_by_third())


@st.composite
def drawn(draw) -> tuple[LocalRandomizer, Callable[[], Exact]]:
    """A mechanism of any level and domain, and its exact law."""
    level = draw(st.floats(1e-6, 50) | st.floats(1e-6, 1))
    d = draw(st.none() | st.integers(2, 40))
    kind = draw(st.sampled_from(["krr", "hash", "rappor", "oue", "hadamard", "subset"]))
    if kind == "krr":
        k = draw(st.integers(2, 10**12))
        return KRR(k=k, epsilon0=level), lambda: exact_krr(k, level)
    if kind == "hash":
        g = draw(st.integers(2, 10**6))
        made = LocalHash(epsilon0=level, buckets=g, domain_size=d)
        return made, lambda: exact_hash(g, d, level)
    if kind == "rappor":
        return RAPPOR(epsilon0=level, domain_size=d), lambda: exact_rappor(d, level)
    if kind == "oue":
        return OUE(epsilon0=level, domain_size=d), lambda: exact_oue(d, level)
    if kind == "hadamard":
        assume(d != 3)  # has a test of its own
        return HadamardResponse(epsilon0=level, domain_size=d), lambda: exact_hadamard(d, level)
    d = d or 10**4
    size = draw(st.integers(1, d - 1))
    made = SubsetSelection(epsilon0=level, domain_size=d, size=size)
    return made, lambda: exact_subset(d, size, level)


@settings(max_examples=200)
@given(case=drawn())
def test_balls_hold_masses_of_drawn_parameters(case):
    randomizer, exact = case
    assert_randomizer_accurate(randomizer, exact())
