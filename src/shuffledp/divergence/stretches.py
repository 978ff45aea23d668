"""Stretches of nodes: runs of neighbours that are bounded, and skipped, together."""

from __future__ import annotations

import numpy as np

from shuffledp.arrays import IntArray


def cover(proposed: IntArray, begin: int, count: int) -> tuple[IntArray, IntArray]:
    """Return starts and sizes of stretches that cover begin..count, whatever is proposed."""
    if begin > count:
        return proposed[:0], proposed[:0]
    inner = proposed[(proposed > begin) & (proposed <= count)]
    edges = np.concatenate([[begin], inner, [count + 1]])
    sizes = edges[1:] - edges[:-1]
    if sizes.min() <= 0:
        edges = np.unique(edges)
        sizes = edges[1:] - edges[:-1]
    return edges[:-1], sizes


def split(starts: IntArray, sizes: IntArray, parts: int) -> tuple[IntArray, IntArray]:
    """Split every stretch into so many, or into its nodes if there are fewer."""
    cuts = starts[:, None] + (sizes[:, None] * np.arange(parts + 1)) // parts
    starts, sizes = cuts[:, :-1].ravel(), (cuts[:, 1:] - cuts[:, :-1]).ravel()
    some = sizes > 0
    return starts[some], sizes[some]


def listed(starts: IntArray, sizes: IntArray) -> IntArray:
    """Return the nodes of all stretches, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)
