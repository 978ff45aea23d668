"""Hash families: independence by enumeration, arithmetic against Python's integers."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from fit import assert_fits

from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.hashing import (
    LARGE_PRIME,
    SMALL_PRIME,
    AllFunctions,
    HashFamily,
    Polynomials,
)


def starts(prime: int, buckets: int) -> list[int]:
    """The first elements of intervals as equal as possible, longer ones first."""
    width, wide = divmod(prime, buckets)
    return [i * width + min(i, wide) for i in range(buckets + 1)]


def every_function(family: HashFamily) -> np.ndarray:
    words = product(range(family.word_bound), repeat=family.words)
    return np.array(list(words), dtype=family.dtype)


def hashes(family: HashFamily, functions: np.ndarray, size: int) -> np.ndarray:
    """The table of all hash values, one row per function."""
    columns = [family.apply(functions, np.full(len(functions), x)) for x in range(size)]
    return np.array(columns).T


@pytest.mark.parametrize(("prime", "buckets"), [(7, 2), (11, 3), (13, 4), (13, 5)])
def test_any_three_values_of_a_polynomial_are_independent(prime, buckets):
    family = Polynomials(buckets, prime)
    table = hashes(family, every_function(family), prime)
    edges = starts(prime, buckets)
    law = [Fraction(b - a, prime) for a, b in pairwise(edges)]
    for x, y, z in list(permutations(range(prime), 3))[::17]:
        for i, j, k in product(range(buckets), repeat=3):
            found = int(((table[:, x] == i) & (table[:, y] == j) & (table[:, z] == k)).sum())
            assert Fraction(found, prime**3) == law[i] * law[j] * law[k]


@pytest.mark.parametrize(("prime", "buckets"), [(11, 2), (13, 3), (17, 5)])
def test_collisions_are_as_rare_as_claimed(prime, buckets):
    family = Polynomials(buckets, prime)
    table = hashes(family, every_function(family), 3)
    edges = starts(prime, buckets)
    law = [Fraction(b - a, prime) for a, b in pairwise(edges)]
    two = Fraction(int((table[:, 0] == table[:, 1]).sum()), prime**3)
    three = Fraction(
        int(((table[:, 0] == table[:, 1]) & (table[:, 1] == table[:, 2])).sum()), prime**3
    )
    assert two == sum(p**2 for p in law)
    share = Fraction(buckets, prime)
    assert 1 <= two * buckets <= 1 + share**2
    assert three == sum(p**3 for p in law)
    assert abs(three * buckets**2 - 1) <= 3 * share**2 + share**3


@pytest.mark.parametrize(
    ("prime", "buckets"),
    [(SMALL_PRIME, 2), (SMALL_PRIME, 32), (LARGE_PRIME, 40), (LARGE_PRIME, 2**32)],
)
def test_the_real_fields_are_uniform_enough(prime, buckets):
    """The claim of local hashing: masses differ by less than 2**-50 from those of uniform ones."""
    width, wide = divmod(prime, buckets)
    offsets = [(wide, Fraction(width + 1, prime)), (buckets - wide, Fraction(width, prime))]
    for t in (2, 3):
        mass = sum(count * p**t for count, p in offsets)
        assert abs(mass * buckets ** (t - 1) - 1) < Fraction(1, 2**50)
    none = sum(count * p * (1 - p) ** 2 for count, p in offsets)
    assert abs(none / Fraction(buckets - 1, buckets) ** 2 - 1) < Fraction(1, 2**50)


@pytest.mark.parametrize(
    ("prime", "buckets"),
    [
        (SMALL_PRIME, 2),
        (SMALL_PRIME, 5),
        (LARGE_PRIME, 2),
        (LARGE_PRIME, 1000),
        (LARGE_PRIME, 2**32),
    ],
)
def test_polynomials_are_evaluated_exactly(prime, buckets):
    family, rng = Polynomials(buckets, prime), np.random.default_rng(1)
    functions = family.draw(Bits(rng), 500)
    functions[0], functions[1] = 0, prime - 1
    values = rng.integers(0, prime, 500)
    values[:3] = prime - 1, prime - 1, 0
    edges = None if buckets > 10**6 else starts(prime, buckets)
    for (a, b, c), x, found in zip(
        functions.tolist(), values.tolist(), family.apply(functions, values).tolist(), strict=True
    ):
        point = (a * x * x + b * x + c) % prime
        if edges is not None:
            assert found == bisect_right(edges, point) - 1
        else:
            width, wide = divmod(prime, buckets)
            assert found * width + min(found, wide) <= point
            assert point < (found + 1) * width + min(found + 1, wide)


FAMILIES = [
    Polynomials(2, SMALL_PRIME),
    Polynomials(7, SMALL_PRIME),
    Polynomials(3, LARGE_PRIME),
    Polynomials(5, 13),
    AllFunctions(2, 10),
    AllFunctions(2, 64),
    AllFunctions(3, 100),
    AllFunctions(1000, 12),
]


@pytest.mark.parametrize(
    "family", FAMILIES, ids=lambda f: f"{type(f).__name__}-{f.buckets}-{f.words}"
)
def test_counting(family):
    """Additions from value to value, single values and plain evaluation count the same."""
    rng, size = np.random.default_rng(1), 10
    functions = family.draw(Bits(rng), 40_000)
    buckets = rng.integers(0, family.buckets, 40_000).astype(np.uint16)
    table = hashes(family, functions, size)
    plain = (table == buckets[:, None]).sum(axis=0)
    assert family.count(functions, buckets, size).tolist() == plain.tolist()
    chosen = np.array([7, 0, 7, 3])
    assert family.count(functions, buckets, chosen).tolist() == plain[chosen].tolist()


@pytest.mark.parametrize(
    "family", FAMILIES, ids=lambda f: f"{type(f).__name__}-{f.buckets}-{f.words}"
)
def test_pairs_and_triples_look_independent(family):
    rng = np.random.default_rng(2)
    functions = family.draw(Bits(rng), 60_000)
    table = hashes(family, functions, 10).astype(np.int64) * 2 // family.buckets
    edges = np.bincount(table[:, 0], minlength=2) / len(table)
    for columns in ((0, 9), (3, 4), (0, 1, 2), (1, 5, 9)):
        cells = np.ravel_multi_index(table[:, columns].T, (2,) * len(columns))
        half = np.count_nonzero(np.arange(family.buckets) * 2 // family.buckets == 0)
        low = half / family.buckets
        if isinstance(family, Polynomials):
            low = starts(family.prime, family.buckets)[half] / family.prime
        law = np.array([low, 1 - low])
        joint = law
        for _ in columns[1:]:
            joint = np.multiply.outer(joint, law)
        assert_fits(np.bincount(cells, minlength=joint.size), joint.ravel())
    assert 0 < edges[0] < 1


def test_all_functions_are_all_functions():
    family = AllFunctions(3, 4)
    functions = every_function(family)
    table = hashes(family, functions, 4)
    assert len({tuple(row) for row in table.tolist()}) == 3**4 == len(functions)


@pytest.mark.parametrize(
    ("buckets", "domain", "words"),
    [(2, 64, 1), (2, 65, 2), (2, 192, 3), (2, 193, 4), (2**32, 6, 3)],
)
def test_size_of_a_function(buckets, domain, words):
    assert AllFunctions(buckets, domain).words == words
