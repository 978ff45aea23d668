"""How two neighbouring datasets differ: what an answer protects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Relation:
    """The neighbour relation of an answer: what may change about one user.

    An answer protects that and nothing more. Unless said otherwise the user's input as a whole is
    replaced. A composition may promise less: that some attributes change, each as its own relation
    says, and the others stay as they are.

    Attributes:
        attributes: the relation of each attribute; none if the input as a whole is replaced.
        fewest: how many attributes change, at least.
        most: how many of them, at most.

    >>> print(Relation())
    replace the input of one user
    >>> print(Relation.of((Relation(), Relation(), Relation()), 1, 2))
    change at most 2 of 3 attributes of one user
    >>> Relation.of((Relation(), Relation()), 1, 2) == Relation()
    True
    """

    attributes: tuple[Relation, ...] = ()
    fewest: int = 1
    most: int = 1

    @classmethod
    def of(cls, attributes: tuple[Relation, ...], fewest: int, most: int) -> Relation:
        """Return the relation of tuples, which is replacement if any entries may be replaced."""
        free = fewest == 1 and most == len(attributes)
        if free and all(attribute.replaces_input for attribute in attributes):
            return cls()
        return cls(attributes, fewest, most)

    @property
    def replaces_input(self) -> bool:
        """Whether the input of one user may be replaced by any other."""
        return not self.attributes

    def __str__(self) -> str:
        """Return what neighbouring datasets do, for example ``replace the input of one user``."""
        if self.replaces_input:
            return "replace the input of one user"
        return f"change {self._count()} of one user{self._inner}"

    @property
    def extent(self) -> str:
        """How much of a user's data changes, for example ``at most 1 of 2 attributes``."""
        return "any way" if self.replaces_input else f"{self._count()}{self._inner}"

    @property
    def _inner(self) -> str:
        return "".join(f", attribute {limit}" for limit in self._limits(""))

    @property
    def in_rounds(self) -> str:
        """What neighbouring datasets do if there are several rounds."""
        if self.replaces_input:
            return "replace the inputs of one user in all rounds"
        return f"{self}, any in each round"

    def _count(self, whose: str = "") -> str:
        """Return how many attributes change, in words."""
        total = f"{whose}{len(self.attributes)} attributes"
        if self.fewest == 1:
            return f"any of {total}" if self._is_free else f"at most {self.most} of {total}"
        if self.fewest == self.most:
            return f"exactly {self.most} of {total}"
        return f"{self.fewest} to {self.most} of {total}"

    @property
    def _is_free(self) -> bool:
        """Whether any number of attributes may change."""
        return self.fewest == 1 and self.most == len(self.attributes)

    def _limits(self, path: str) -> Iterator[str]:
        """Yield the limits inside of attributes that have some."""
        for place, attribute in enumerate(self.attributes):
            if attribute.attributes and not attribute._is_free:
                yield f"{path}{place} in {attribute._count('its ')}"
            yield from attribute._limits(f"{path}{place}.")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of JSON answers, which docs/json.md explains.

        >>> Relation().to_dict()
        {'text': 'replace the input of one user', 'attributes': None, 'fewest': None, 'most': None}
        """
        limited = not self.replaces_input
        return {
            "text": str(self),
            "attributes": [own.to_dict() for own in self.attributes] if limited else None,
            "fewest": self.fewest if limited else None,
            "most": self.most if limited else None,
        }
