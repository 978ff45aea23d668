"""Joint composition: one report per attribute, shuffled as a unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.errors import check_integer
from shuffledp.basics.interval import sum_up
from shuffledp.decomposition import Decomposition, product_of
from shuffledp.mechanisms.aggregate import Aggregate, OnlyMultiset, SeparateSums
from shuffledp.mechanisms.base import LocalRandomizer, Values, count_users
from shuffledp.mechanisms.composed.composition import Composition, as_parts, check_parts, split
from shuffledp.mechanisms.domain import Domain, Tuples
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.sampling import Bits

#: At most so many choices of pairs are tried in lower bounds.
_MAX_TRIED = 40


@dataclass(frozen=True, repr=False)
class Joint(Composition):
    r"""Every user reports m attributes, each through its own randomizer, as one tuple.

    The blanket of the product is the product of the blankets (paper, section 4.5), so the
    decompositions multiply. Attributes whose randomizer has a proved worst pair are taken at that
    pair, which is worst for the product, too; the pairs of the others are compared, unchanged
    inputs included, because an attribute that stays the same can reveal more than one that changes.

    Args:
        parts: the randomizers, one per attribute.
        at_most: neighbours differ in at most this many attributes; None for any number.
        exactly: neighbours differ in exactly this many attributes.

    Use :func:`joint` to make one.
    """

    name: ClassVar[str] = "joint"
    example: ClassVar[str | None] = "joint(krr(k=10, epsilon0=1.0), oue(epsilon0=1.0))"

    parts: tuple[LocalRandomizer, ...]
    at_most: int | None = None
    exactly: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "parts", check_parts("joint", self.parts))
        if self.at_most is not None and self.exactly is not None:
            raise ValueError("at_most and exactly cannot both be given")
        for name in ("at_most", "exactly"):
            value = getattr(self, name)
            if value is not None:
                value = check_integer(name, value, 1, len(self.parts))
                object.__setattr__(self, name, value)

    @property
    def epsilon0(self) -> float:
        """The sum of the levels of the attributes that may change, the largest ones, rounded up."""
        levels = sorted((part.epsilon0 for part in self.parts), reverse=True)
        return sum_up(levels[: self.at_most or self.exactly])

    @property
    def has_worst_pair(self) -> bool:
        """Whether all attributes may change and each has a worst pair."""
        return self.at_most is None and self.exactly is None and super().has_worst_pair

    @property
    def domain_epsilon0(self) -> float:
        """The sum of the levels of all attributes, rounded up: others may differ in all of them."""
        return sum_up(part.domain_epsilon0 for part in self.parts)

    @property
    def input_domain(self) -> Domain:
        """Tuples of which as many entries change as ``at_most`` or ``exactly`` says."""
        most = self.exactly or self.at_most or len(self.parts)
        entries = tuple(part.input_domain for part in self.parts)
        return Tuples(entries, self.exactly or 1, most)

    @property
    def aggregate(self) -> Aggregate:
        """One sum for each attribute, all of them independent given the data."""
        # Exactly this class: one derived from it may state another law.
        return SeparateSums() if type(self) is Joint else OnlyMultiset()

    def choices(
        self,
        changing: Sequence[Sequence[Pair]],
        staying: Sequence[Sequence[Pair]],
        covered: Sequence[bool],
    ) -> Iterator[tuple[Pair, ...]]:
        """Yield one pair per attribute; as many change as ``at_most`` or ``exactly`` allows."""
        if self.at_most is None and self.exactly is None:
            yield from super().choices(changing, staying, covered)
            return
        most = self.exactly or self.at_most or len(self.parts)
        fewest = most if self.exactly or all(covered) else 1
        for count in range(fewest, most + 1):
            for changed in combinations(range(len(self.parts)), count):
                yield from product(
                    *(changing[j] if j in changed else staying[j] for j in range(len(self.parts)))
                )

    def pairs_to_attack(self) -> Sequence[Pair]:
        """Return also pairs in which attributes stay the same, unless those are many.

        Where all others hold another value of an attribute, the one that stays may point to the
        user more clearly than a change would.
        """
        changing = [part.pairs_to_attack() for part in self.parts]
        staying = [part.unchanged() for part in self.parts]
        uncovered = [False] * len(self.parts)
        choices = list(islice(self.choices(changing, staying, uncovered), _MAX_TRIED + 1))
        pairs = tuple(self._kinds(choices))
        return pairs if len(choices) <= _MAX_TRIED else self.neighbours()

    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return the product of those of the attributes."""
        others = [None] * len(self.parts) if other is None else self.entries(other)
        pairs = zip(self.parts, split(pair), others, strict=True)
        return product_of([_decomposition(part, own, x) for part, own, x in pairs])

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The reports ``part0``, ``part1``, ... of the attributes, one after the other."""
        return np.dtype([(f"part{i}", part.report_dtype) for i, part in enumerate(self.parts)])

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Randomize each attribute on its own."""
        reports = np.empty(count_users(values), dtype=self.report_dtype)
        for i, (part, column) in enumerate(zip(self.parts, values, strict=True)):
            reports[f"part{i}"] = part.draw(column, bits)
        return reports

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return the sum over the attributes."""
        total = np.zeros(reports.size)
        for i, (part, own) in enumerate(zip(self.parts, self.entries(value), strict=True)):
            total += part.log_likelihood(reports[f"part{i}"], own)
        return total

    def __str__(self) -> str:
        """Return the text form."""
        limits = [f"{n}={v}" for n in ("at_most", "exactly") if (v := getattr(self, n)) is not None]
        return f"joint({', '.join([*map(str, self.parts), *limits])})"


@lru_cache(maxsize=64)
def _decomposition(part: LocalRandomizer, pair: Pair, other: Input | None) -> Decomposition:
    """Return that of one attribute, the same object for all that have it in common."""
    return part.decomposition(pair, other)


def joint(
    *parts: LocalRandomizer | str, at_most: int | None = None, exactly: int | None = None
) -> Joint:
    """Return the joint composition of randomizers, or of their texts, one per attribute.

    >>> from shuffledp import OUE
    >>> str(joint("krr(k=10, epsilon0=1)", OUE(epsilon0=1.0)))
    'joint(krr(k=10, epsilon0=1.0), oue(epsilon0=1.0))'
    """
    return Joint(as_parts("joint", parts), at_most, exactly)
