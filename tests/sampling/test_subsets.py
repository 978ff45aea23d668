"""Random subsets are uniform among those that hold, or do not hold, the value."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from fit import assert_fits

from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.packed import count_ones, get_bits, put_bits
from shuffledp.mechanisms.sampling.subsets import listed_subsets, packed_subsets

CASES = [(2, 1), (5, 1), (5, 2), (5, 4), (9, 3), (10, 1), (10, 5), (17, 15), (17, 2)]


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("domain", "size"), CASES)
@pytest.mark.parametrize("choose", [packed_subsets, listed_subsets])
def test_uniform(choose, domain, size, held):
    n, value = 30_000, domain // 2
    bits = Bits(np.random.default_rng(domain * 100 + size))
    rows = choose(bits, np.full(n, value), np.full(n, held), domain, size)
    if choose is packed_subsets:
        members = np.unpackbits(rows, axis=1, bitorder="little")
        assert not members[:, domain:].any()
        found = [tuple(np.flatnonzero(row)) for row in members]
    else:
        found = [tuple(row) for row in rows.tolist()]
    subsets = [s for s in combinations(range(domain), size) if (value in s) == held]
    counts = [0] * len(subsets)
    number = {s: i for i, s in enumerate(subsets)}
    for s in found:
        counts[number[s]] += 1
    assert_fits(counts, np.full(len(subsets), 1 / len(subsets)))


@pytest.mark.parametrize(
    ("domain", "size"), [(1000, 270), (1000, 1), (1000, 999), (1000, 100), (77, 40), (1001, 900)]
)
def test_large_subsets_have_the_right_size(domain, size):
    rng = np.random.default_rng(1)
    values, held = rng.integers(0, domain, 500), rng.random(500) < 0.5
    rows = packed_subsets(Bits(rng), values, held, domain, size)
    assert (np.unpackbits(rows, axis=1).sum(axis=1) == size).all()
    assert (get_bits(rows, np.arange(500), values) == held).all()
    share = np.unpackbits(rows, axis=1, bitorder="little")[:, :domain].mean()
    assert share == pytest.approx(size / domain)


def test_sparse_subsets_of_a_huge_domain():
    rng = np.random.default_rng(1)
    values, held = rng.integers(0, 2**40, 300), rng.random(300) < 0.5
    rows = listed_subsets(Bits(rng), values, held, 2**40, 5)
    assert (np.diff(rows.astype(np.int64), axis=1) > 0).all()
    assert ((rows == values[:, None]).any(axis=1) == held).all()


@pytest.mark.parametrize("n", [0, 1, 254, 255, 256, 1000])
def test_count_ones(n):
    rng = np.random.default_rng(n)
    rows = np.full((n, 3), 255, dtype=np.uint8)
    rows[: n // 2] = rng.integers(0, 256, (n // 2, 3), dtype=np.uint8)
    reports = rows.view(np.dtype((np.void, 3))).ravel()
    plain = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0)[:19]
    assert count_ones(reports, 19).tolist() == plain.tolist()


def test_bits_of_rows():
    rows = np.zeros((3, 2), dtype=np.uint8)
    index, positions = np.array([0, 2]), np.array([9, 15])
    put_bits(rows, index, positions, np.array([True, True]))
    assert rows.tolist() == [[0, 2], [0, 0], [0, 128]]
    put_bits(rows, index, positions, np.array([False, True]))
    assert get_bits(rows, index, positions).tolist() == [False, True]
