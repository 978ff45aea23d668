"""Decompositions of continuous laws whose cells are made when they are first asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.decomposition.smooth import Smooth

_FIELDS = frozenset(field.name for field in dataclasses.fields(Decomposition) if field.init)


class Continuous(Decomposition):
    """A continuous law, and the cells that stand for it as far as somebody needs them.

    Most questions are answered by quadrature of the law, for which no cells are needed.

    >>> from shuffledp.randomizers import Laplace, Pair
    >>> noise = Laplace(epsilon0=1.0).blanket(Pair(0, 1))
    >>> noise.max_epsilon, noise.cells_are_made, noise.size > 1000, noise.cells_are_made
    (1.0, False, True, True)
    """

    @classmethod
    def of(cls, smooth: Smooth, cells: Callable[[], Decomposition]) -> Continuous:
        """Return the decomposition of a law, given how to make its cells."""
        made = object.__new__(cls)
        object.__setattr__(made, "smooth", smooth)
        object.__setattr__(made, "_make", cells)
        return made

    def __getattr__(self, name: str) -> Any:
        """Make the cells: this is called for what is not there yet."""
        if name not in _FIELDS or "_make" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        cells = self.__dict__["_make"]()
        for field in _FIELDS:
            object.__setattr__(self, field, getattr(cells, field))
        return self.__dict__[name]

    @property
    def cells_are_made(self) -> bool:
        """Whether somebody has asked for them."""
        return "weight" in self.__dict__

    @property
    def max_epsilon(self) -> float:
        """That of the law."""
        return super().max_epsilon if self.smooth is None else self.smooth.max_epsilon

    @property
    def is_singular(self) -> bool:
        """Whether the law has no end: cells go up to some end, and what is beyond is singular."""
        return super().is_singular if self.smooth is None else not self.smooth.is_bounded

    @property
    def exposed(self) -> float:
        """0: all densities are positive."""
        return super().exposed if self.smooth is None else 0.0

    def swap(self) -> Decomposition:
        """Return the decomposition of the reversed pair."""
        if self.smooth is None:
            return super().swap()
        return Continuous.of(self.smooth.swap(), super().swap)
