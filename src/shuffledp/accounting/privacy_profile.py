"""Privacy profiles: delta as a function of epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.interval import Interval


@dataclass(frozen=True, eq=False)
class Profile:
    """The privacy profile: enclosures of delta at several epsilons."""

    epsilons: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls,
        enclose: Callable[[float], Interval],
        epsilons: Iterable[float],
        check: Callable[[float, str], float],
    ) -> Self:
        """Enclose delta at every one of several epsilons, each checked before the first answer."""
        if not isinstance(epsilons, Iterable):
            raise TypeError(f"epsilons must be several numbers, got {epsilons!r}")
        points = [check(epsilon, "epsilons") for epsilon in epsilons]
        deltas = [enclose(epsilon) for epsilon in points]
        return cls(
            np.array(points),
            np.array([delta.lower for delta in deltas]),
            np.array([delta.upper for delta in deltas]),
        )
