"""What a bound can be drawn against: users, epsilon0, delta or epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One quantity that varies while the others stay.

    Attributes:
        name: what programs call it.
        label: what people call it.
        quantity: what is asked for at each of its points.
        fixed: what must be known besides: of ``n`` and ``delta`` those that stay.
        log: whether its points are spaced geometrically, else linearly.
    """

    name: Literal["users", "epsilon0", "delta", "epsilon"]
    label: str
    quantity: Literal["epsilon", "delta"] = "epsilon"
    fixed: tuple[Literal["n", "delta"], ...]
    log: bool = True

    def points(self, low: float, high: float, count: int) -> tuple[float, ...]:
        """Return ``count`` increasing points from ``low`` to ``high``; a single one is ``low``.

        Numbers of users are whole and occur once, so there can be fewer.

        >>> AXES["users"].points(1, 10, 6), AXES["epsilon"].points(0.0, 1.0, 3)
        ((1, 2, 3, 4, 6, 10), (0.0, 0.5, 1.0))
        >>> AXES["delta"].points(1e-9, 1e-6, 4)
        (1e-09, 1e-08, 1e-07, 1e-06)
        """
        if count == 1 or low == high:
            return (low,)
        inner = (self._between(low, high, i / (count - 1)) for i in range(1, count - 1))
        return tuple(sorted({low, *(x for x in inner if low < x < high), high}))

    def _between(self, low: float, high: float, part: float) -> float:
        if self.log:
            x = math.exp(math.log(low) * (1 - part) + math.log(high) * part)
        else:
            x = low + (high - low) * part
        return round(x) if self.name == "users" else _without_noise(x)


def _without_noise(x: float) -> float:
    """Return the short decimal that rounding errors hide."""
    return float(f"{x:.12g}")


#: All axes by name.
AXES: Mapping[str, Axis] = MappingProxyType(
    {
        axis.name: axis
        for axis in (
            Axis(name="users", label="number of users", fixed=("delta",)),
            Axis(name="epsilon0", label="epsilon0", fixed=("n", "delta")),
            Axis(name="delta", label="delta", fixed=("n",)),
            Axis(name="epsilon", label="epsilon", quantity="delta", fixed=("n",), log=False),
        )
    }
)
