"""The pairs of datasets behind lower bounds."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.randomizers import Input, LocalRandomizer, Pair


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


def find_datasets(randomizer: LocalRandomizer, words: str) -> Datasets:
    """Return the datasets that were named in words.

    Raises:
        ValueError: if no such datasets are looked at for the randomizer.
    """
    for pair in randomizer.neighbours():
        for ordered in (pair, Pair(pair.second, pair.first)):
            if words.startswith(f"{ordered}, "):
                for other in randomizer.common_inputs(ordered):
                    if words == str(datasets := Datasets(ordered, other)):
                        return datasets
    raise ValueError(f"datasets must be looked at for {randomizer}, got {words[:80]!r}")
