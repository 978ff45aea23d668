"""One question about delta."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.decomposition import Decomposition


@dataclass(frozen=True, eq=False)
class Point:
    """Where delta is asked for."""

    decomposition: Decomposition
    n: int
    epsilon: float
