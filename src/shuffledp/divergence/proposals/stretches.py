"""Which nodes to evaluate at once, which to try to skip, and what either costs."""

from __future__ import annotations

import numpy as np

from shuffledp.arrays import IntArray

MAIN_LOBE = 7.5  # in standard deviations of the sum
GROWTH = 1.45
WIDTH = 0.7  # in units of 1/s

_FEW_ATOMS = 30
_FEW_PARTS = 4
_MANY_PARTS = 16
_WIDE = 128

_DENSE_COST = 0.1  # of an atom at a node, in units of a sine and a cosine
_NODE_COST = 10  # of a node beyond its atoms, same unit


def node_work(atoms: int) -> float:
    """Return the work at one node, or for the bound of one stretch, in sines and cosines."""
    return atoms + _NODE_COST


def dense_work(atoms: int, count: int) -> float:
    """Return the work of evaluating all nodes together."""
    return count * (_DENSE_COST * atoms + _NODE_COST)


def main_lobe(sigma: float, step: float) -> int:
    """Return how many nodes next to 0 are surely needed; sigma is the deviation of the sum."""
    return int(MAIN_LOBE / (sigma * step)) + 1


def stretch_count(deviation: float, step: float, count: int) -> float:
    """Return about how many stretches there will be; s is the deviation of one summand."""
    return count * step * deviation / WIDTH


def stretch_starts(deviation: float, step: float, begin: int, count: int) -> IntArray:
    """Return where to cut the nodes begin..count: stretches grow and then keep the width 0.7/s."""
    starts = [begin]
    widest = max(int(WIDTH / (deviation * step)), 1)
    while starts[-1] <= count:
        width = int((GROWTH - 1) * starts[-1]) + 1
        if width >= widest:
            break
        starts.append(starts[-1] + width)
    tail = np.arange(starts[-1], count + 1, widest)
    return np.concatenate([np.array(starts[:-1], dtype=np.int64), tail])


def split_parts(atoms: int, widest: int) -> int:
    """Return into how many parts to split stretches of up to ``widest`` nodes.

    With few atoms another round costs more than parts.
    """
    return _MANY_PARTS if atoms <= _FEW_ATOMS and widest >= _WIDE else _FEW_PARTS
