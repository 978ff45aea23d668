"""The exact law of a matrix: rational probabilities, each row divided by its sum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.mechanisms import Input, MatrixRandomizer, Pair


def channel_decomposition(
    randomizer: MatrixRandomizer, pair: Pair, other: Input | None
) -> Decomposition:
    """Return the decomposition with c = R(other), or c the smallest entry of each column."""
    rows = _rows(randomizer)
    common = rows[_row(other)] if other is not None else [min(y) for y in zip(*rows, strict=True)]
    return Decomposition.from_coefficients(rows[_row(pair.first)], rows[_row(pair.second)], common)


def equal_rows(randomizer: MatrixRandomizer) -> Sequence[int]:
    """Return for every row the number of the first one with the same law."""
    first: dict[tuple[Fraction, ...], int] = {}
    return [first.setdefault(row, x) for x, row in enumerate(_rows(randomizer))]


@lru_cache(maxsize=4)
def _rows(randomizer: MatrixRandomizer) -> Sequence[tuple[Fraction, ...]]:
    """Return the entries of every row, divided by their exact sum."""
    exact = [[Fraction(p) for p in row] for row in randomizer.matrix.tolist()]
    return [tuple(p / sum(row) for p in row) for row in exact]


def _row(x: Input) -> int:
    if not isinstance(x, int):
        raise TypeError(f"inputs of a matrix are row numbers, got {x!r}")
    return x
