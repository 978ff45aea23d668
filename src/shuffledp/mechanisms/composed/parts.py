"""The same mechanism with something else inside."""

from __future__ import annotations

import dataclasses

from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.composed.joint import Joint
from shuffledp.mechanisms.composed.one_of import OneOf
from shuffledp.mechanisms.composed.parallel import Parallel
from shuffledp.mechanisms.composed.subsample import Subsample
from shuffledp.mechanisms.finite.matrix import MatrixRandomizer


def without_limits(randomizer: LocalRandomizer) -> LocalRandomizer:
    """Return the same mechanism where all attributes of a user may change, whatever it limits.

    >>> from shuffledp import parse
    >>> limited = parse("joint(krr(k=3, epsilon0=2), krr(k=4, epsilon0=2), at_most=1)")
    >>> whole = without_limits(limited)
    >>> print(whole, limited.epsilon0, whole.epsilon0)
    joint(krr(k=3, epsilon0=2.0), krr(k=4, epsilon0=2.0)) 2.0 4.0
    """
    if isinstance(randomizer, Subsample):
        return dataclasses.replace(randomizer, part=without_limits(randomizer.part))
    if isinstance(randomizer, Joint | Parallel | OneOf):
        parts = tuple(map(without_limits, randomizer.parts))
        if isinstance(randomizer, Joint):
            return dataclasses.replace(randomizer, parts=parts, at_most=None, exactly=None)
        return dataclasses.replace(randomizer, parts=parts)
    return randomizer


def without_paths(randomizer: LocalRandomizer) -> LocalRandomizer:
    """Return the same mechanism with matrices spelt out, wherever they were read from."""
    # Exactly this class: one derived from it may state another law.
    if type(randomizer) is MatrixRandomizer:
        return MatrixRandomizer(randomizer.matrix)
    if isinstance(randomizer, Subsample):
        return dataclasses.replace(randomizer, part=without_paths(randomizer.part))
    if isinstance(randomizer, Joint | Parallel | OneOf):
        return dataclasses.replace(randomizer, parts=tuple(map(without_paths, randomizer.parts)))
    return randomizer
