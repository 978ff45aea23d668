from __future__ import annotations

import math

import mpmath
import pytest

from shuffledp.mechanisms import LocalHash, SubsetSelection
from shuffledp.mechanisms.support.support import nearest_share, nearest_to_exp


def next_to(x: float) -> list[float]:
    return [math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)]


# e^epsilon0 halfway between two whole numbers up to the last bit: doubles may round it either way.
@pytest.mark.parametrize("whole", [1, 2, 7, 50, 1000])
def test_buckets_do_not_hang_on_the_last_bit(whole):
    found = []
    for epsilon0 in next_to(math.log(whole + 0.5)):
        exact = int(mpmath.floor(mpmath.exp(mpmath.mpf(epsilon0)) + mpmath.mpf(1) / 2))
        assert nearest_to_exp(epsilon0) == exact
        assert LocalHash(epsilon0=epsilon0).hash_buckets == exact + 1
        found.append(exact)
    assert set(found) == {whole, whole + 1}


@pytest.mark.parametrize(("size", "share"), [(10, 1.5), (10, 2.5), (101, 7.5), (1000, 0.5)])
def test_subset_sizes_do_not_hang_on_the_last_bit(size, share):
    found = []
    for epsilon0 in next_to(math.log(size / share - 1)):
        exact = size / (mpmath.exp(mpmath.mpf(epsilon0)) + 1)
        nearest = int(mpmath.floor(exact + mpmath.mpf(1) / 2))
        assert nearest_share(size, epsilon0) == nearest
        expected = max(nearest, 1)
        assert SubsetSelection(epsilon0=epsilon0, domain_size=size).subset_size == expected
        found.append(nearest)
    assert set(found) == {math.floor(share), math.ceil(share)}


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(50):
        yield


def test_large_levels():
    assert nearest_to_exp(300.0) == pytest.approx(math.exp(300), rel=1e-12)
    assert nearest_share(10, 300.0) == 0
    assert LocalHash(epsilon0=300.0).hash_buckets == nearest_to_exp(300.0) + 1
