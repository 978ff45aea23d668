"""The pairs of datasets behind lower bounds."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.mechanisms import Input, Pair


@dataclass(frozen=True)
class Datasets:
    """Two neighbouring datasets: one user holds either input of a pair, all others the same input.

    >>> str(Datasets(Pair(0, 1), 2))
    'x1 = 0 vs 1, all others hold 2'
    """

    pair: Pair
    other: Input

    def __str__(self) -> str:
        """Return the datasets in words."""
        return f"{self.pair}, all others hold {self.other}"
