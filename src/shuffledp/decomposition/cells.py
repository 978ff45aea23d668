r"""Cells: how a continuous law of ratios is enclosed by two finite ones.

Within a cell the ratios (a/c, b/c) run along a segment of the plane. All mass at the mean is below
the true law in convex order, the same mass at the two ends with the same mean is above it, for
every epsilon, because the gain is linear in the ratios. Edges are a matter of accuracy only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from flint import arb

from shuffledp.basics.balls import total
from shuffledp.decomposition.decomposition import Component, Cut, Decomposition, Singular

#: Logarithms of a/c and b/c.
Logs = tuple[arb, arb]


class Cell(NamedTuple):
    """A range of outputs: its masses under both inputs and under c, and the ratios at its ends.

    ``stop`` is None if the ratios are the same everywhere: an atom.
    """

    a: arb
    b: arb
    c: arb
    start: Logs
    stop: Logs | None = None


def decompose_cells(
    cells: Sequence[Cell],
    atoms: Iterable[Cell] = (),
    tails: Sequence[tuple[arb, arb, arb]] = (),
    *,
    is_law: bool,
    cut_at: Sequence[float] = (),
    again: Callable[[Sequence[float]], Decomposition] | None = None,
) -> Decomposition:
    """Return the decomposition into cells; what they leave of the mass of c is the residual.

    Where all ratios are constant it is exact, and has no other one above it.

    Args:
        cells: the ranges of outputs.
        atoms: further cells, of constant ratios.
        tails: masses a, b and c of outputs whose ratios are unbounded: all at their mean below, and
            above as if each of them gave its input away, which is a smaller c.
        is_law: whether c is a law, of which nothing is left.
        cut_at: between which outputs the cells lie, one after the other.
        again: returns the decomposition that is cut at other outputs.
    """
    lower, upper, singular = [], [], []
    for cell in (*cells, *atoms):
        if cell.stop is None:
            atom = Component(*cell.start, cell.c)
            lower.append(atom)
            upper.append(atom)
        else:
            lower.append(Component((cell.a / cell.c).log(), (cell.b / cell.c).log(), cell.c))
            upper += _ends(cell, cell.start, cell.stop)
    residual = arb(0) if is_law else 1 - total(c.weight for c in lower)
    given = arb(0)
    for a, b, c in tails:
        lower.append(Component((a / c).log(), (b / c).log(), c))
        singular += [Singular(a, arb(0)), Singular(arb(0), b)]
        residual = residual if is_law else residual - c
        given += c
    spread = None
    if tails or any(cell.stop for cell in cells):
        spread = Decomposition(tuple(upper), residual + given, tuple(singular))
    result = Decomposition(tuple(lower), residual, (), spread).merged()
    if again is None:
        return result
    a, b, c = np.array([[float(x) for x in (cell.a, cell.b, cell.c)] for cell in cells]).T
    return replace(result, cut=Cut(np.array(cut_at), a, b, c, again))


def _ends(cell: Cell, start: Logs, stop: Logs) -> list[Component]:
    """Split the mass of a cell between its ends, with the same mean."""
    (log0, log1), (log0_stop, log1_stop) = start, stop
    moves = log0.exp() - log0_stop.exp(), log1.exp() - log1_stop.exp()
    if not (moves[0] != 0 or moves[1] != 0):  # too close to tell apart: one ball holds both
        return [Component(log0.union(log0_stop), log1.union(log1_stop), cell.c)]
    place = 0 if abs(moves[0]) > abs(moves[1]) else 1
    mean = (cell.a, cell.b)[place] / cell.c
    first, last = start[place].exp(), stop[place].exp()
    # Each share by itself: one of them may be tiny, and its ratios huge.
    return [
        Component(log0, log1, cell.c * (mean - last) / moves[place]),
        Component(log0_stop, log1_stop, cell.c * (first - mean) / moves[place]),
    ]
