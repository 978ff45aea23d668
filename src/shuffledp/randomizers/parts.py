"""The parts of compositions."""

from __future__ import annotations

import dataclasses

from shuffledp.randomizers.base import LocalRandomizer
from shuffledp.randomizers.joint import Joint
from shuffledp.randomizers.matrix import MatrixRandomizer
from shuffledp.randomizers.one_of import OneOf
from shuffledp.randomizers.parallel import Parallel
from shuffledp.randomizers.subsample import Subsample


def parts_of(randomizer: LocalRandomizer) -> tuple[LocalRandomizer, ...]:
    """Return the mechanisms that a composition consists of; none for any other."""
    if isinstance(randomizer, Subsample):
        return (randomizer.part,)
    return randomizer.parts if isinstance(randomizer, Joint | Parallel | OneOf) else ()


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
