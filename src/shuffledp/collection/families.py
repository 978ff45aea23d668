"""Which tally a mechanism needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.compositions import JointTally, MixtureTally, SubsampleTally
from shuffledp.collection.frequencies import MatrixTally, SupportTally
from shuffledp.collection.means import MeanTally
from shuffledp.collection.tally import Tally
from shuffledp.randomizers import (
    Joint,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Parallel,
    Subsample,
)
from shuffledp.randomizers.noise import SymmetricNoise
from shuffledp.randomizers.support import SupportRandomizer

#: Values to estimate: integers, None for all, or for a joint composition one entry per attribute.
Candidates = Sequence[Any] | NDArray[np.integer] | None


def tally_for(randomizer: LocalRandomizer, candidates: Candidates = None) -> Tally:
    """Return the tally for a mechanism and the candidates to count.

    Raises:
        TypeError: if the mechanism cannot run.
        ValueError: if the candidates do not fit.
    """
    if isinstance(randomizer, Joint | OneOf):
        return _by_attribute(randomizer, candidates)
    if isinstance(randomizer, Parallel):
        tallies = [tally_for(part, candidates) for part in randomizer.parts]
        return MixtureTally(randomizer, tallies)
    if isinstance(randomizer, Subsample):
        return SubsampleTally(randomizer, tally_for(randomizer.part, candidates))
    if isinstance(randomizer, SupportRandomizer):
        return SupportTally(randomizer, candidates)
    if isinstance(randomizer, MatrixRandomizer | SymmetricNoise):
        if candidates is not None:
            raise ValueError(f"candidates must be None for {randomizer}, got {candidates!r}")
        if isinstance(randomizer, MatrixRandomizer):
            return MatrixTally(randomizer)
        return MeanTally(randomizer)
    raise TypeError(f"randomizer must be a mechanism that can run, got {randomizer}")


def _by_attribute(randomizer: Joint | OneOf, candidates: Candidates) -> Tally:
    size = len(randomizer.parts)
    entries = [None] * size if candidates is None else list(candidates)
    if len(entries) != size:
        raise ValueError(
            f"candidates must have one entry for each of {size} attributes, got {len(entries)}"
        )
    tallies = [tally_for(part, own) for part, own in zip(randomizer.parts, entries, strict=True)]
    if isinstance(randomizer, Joint):
        return JointTally(randomizer, tallies)
    return MixtureTally(randomizer, tallies)
