"""Mechanisms made of others: joint, parallel, one_of and subsample."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from oracle.channel import Channel, Related, Value, merged
from oracle.number import BITS, units


def joint(
    parts: Sequence[Channel], at_most: int | None = None, exactly: int | None = None
) -> Channel:
    """Every attribute is reported through its own part, all reports together.

    The tuples of neighbours differ in at most, or exactly, so many attributes, and each attribute
    that differs changes as its part allows.
    """
    most = len(parts) if at_most is None and exactly is None else at_most or exactly or 0
    fewest = exactly or 1
    inputs = tuple(product(*(part.inputs for part in parts)))
    columns: list[list[int]] = []
    for choice in product(*(part.laws for part in parts)):
        law = [1 << BITS]
        for own in choice:
            law = [(p * q) >> BITS for p in law for q in own]
        columns.append(law)
    related = entrywise([part.related for part in parts], fewest, most)
    return Channel(inputs, merged(columns), related, all(part.whole for part in parts))


def one_of(weights: Sequence[float], parts: Sequence[Channel]) -> Channel:
    """One attribute, chosen at random, is reported through its part, and which one it was."""
    inputs = tuple(product(*(part.inputs for part in parts)))
    laws = [_mixture(weights, choice) for choice in product(*(part.laws for part in parts))]
    related = entrywise([part.related for part in parts], 1, len(parts))
    return Channel(inputs, merged(laws), related, all(part.whole for part in parts))


def parallel(weights: Sequence[float], parts: Sequence[Channel]) -> Channel:
    """One part, chosen at random, randomizes the one value; the report says which part it was."""
    inputs = parts[0].inputs
    if any(part.inputs != inputs for part in parts):
        raise ValueError("the parts of parallel have different inputs")
    laws = [_mixture(weights, choice) for choice in zip(*(p.laws for p in parts), strict=True)]

    def related(first: Value, second: Value) -> bool:
        return all(part.related(first, second) for part in parts)

    return Channel(inputs, merged(laws), related, all(part.whole for part in parts))


def subsample(part: Channel, rate: float) -> Channel:
    """The part runs with some probability; otherwise the report is "did not take part"."""
    taken = units(Fraction(rate))
    silent = (1 << BITS) - taken
    laws = [[*((taken * p) >> BITS for p in law), silent] for law in part.laws]
    return Channel(part.inputs, merged(laws), part.related, part.whole)


def _mixture(weights: Sequence[float], laws: Sequence[Sequence[int]]) -> list[int]:
    """Laws side by side, with weights divided by their exact sum."""
    total = sum(map(Fraction, weights))
    shares = [units(Fraction(weight) / total) for weight in weights]
    return [(share * p) >> BITS for share, law in zip(shares, laws, strict=True) for p in law]


def entrywise(relations: Sequence[Related], fewest: int, most: int) -> Related:
    """Tuples that differ in some number of entries, each as its own relation allows."""

    def related(first: Value, second: Value) -> bool:
        if not isinstance(first, tuple) or not isinstance(second, tuple):
            raise TypeError("the inputs are tuples")
        changed = [own(x, y) for own, x, y in zip(relations, first, second, strict=True) if x != y]
        return fewest <= len(changed) <= most and all(changed)

    return related
