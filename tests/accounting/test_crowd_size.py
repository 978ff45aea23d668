"""The search for the smallest safe number of users."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.accounting.calibration.crowd_size import smallest_crowd

MOST = 2**53


def searched(gap):
    tried = []

    def counted(n):
        assert 1 <= n <= MOST
        assert n not in tried
        tried.append(n)
        return gap(n)

    return smallest_crowd(counted, MOST), len(tried)


@given(st.integers(1, 10**12), st.sampled_from([0.5, 1.0, 2.0, 5.0]), st.floats(1e-3, 1e3))
def test_it_is_safe_and_one_less_is_not(smallest, power, scale):
    """Gaps that fall with a power of n, which is bent in log n."""

    def gap(n):
        return scale * (((smallest - 0.5) / n) ** power - 1)

    found, count = searched(gap)
    assert found == smallest
    assert count <= 10 + 1.5 * math.log2(smallest)


@pytest.mark.parametrize("smallest", [1, 2, 3, 4, 5, 17, 1000, 10**6, 10**15, MOST])
def test_without_distances_it_bisects(smallest):
    found, count = searched(lambda n: -math.inf if n >= smallest else math.inf)
    assert found == smallest
    assert count <= 27 + 53


@pytest.mark.parametrize("smallest", [50, 6562, 10**6, 10**9])
def test_distances_save_looks(smallest):
    """Delta of many users falls about like a power of n times an exponential."""
    found, count = searched(lambda n: 3 * (math.log(smallest - 0.5) - math.log(n)))
    assert found == smallest
    assert count <= math.log(smallest, 4) + 12


def test_no_number_may_be_enough():
    assert searched(lambda n: 1.0)[0] is None
    assert searched(lambda n: math.nan)[0] is None
