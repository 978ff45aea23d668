"""One of several attributes: every user reports one of them, chosen at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.composed.composition import Composition, as_parts
from shuffledp.mechanisms.composed.mixture import Mixture
from shuffledp.mechanisms.domain import Domain, Tuples


@dataclass(frozen=True, repr=False)
class OneOf(Composition, Mixture):
    r"""Every user reports one of several attributes, chosen at random, and says which.

    An input is a tuple with one entry per part; neighbours may differ in all of them. Where all
    parts read the same value, use :func:`shuffledp.parallel`.

    Args:
        parts: the randomizers, one per attribute.
        weights: the probability of each.

    Use :func:`one_of` to make one.
    """

    name: ClassVar[str] = "one_of"
    example: ClassVar[str | None] = "one_of(0.5*krr(k=10, epsilon0=1.0), 0.5*oue(epsilon0=1.0))"

    parts: tuple[LocalRandomizer, ...]
    weights: tuple[float, ...]

    @property
    def epsilon0(self) -> float:
        """The largest level of the parts."""
        return max(part.epsilon0 for part in self.parts)

    @property
    def input_domain(self) -> Domain:
        """All tuples of inputs of the parts."""
        return Tuples(tuple(part.input_domain for part in self.parts), 1, len(self.parts))

    def roles(self) -> tuple[object, ...]:
        """Attributes are interchangeable if their randomizers and weights agree."""
        return tuple(zip(self.parts, self.weights, strict=True))


def one_of(parts: Mapping[LocalRandomizer | str, float]) -> OneOf:
    """Return the choice between randomizers, or texts, that each read an attribute of their own.

    >>> str(one_of({"krr(k=10, epsilon0=1)": 0.5, "oue(epsilon0=1)": 0.5}))
    'one_of(0.5*krr(k=10, epsilon0=1.0), 0.5*oue(epsilon0=1.0))'
    """
    if not isinstance(parts, Mapping):
        raise TypeError(f"parts must map randomizers to their weights, got {parts!r}")
    return OneOf(as_parts("one_of", parts), tuple(parts.values()))
