"""Which tally a mechanism needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.compositions import JointTally, MixtureTally, SubsampleTally
from shuffledp.collection.frequencies import MatrixTally, SupportTally
from shuffledp.collection.means import MeanTally
from shuffledp.collection.tally import Tally
from shuffledp.mechanisms import (
    Joint,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Parallel,
    Subsample,
)
from shuffledp.mechanisms.noise.symmetric_noise import SymmetricNoise
from shuffledp.mechanisms.support.support import SupportRandomizer

#: Values to estimate: integers, None for all, or for a joint composition one entry per attribute.
Candidates = Sequence[Any] | NDArray[np.integer] | None


@singledispatch
def tally_for(randomizer: LocalRandomizer, candidates: Candidates = None) -> Tally:
    """Return the tally for a mechanism and the candidates to count.

    Raises:
        TypeError: if the mechanism cannot run.
        ValueError: if the candidates do not fit.
    """
    raise TypeError(f"randomizer must be a mechanism that can run, got {randomizer}")


@tally_for.register
def _support(randomizer: SupportRandomizer, candidates: Candidates = None) -> Tally:
    return SupportTally(randomizer, candidates)


@tally_for.register
def _matrix(randomizer: MatrixRandomizer, candidates: Candidates = None) -> Tally:
    _check_none(randomizer, candidates)
    return MatrixTally(randomizer)


@tally_for.register
def _noise(randomizer: SymmetricNoise, candidates: Candidates = None) -> Tally:
    _check_none(randomizer, candidates)
    if randomizer.report_dtype.kind != "i":
        raise TypeError(
            f"reports of {randomizer} must be integers, as low digits of other numbers tell the "
            f"input, got {randomizer.report_dtype}"
        )
    return MeanTally(randomizer)


@tally_for.register
def _subsample(randomizer: Subsample, candidates: Candidates = None) -> Tally:
    return SubsampleTally(randomizer, tally_for(randomizer.part, candidates))


@tally_for.register
def _parallel(randomizer: Parallel, candidates: Candidates = None) -> Tally:
    tallies = [tally_for(part, candidates) for part in randomizer.parts]
    return MixtureTally(randomizer, tallies, shared=True)


@tally_for.register
def _one_of(randomizer: OneOf, candidates: Candidates = None) -> Tally:
    return MixtureTally(randomizer, _by_attribute(randomizer, candidates), shared=False)


@tally_for.register
def _joint(randomizer: Joint, candidates: Candidates = None) -> Tally:
    return JointTally(randomizer, _by_attribute(randomizer, candidates))


def _check_none(randomizer: LocalRandomizer, candidates: Candidates) -> None:
    if candidates is not None:
        raise ValueError(f"candidates must be None for {randomizer}, got {candidates!r}")


def _by_attribute(randomizer: Joint | OneOf, candidates: Candidates) -> list[Tally]:
    size = len(randomizer.parts)
    entries = [None] * size if candidates is None else list(candidates)
    if len(entries) != size:
        raise ValueError(
            f"candidates must have one entry for each of {size} attributes, got {len(entries)}"
        )
    return [tally_for(part, own) for part, own in zip(randomizer.parts, entries, strict=True)]
