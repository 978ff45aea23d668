"""Inputs of randomizers, and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass

#: An input of a randomizer; tuples for several attributes.
Input = int | float | tuple["Input", ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The two inputs of the user in whom neighbouring datasets differ, in order."""

    first: Input
    second: Input

    def __str__(self) -> str:
        """Return for example ``x1 = 0 vs 1``."""
        return f"x1 = {self.first} vs {self.second}"

    @property
    def changes(self) -> bool:
        """Whether the two inputs differ."""
        return self.first != self.second

    @property
    def reversed(self) -> Pair:
        """The pair in the other order."""
        return Pair(self.second, self.first)
