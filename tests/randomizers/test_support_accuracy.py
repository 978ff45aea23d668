"""Masses and ratios of support mechanisms against 80 digits: declared errors must hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
from enumeration import backgrounds, mp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp.decomposition import Decomposition
from shuffledp.randomizers import (
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

Number = mp.mpf


@dataclass(frozen=True)
class Exact:
    """p, q, r of the blanket, and the mass per pattern over three inputs by its number of ones.

    The masses over three inputs are those under the common factor of the law, which an input in
    the support multiplies by E.
    """

    level: Number
    p: Number
    q: Number
    r: Number
    patterns: tuple[Number, ...]

    def blanket(self) -> dict[tuple[int, int], Number]:
        return {(1, 0): self.p, (0, 1): self.p, (1, 1): self.q, (0, 0): self.r}

    def residual(self) -> Number:
        return 1 - 2 * self.p - self.q - self.r

    def held_by_pair(self, holder: int) -> dict[tuple[int, int], Number]:
        """The others hold an input of the pair: only outputs that tell the two apart matter."""
        big = mp.exp(self.level)
        mine, theirs = ((0, -1), (0, 1)) if holder == 0 else ((-1, 0), (1, 0))
        return {mine: big * self.p, theirs: self.p, (0, 0): big * self.q + self.r}

    def held_by_third(self) -> dict[tuple[int, int], Number]:
        """The others hold an input that is independent of the pair."""
        found: dict[tuple[int, int], Number] = {}
        for first, second, third in product((0, 1), repeat=3):
            key = first - third, second - third
            mass = self.patterns[first + second + third] * mp.exp(self.level * third)
            found[key] = found.get(key, 0) + mass
        return found


def exact_krr(k: int, level: float) -> Exact:
    one = 1 / (mp.exp(level) + k - 1)
    return Exact(mp.mpf(level), one, mp.mpf(0), (k - 2) * one, ((k - 3) * one, one, 0, 0))


def exact_hash(g: int, d: int | None, level: float) -> Exact:
    big = mp.exp(level)
    unit, g = 1 / (big + g - 1), mp.mpf(g)
    constants = 0 if d is None else g ** (1 - d)
    return Exact(
        mp.mpf(level),
        unit * (g - 1) / g,
        unit * (1 / g - constants),
        unit * ((g - 1) ** 2 / g + big * constants),
        tuple(g * unit * g**-m * (1 - 1 / g) ** (3 - m) for m in range(4)),
    )


def exact_unary(a: Number, b: Number, d: int | None, level: float | None = None) -> Exact:
    """The bit that tells the input is 1 with probability a, else with probability b < a."""
    if a < b:
        a, b = 1 - a, 1 - b
    power = mp.mpf(0) if d is None else b ** (d - 1)
    low = (1 - a) / (1 - b)
    return Exact(
        mp.log(a * (1 - b) / (b * (1 - a))) if level is None else mp.mpf(level),
        b * (1 - a),
        low * b * (b - power),
        (1 - a) * (1 - b) + a * power,
        tuple(low * b**m * (1 - b) ** (3 - m) for m in range(4)),
    )


def exact_rappor(d: int | None, level: float) -> Exact:
    h = mp.exp(mp.mpf(level) / 2)
    return exact_unary(h / (h + 1), 1 / (h + 1), d, level)


def exact_oue(d: int | None, level: float) -> Exact:
    return exact_unary(mp.mpf(1) / 2, 1 / (mp.exp(level) + 1), d, level)


def exact_hadamard(d: int | None, level: float) -> Exact:
    big = mp.exp(level)
    unit = 1 / (big + 1)
    share = 0 if d is None else mp.mpf(2) / (1 << d.bit_length())
    half = unit / 2
    return Exact(
        mp.mpf(level), half, half - share * unit, half + big * share * unit, (unit / 4,) * 4
    )


def exact_subset(d: int, size: int, level: float) -> Exact:
    total = (d - 1) * (size * mp.exp(level) + d - size)
    everything = mp.binomial(d - 1, size - 1) * mp.exp(level) + mp.binomial(d - 1, size)

    def subsets(members: int) -> Number:
        inside = 0 <= size - members <= d - 3
        return mp.binomial(d - 3, size - members) / everything if inside else mp.mpf(0)

    return Exact(
        mp.mpf(level),
        size * (d - size) / total,
        size * (size - 1) / total,
        (d - size) * (d - size - 1) / total,
        tuple(subsets(m) for m in range(4)),
    )


def assert_accurate(
    decomposition: Decomposition, level: Number, expected: dict[tuple[int, int], Number]
) -> None:
    """Every component has the mass and the ratios of ``expected`` within its declared errors."""
    expected = {key: mass for key, mass in expected.items() if mass != 0}
    assert decomposition.size == len(expected)
    found = set()
    for log0, log1, weight, error, weight_error in zip(
        decomposition.log_ratio0.tolist(),
        decomposition.log_ratio1.tolist(),
        decomposition.weight.tolist(),
        decomposition.log_ratio_error.tolist(),
        decomposition.weight_error.tolist(),
        strict=True,
    ):
        key = (log0 > 0) - (log0 < 0), (log1 > 0) - (log1 < 0)
        found.add(key)
        assert abs(log0 - key[0] * level) <= error
        assert abs(log1 - key[1] * level) <= error
        off = abs(weight / expected[key] - 1)
        assert off <= weight_error, (key, float(off))
    assert found == set(expected)


def assert_residual_accurate(decomposition: Decomposition, exact: Exact) -> None:
    off = abs(decomposition.residual / exact.residual() - 1)
    assert off <= decomposition.residual_error, float(off)


def assert_randomizer_accurate(randomizer: LocalRandomizer, exact: Exact) -> None:
    pair = randomizer.neighbours()[0]
    blanket = randomizer.blanket(pair)
    assert_accurate(blanket, exact.level, exact.blanket())
    assert_residual_accurate(blanket, exact)
    first, second, *third = backgrounds(randomizer, pair)
    assert_accurate(first, exact.level, exact.held_by_pair(0))
    assert_accurate(second, exact.level, exact.held_by_pair(1))
    if third:
        assert_accurate(third[-1], exact.level, exact.held_by_third())


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
    blanket = randomizer.blanket(randomizer.neighbours()[0])
    assert_accurate(blanket, exact.level, exact.blanket())
    assert_residual_accurate(blanket, exact)
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
        assert abs(randomizer.epsilon0 - exact.level) <= randomizer.log_ratio_error
        assert randomizer.log_ratio_error < 1e-12


def test_unary_blanket(unary_laws):
    for randomizer, exact in unary_laws:
        blanket = randomizer.blanket(randomizer.neighbours()[0])
        assert_accurate(blanket, exact.level, exact.blanket())


def test_unary_residual(unary_laws):
    for randomizer, exact in unary_laws:
        assert_residual_accurate(randomizer.blanket(randomizer.neighbours()[0]), exact)


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
def test_declared_errors_hold_for_drawn_parameters(case):
    randomizer, exact = case
    assert_randomizer_accurate(randomizer, exact())
