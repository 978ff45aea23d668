"""What every local randomizer can tell about itself."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shuffledp.decomposition import Decomposition

#: An input of a randomizer; tuples for compositions.
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

    @property
    def has_worst_pair(self) -> bool:
        """Whether ``neighbours`` is one pair that is proved to be the worst one.

        Its GPARV must dominate, in convex order and at every epsilon, that of all pairs, also of
        those with equal inputs; then it is worst in every composition, too.
        """
        return True

    @property
    def is_symmetric(self) -> bool:
        """Whether all ordered pairs of different inputs have the same GPARV."""
        return False

    @property
    def is_composable(self) -> bool:
        """Whether the decompositions stay valid in joint and parallel compositions."""
        return True

    @abstractmethod
    def neighbours(self) -> Sequence[Pair]:
        """Return ordered pairs of different inputs whose bounds, together, cover all such pairs."""

    @abstractmethod
    def unchanged(self) -> Sequence[Pair]:
        """Return pairs of equal inputs whose GPARVs, together, dominate those of all such pairs.

        They matter in a composition in which another attribute changes.
        """

    @abstractmethod
    def blanket(self, pair: Pair) -> Decomposition:
        """Return the optimal decomposition for a pair: c is the infimum of R over all inputs."""

    @abstractmethod
    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return the inputs of all other users that are worth trying in a lower bound."""

    @abstractmethod
    def accepts(self, other: Input) -> bool:
        """Whether ``background`` knows the law of this input."""

    @abstractmethod
    def background(self, pair: Pair, other: Input) -> Decomposition:
        """Return the decomposition with c = R(other): what is seen if all others hold ``other``.

        Its bound is exactly the divergence of two datasets (paper, theorem 14).
        """

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
