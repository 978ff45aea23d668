"""What every local randomizer can tell about itself."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shuffledp.decomposition import Decomposition


@dataclass(frozen=True, slots=True)
class Pair:
    """The two inputs of the user in whom neighbouring datasets differ, in order."""

    first: int | float
    second: int | float

    def __str__(self) -> str:
        """Return for example ``x1 = 0 vs 1``."""
        return f"x1 = {self.first} vs {self.second}"


@dataclass(frozen=True, eq=False)
class Background:
    """What a concrete pair of datasets reveals: every other user holds the same input.

    The divergence of the two shuffled datasets is exactly the bound of ``decomposition``, whose
    residual is 0 (paper, theorem 14).
    """

    others: str
    decomposition: Decomposition


class LocalRandomizer(ABC):
    """A randomizer each user applies to one input before the shuffler.

    A subclass is a frozen dataclass; its fields are its parameters. It states its output law once,
    through decompositions; bounds, compositions and text form are derived.
    """

    #: The name of the mechanism in text form.
    name: ClassVar[str]

    if TYPE_CHECKING:  # a dataclass field in most subclasses, a property in some

        @property
        def epsilon0(self) -> float:
            """The replace-one LDP level; infinite for mechanisms that are not pure LDP."""

    @abstractmethod
    def neighbours(self) -> Sequence[Pair]:
        """Return ordered pairs of inputs whose bounds, together, cover all neighbours."""

    @abstractmethod
    def blanket(self, pair: Pair) -> Decomposition:
        """Return the optimal decomposition for a pair: c is the infimum of R over all inputs."""

    @abstractmethod
    def backgrounds(self, pair: Pair) -> Iterator[Background]:
        """Yield decompositions for lower bounds, one per useful common input of the others."""

    @property
    def monotone(self) -> bool:
        """Whether the bound grows with epsilon0 while the other parameters stay as they are."""
        return True

    def __str__(self) -> str:
        """Return the text form, which :func:`shuffledp.parse` reads back."""
        parameters = (
            (f.name, getattr(self, f.name), f.default)
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
        )
        shown = (f"{name}={value!r}" for name, value, default in parameters if value != default)
        return f"{self.name}({', '.join(shown)})"
