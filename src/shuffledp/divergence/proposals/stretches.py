"""Which nodes to evaluate at once, which to try to skip, and what either costs."""

from __future__ import annotations

import numpy as np

from shuffledp.arrays import IntArray

#: With fewer atoms the search for rows is not worth its while.
FEWEST_ATOMS = 48

MAIN_LOBE = 7.5  # in standard deviations of the sum
GROWTH = 1.45
WIDTH = 0.7  # in units of 1/s

_FEW_ATOMS = 30
_FEW_PARTS = 4
_MANY_PARTS = 16
_WIDE = 128

_FEWEST_NUMBERS = 8
_SIDES = 2 ** np.arange(2, 11)  # lengths of rows, in gaps between neighbours
_PRODUCT = 0.01  # of a row with a column, in units of a sine and a cosine
_WORTH_ROWS = 0.7
_MOST_TURNS = 2**22
_SPARSE = 64  # times as many places as numbers, which sorting counts quicker

_DENSE_COST = 0.1  # of an atom at a node, in units of a sine and a cosine
_BOUND_COST = 0.5  # of an atom of a stretch, same unit
_NODE_COST = 10  # of a node beyond its atoms, same unit


def node_work(atoms: int) -> float:
    """Return the work at one node, in sines and cosines."""
    return atoms + _NODE_COST


def bound_work(atoms: int) -> float:
    """Return the work for the bound of one stretch, most of which are in rows."""
    return _BOUND_COST * atoms + _NODE_COST


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
    for parts in (_MANY_PARTS, _MANY_PARTS * _FEW_PARTS):  # of equal size, so that rows hold them
        widest -= widest % parts if widest > _FEW_PARTS * parts else 0
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


def side_of_rows(numbers: IntArray, atoms: int) -> int:
    """Return how long rows of numbers should be, so that few rows and columns hold them all.

    Returns:
        0 if as many exponentials as there are numbers are quicker.

    >>> side_of_rows(np.arange(0, 3000, 3), 100), side_of_rows(np.array([1, 10, 1000]), 100)
    (96, 0)
    """
    if numbers.size < _FEWEST_NUMBERS or atoms < FEWEST_ATOMS:
        return 0
    ordered = np.sort(numbers - numbers.min())
    gap = max(int(np.median(np.diff(ordered))), 1)
    best, least = 0, _WORTH_ROWS * ordered.size
    for side in gap * _SIDES:
        rows = np.count_nonzero(np.diff(ordered // side)) + 1
        if rows + ordered.size / rows >= least or rows * atoms > _MOST_TURNS:
            continue
        columns = _distinct(ordered % side, int(side))
        cost = rows + columns + _PRODUCT * rows * columns
        if cost < least:
            best, least = int(side), cost
    return best


def _distinct(numbers: IntArray, end: int) -> int:
    """Count different numbers below an end."""
    if end > _SPARSE * numbers.size:
        return np.unique(numbers).size
    return int(np.count_nonzero(np.bincount(numbers)))
