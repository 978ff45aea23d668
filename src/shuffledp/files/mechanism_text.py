"""Mechanisms as text that needs no other file."""

from __future__ import annotations

from shuffledp.randomizers import LocalRandomizer, parse
from shuffledp.randomizers.parts import without_paths


def self_contained(randomizer: LocalRandomizer) -> LocalRandomizer:
    """Return the same mechanism with matrices spelt out, so that its text says all about it.

    >>> str(self_contained(parse("krr(k=3, epsilon0=1)")))
    'krr(k=3, epsilon0=1.0)'

    Raises:
        ValueError: if a matrix is too large to be spelt out.
    """
    return parse(str(without_paths(randomizer)))
