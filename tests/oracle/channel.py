"""Finite channels: the output laws of all inputs, and which inputs are neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from oracle.number import ONE, SHARE_BITS, logarithm, units

#: An input: a number, or one entry per attribute.
Value = int | tuple["Value", ...]

Related = Callable[[Value, Value], bool]


def differ(first: Value, second: Value) -> bool:
    """Replace-one neighbours: any two inputs."""
    return first != second


@dataclass(frozen=True)
class Channel:
    """Output laws in units of 2**-BITS.

    Attributes:
        inputs: all inputs.
        laws: one law per input, over outputs none of which are proportional.
        related: whether the differing user's input may change from one value to another.
        whole: False if the channel is only a part, or a post-processing, of what the text says:
            then its truth is below every guarantee, but may be below a lower bound, too.
    """

    inputs: tuple[Value, ...]
    laws: tuple[tuple[int, ...], ...]
    related: Related = differ
    whole: bool = True

    @property
    def outputs(self) -> int:
        """Number of outputs that are not proportional."""
        return len(self.laws[0])

    def pairs(self) -> list[tuple[int, int]]:
        """All ordered pairs of the differing user's inputs, by their positions."""
        positions = range(len(self.inputs))
        return [
            (i, j)
            for i, j in product(positions, positions)
            if self.related(self.inputs[i], self.inputs[j])
        ]

    def level(self) -> Fraction | None:
        """The LDP level over all pairs of inputs; None if it is infinite."""
        ratio = Fraction(1)
        for column in zip(*self.laws, strict=True):
            if min(column) == 0 < max(column):
                return None
            if max(column):
                ratio = max(ratio, Fraction(max(column), min(column)))
        return logarithm(ratio)


def from_weights(
    rows: Iterable[Iterable[Fraction]],
    inputs: Sequence[Value] | None = None,
    *,
    whole: bool = True,
) -> Channel:
    """The channel whose laws are rows divided by their exact sums."""
    laws = []
    for row in rows:
        weights = [Fraction(w) for w in row]
        total = sum(weights)
        laws.append([units(w / total) for w in weights])
    return Channel(tuple(inputs or range(len(laws))), merged(laws), whole=whole)


def merged(laws: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Add up proportional columns: which of them occurred says nothing about the input.

    >>> [[p / ONE for p in law] for law in merged([[ONE // 2, ONE // 2], [ONE // 2, ONE // 2]])]
    [[1.0], [1.0]]
    """
    groups: defaultdict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    for column in zip(*laws, strict=True):
        total = sum(column)
        if total:
            half = total >> 1
            groups[tuple(((p << SHARE_BITS) + half) // total for p in column)].append(column)
    sums = [[sum(entries) for entries in zip(*group, strict=True)] for group in groups.values()]
    return tuple(zip(*sums, strict=True))


def is_law(law: Sequence[int]) -> bool:
    """Whether probabilities sum to one, up to rounding.

    >>> is_law((ONE // 2, ONE // 2)), is_law((ONE // 2, ONE // 4))
    (True, False)
    """
    return all(p >= 0 for p in law) and abs(sum(law) - ONE) < 1 << 64
