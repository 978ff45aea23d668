"""Mechanisms as text that needs no other file."""

from __future__ import annotations

from shuffledp.basics.wording import shorten
from shuffledp.mechanisms import LocalRandomizer, parse
from shuffledp.mechanisms.composed.parts import without_paths


def self_contained(randomizer: LocalRandomizer) -> LocalRandomizer:
    """Return the same mechanism with matrices spelt out, so that its text says all about it.

    >>> str(self_contained(parse("krr(k=3, epsilon0=1)")))
    'krr(k=3, epsilon0=1.0)'

    Raises:
        ValueError: if a matrix is too large to be spelt out, or the text means another mechanism,
            as that of a derived class may.
    """
    whole = without_paths(randomizer)
    read = parse(str(whole))
    if read != whole:
        raise ValueError(
            f"mechanism must be what its text says, got one whose text, {shorten(str(whole))}, "
            "means another one: register a derived class under a name of its own"
        )
    return read
