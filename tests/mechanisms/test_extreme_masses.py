"""Support masses at the ends of the parameters: tiny p and q, huge domains."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from blankets import blanket_accountant
from enumeration import encloses
from exact_masses import (
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

from shuffledp import ShuffleAccountant
from shuffledp.comparison.published import StrongerClone
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    LocalHash,
    Pair,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.mechanisms.sampling.hashing import LARGE_PRIME, SMALL_PRIME

LEVELS = (1e-9, 1e-5, 0.3, 7.0, 40.0, 111.1, 299.99, 300.0)
SIZES = (2, 3, 4, 1000, 2**31, 2**53 - 1, 2**53)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", SIZES)
def test_randomized_response(size, level):
    assert_randomizer_accurate(KRR(k=size, epsilon0=level), exact_krr(size, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [x for x in SIZES if x != 3])
def test_hadamard_response(size, level):
    randomizer = HadamardResponse(epsilon0=level, domain_size=size)
    assert_randomizer_accurate(randomizer, exact_hadamard(size, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [*SIZES, None])
def test_unary_encodings_by_level(size, level):
    for mechanism, exact in ((RAPPOR, exact_rappor), (OUE, exact_oue)):
        randomizer = mechanism(epsilon0=level, domain_size=size)
        assert_randomizer_accurate(randomizer, exact(size, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [2, 3, 2**53, None])
def test_local_hashing(size, level):
    for buckets in (2, 3, 1000, 2**53):
        randomizer = LocalHash(epsilon0=level, buckets=buckets, domain_size=size)
        assert_randomizer_accurate(randomizer, exact_hash(buckets, size, level))
    randomizer = LocalHash(epsilon0=level, domain_size=size)
    buckets = randomizer.hash_buckets
    assert abs(buckets - mp.nint(mp.exp(level)) - 1) <= buckets * mp.mpf("1e-59")
    assert_randomizer_accurate(randomizer, exact_hash(buckets, size, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [1, 2, 3, 12345678901, 2**52, 2**53 - 3, 2**53 - 2, 2**53 - 1])
def test_subset_selection(size, level):
    randomizer = SubsetSelection(epsilon0=level, domain_size=2**53, size=size)
    assert_randomizer_accurate(randomizer, exact_subset(2**53, size, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [2, 3, 1000, 2**53])
def test_the_default_size_of_a_subset(size, level):
    best = int(mp.nint(size / (mp.exp(level) + 1)))
    chosen = SubsetSelection(epsilon0=level, domain_size=size).subset_size
    assert chosen == min(max(best, 1), size - 1)


def drawn_probabilities(count: int) -> list[tuple[float, float, int | None]]:
    """p, q and D over many orders of magnitude; levels in range, no mass below the doubles."""
    rng = np.random.default_rng(9)
    found: list[tuple[float, float, int | None]] = []
    while len(found) < count:
        p, q = 10.0 ** -(rng.uniform(0, rng.choice([1, 16, 90]), 2))
        p, q = (1 - x if rng.random() < 0.3 and x > 1e-16 else x for x in (p, q))
        if rng.random() < 0.3:
            q = p * (1 + 10.0 ** -rng.uniform(1, 11))
        size = [None, 2, 3, int(2 ** rng.uniform(2, 53)), 2**53][rng.integers(5)]
        if 0 < p < 1 and 0 < q < 1 and 1e-11 < abs(math.log(p / q * (1 - q) / (1 - p))) < 299:
            found.append((float(p), float(q), size))
    return found


@pytest.mark.heavy(keep=50)
@pytest.mark.parametrize(
    ("p", "q", "size"),
    [
        (1.7152439504143044e-11, 2.9209078920704114e-06, 300_000),
        (1e-12, 1e-9, 10**9),
        (1e-9, 1e-12, 2**53),
        (1 - 2.0**-53, 0.5, 2**53),
        (2.0**-60, 1 - 2.0**-53, 2**53),
        (1e-90, 1e-12, 2**53),
        *drawn_probabilities(150),
    ],
)
def test_unary_encodings_by_probabilities(p, q, size):
    randomizer = UnaryEncoding(p=p, q=q, domain_size=size)
    exact = exact_unary(mp.mpf(p), mp.mpf(q), size)
    assert exact.level <= randomizer.epsilon0 <= exact.level * (1 + mp.mpf(2) ** -52)
    assert_randomizer_accurate(randomizer, exact)


# -- masses beyond the range of doubles -----------------------------------------------------------

TINY = [
    (1e-300, 2e-300),
    (2e-300, 1e-300),
    (1e-280, 1e-150),
    (1e-150, 1e-280),
    (5e-324, 1e-323),
    (1e-323, 5e-324),
    (0.25, 1e-130),
    (1e-130, 0.5),
    (1e-300, 1e-300 * (1 + 1e-10)),
]


@pytest.mark.parametrize("size", [2, 3, 1000, 2**53, None])
@pytest.mark.parametrize(("p", "q"), TINY)
def test_tiny_masses_are_kept(p, q, size):
    randomizer = UnaryEncoding(p=p, q=q, domain_size=size)
    assert_randomizer_accurate(randomizer, exact_unary(mp.mpf(p), mp.mpf(q), size))


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 149.0, 290.0])
def test_a_tiny_probability_is_not_an_answer_of_zero(epsilon):
    """The true bit is 1 with probability 1e-150, others with 1e-280: delta is about 1e-150."""
    randomizer = UnaryEncoding(p=1e-150, q=1e-280, domain_size=2)
    found = ShuffleAccountant(randomizer, 2).log_delta_interval(epsilon)
    assert found.upper >= math.log(1e-150) - 1e-3
    assert found.width <= 1e-3


# -- what follows ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::shuffledp.basics.errors.AccuracyWarning")
def test_large_domains_are_accounted_with_their_error():
    randomizer = UnaryEncoding(
        p=1.7152439504143044e-11, q=2.9209078920704114e-06, domain_size=300_000
    )
    found = blanket_accountant(randomizer, 10**10).log_delta_interval(5.01564451e-05)
    assert found.lower <= -20.6712 <= found.upper + 1e-4
    assert found.width < 1e-3


def test_the_masses_of_the_stronger_clone():
    randomizer = UnaryEncoding(p=1e-12, q=1e-9, domain_size=10**9)
    exact = exact_unary(mp.mpf(1e-12), mp.mpf(1e-9), 10**9)
    found = StrongerClone(randomizer, n=1000).decomposition()
    big = mp.exp(exact.level)
    rest = 1 - (big + 1) * exact.p
    assert_accurate(found, exact.level, {(1, 0): exact.p, (0, 1): exact.p, (1, 1): rest / big})
    assert encloses(found.residual, 1 - 2 * exact.p - rest / big)


@pytest.mark.parametrize("buckets", [2, 3, 7, 31, 32, 33, 1000, 2**20 + 7, 2**32 - 1, 2**32])
def test_polynomials_have_the_masses_of_all_functions_within_the_law_error(buckets):
    """Masses of support patterns for the true lengths of the intervals, in exact arithmetic."""
    allowed = Fraction(BinaryLocalHash(epsilon0=1.0).law_error) / 2
    for prime in (SMALL_PRIME, LARGE_PRIME) if buckets <= 32 else (LARGE_PRIME,):
        width, wide = divmod(prime, buckets)
        chances = (wide, Fraction(width + 1, prime)), (buckets - wide, Fraction(width, prime))
        for named in (1, 2, 3):
            for supported in range(named + 1):
                true = sum(
                    count * f**supported * (1 - f) ** (named - supported) for count, f in chances
                )
                even = Fraction(1, buckets)
                stated = buckets * even**supported * (1 - even) ** (named - supported)
                assert abs(stated / true - 1) <= allowed


def test_the_law_error_is_part_of_every_mass():
    pair = Pair(0, 1)
    vague = LocalHash(epsilon0=1.0, buckets=4).decomposition(pair)
    exact = KRR(k=4, epsilon0=1.0).decomposition(pair)
    for found, is_vague in ((vague, True), (exact, False)):
        for mass in (found.residual, *(c.weight for c in found.components)):
            assert (mass.rad() >= 2.0**-48 * mass.mid()) == is_vague


class Rounded(KRR):
    """A mechanism whose author computes with doubles."""

    def support_mass(self, supported, named):
        return float(super().support_mass(supported, named))


class Confused(OUE):
    """One whose outputs that support all inputs are more than those that support two."""

    @property
    def full_support_mass(self):
        return self.support_mass(1, 1)


class Vague(OUE):
    """One whose masses agree to too few digits."""

    @property
    def full_support_mass(self):
        return self.support_mass(2, 2) * (1 - self.ratio * 2**-150)


def test_masses_that_nobody_accounts_for_are_refused():
    with pytest.raises(TypeError, match="must be computed with balls"):
        Rounded(k=3, epsilon0=1.0).decomposition(Pair(0, 1), 2)
    for mechanism in (Confused, Vague):
        with pytest.raises(ValueError, match="digits to tell outputs that support 2 inputs"):
            mechanism(epsilon0=1.0, domain_size=3).decomposition(Pair(0, 1))
    with pytest.raises(ValueError, match="masses must be at least 0"):
        KRR(k=2, epsilon0=1.0).decomposition(Pair(0, 1), 2)
