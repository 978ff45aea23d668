"""Stretches of nodes: every node is in one of them, whatever is proposed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.divergence.proposals.stretches import stretch_starts
from shuffledp.divergence.stretches import cover, listed, split


@pytest.mark.parametrize(("begin", "count"), [(1, 1), (1, 7), (5, 4), (8, 5000), (300, 301)])
@pytest.mark.parametrize("step", [1e-4, 0.02, 0.9])
def test_proposed_stretches_are_neither_wide_nor_many(begin: int, count: int, step: float) -> None:
    starts, sizes = cover(stretch_starts(0.8, step, begin, count), begin, count)
    # A stretch beyond 0.7 standard deviations of width, or half its place, has a useless bound.
    widest = max(0.7 / (0.8 * step), 1)
    assert (sizes <= widest + 1).all()
    assert (sizes[:-1] <= 0.5 * starts[:-1] + 1).all()
    if count > begin + 4 * widest:
        assert sizes[:-1].max() >= 0.9 * widest - 1


@given(
    proposed=st.lists(st.integers(-50, 60), max_size=8),
    begin=st.integers(0, 40),
    count=st.integers(0, 40),
)
def test_stretches_cover_every_node_once_whatever_is_proposed(
    proposed: list[int], begin: int, count: int
) -> None:
    starts, sizes = cover(np.array(proposed, dtype=np.int64), begin, count)
    covered = [k for a, m in zip(starts, sizes, strict=True) for k in range(a, a + m)]
    assert covered == list(range(begin, count + 1))
    assert (sizes > 0).all()


def test_parts_cover_the_stretch() -> None:
    starts, sizes = split(np.array([3, 40]), np.array([11, 16]), 4)
    assert sizes.tolist() == [2, 3, 3, 3, 4, 4, 4, 4]
    covered = [k for a, m in zip(starts, sizes, strict=True) for k in range(a, a + m)]
    assert covered == listed(starts, sizes).tolist() == [*range(3, 14), *range(40, 56)]
