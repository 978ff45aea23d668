"""Joint composition: one report per attribute, shuffled as a unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.decomposition import Decomposition, product_of
from shuffledp.decomposition.arithmetic import FloatArray
from shuffledp.errors import check_integer
from shuffledp.randomizers.base import Input, LocalRandomizer, Pair, Values, count_users
from shuffledp.randomizers.composition import (
    Composition,
    check_columns,
    check_parts,
    combine_inputs,
    entries,
    join,
    split,
)
from shuffledp.sampling import Bits

T = TypeVar("T")

#: At most this many pairs are compared.
_MAX_PAIRS = 100_000


@dataclass(frozen=True)
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
        """The sum of the levels of the attributes in which neighbours may differ most."""
        levels = sorted((part.epsilon0 for part in self.parts), reverse=True)
        return float(sum(levels[: self.at_most or self.exactly]))

    @property
    def has_worst_pair(self) -> bool:
        """Whether all attributes may change and each has a worst pair."""
        return self.at_most is None and self.exactly is None and super().has_worst_pair

    def neighbours(self) -> Sequence[Pair]:
        """Return the pairs to compare, one of each kind where attributes are interchangeable."""
        changing = (pairs for pairs in self._choices() if any(pair.changes for pair in pairs))
        return _at_most(join(pairs) for pairs in self._different(changing))

    def _different(self, choices: Iterable[tuple[T, ...]]) -> Iterator[tuple[T, ...]]:
        """Drop choices that only exchange the roles of equal attributes."""
        names = tuple(map(str, self.parts))
        seen = set()
        for choice in choices:
            kind = frozenset(Counter(zip(names, choice, strict=True)).items())
            if kind not in seen:
                seen.add(kind)
                yield choice

    def _choices(self) -> Iterator[tuple[Pair, ...]]:
        """Yield one pair per attribute for every choice that has to be looked at."""
        size = len(self.parts)
        if self.at_most is None and self.exactly is None:
            yield from product(
                *(
                    part.neighbours()
                    if part.has_worst_pair
                    else (*part.neighbours(), *part.unchanged())
                    for part in self.parts
                )
            )
            return
        most = self.exactly or self.at_most or size
        # Changing an attribute that has a worst pair only helps the adversary.
        fewest = most if self.exactly or super().has_worst_pair else 1
        for count in range(fewest, most + 1):
            for changed in combinations(range(size), count):
                yield from product(
                    *(
                        part.neighbours() if j in changed else part.unchanged()
                        for j, part in enumerate(self.parts)
                    )
                )

    def unchanged(self) -> Sequence[Pair]:
        """Return all combinations of unchanged attributes."""
        return _at_most(join(pairs) for pairs in product(*(p.unchanged() for p in self.parts)))

    def blanket(self, pair: Pair) -> Decomposition:
        """Return the product of the attributes' blankets."""
        pairs = zip(self.parts, split(pair), strict=True)
        return product_of([part.blanket(own) for part, own in pairs])

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return combinations of the attributes' common inputs, one of each kind."""
        pairs = tuple(split(pair))
        own = [part.common_inputs(q) for part, q in zip(self.parts, pairs, strict=True)]
        choices = (tuple(zip(pairs, inputs, strict=True)) for inputs in combine_inputs(own))
        return tuple(tuple(x for _, x in choice) for choice in self._different(choices))

    def background(self, pair: Pair, other: Input) -> Decomposition:
        """Return the product of the attributes' backgrounds."""
        parts = zip(self.parts, split(pair), entries(self, other), strict=True)
        return product_of([part.background(own, x) for part, own, x in parts])

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The reports ``part0``, ``part1``, ... of the attributes, one after the other."""
        return np.dtype([(f"part{i}", part.report_dtype) for i, part in enumerate(self.parts)])

    @property
    def attributes(self) -> int:
        """The number of parts."""
        return len(self.parts)

    def check_values(self, values: object) -> Values:
        """Return one entry per attribute."""
        return check_columns(self.parts, values, "joint")

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Randomize each attribute on its own."""
        reports = np.empty(count_users(values), dtype=self.report_dtype)
        for i, (part, column) in enumerate(zip(self.parts, values, strict=True)):
            reports[f"part{i}"] = part.draw(column, bits)
        return reports

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return the sum over the attributes."""
        total = np.zeros(reports.size)
        for i, (part, own) in enumerate(zip(self.parts, entries(self, value), strict=True)):
            total += part.log_likelihood(reports[f"part{i}"], own)
        return total

    def __str__(self) -> str:
        """Return the text form."""
        limits = [f"{n}={v}" for n in ("at_most", "exactly") if (v := getattr(self, n)) is not None]
        return f"joint({', '.join([*map(str, self.parts), *limits])})"


def joint(*parts: LocalRandomizer, at_most: int | None = None, exactly: int | None = None) -> Joint:
    """Return the joint composition of randomizers, one per attribute.

    >>> from shuffledp import KRR, OUE
    >>> str(joint(KRR(k=10, epsilon0=1.0), OUE(epsilon0=1.0)))
    'joint(krr(k=10, epsilon0=1.0), oue(epsilon0=1.0))'
    """
    return Joint(parts, at_most, exactly)


def _at_most(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the pairs unless there are too many to compare."""
    listed = tuple(islice(pairs, _MAX_PAIRS + 1))
    if len(listed) > _MAX_PAIRS:
        raise ValueError(
            f"joint has to compare more than {_MAX_PAIRS} pairs; that takes too long. Parts with a "
            "proved worst pair need no comparison"
        )
    return listed
