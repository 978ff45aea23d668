"""Privacy profiles: delta as a function of epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.basics.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Profile:
    """The privacy profile: enclosures of delta at several epsilons."""

    epsilons: FloatArray
    lower: FloatArray
    upper: FloatArray
