"""What a bound can be drawn against: users, epsilon0, delta, epsilon or rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from shuffledp.basics.errors import (
    check_delta,
    check_epsilon,
    check_epsilon0,
    check_rounds,
    check_users,
)

#: What programs call the axes.
AxisName = Literal["users", "epsilon0", "delta", "epsilon", "rounds"]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One quantity that varies while the others stay.

    Attributes:
        name: what programs call it.
        label: what people call it.
        quantity: what is asked for at each of its points.
        fixed: what must be known besides: of ``n`` and ``delta`` those that stay.
        log: whether its points are spaced geometrically, else linearly.
        low: where it starts unless told.
        high: where it ends unless told; None if that depends on the mechanisms.
    """

    name: AxisName
    label: str
    quantity: Literal["epsilon", "delta"] = "epsilon"
    fixed: tuple[Literal["n", "delta"], ...]
    log: bool = True
    low: float
    high: float | None

    def points(self, low: float, high: float, count: int) -> tuple[float, ...]:
        """Return ``count`` increasing points from ``low`` to ``high``; a single one is ``low``.

        Numbers of users and of rounds are whole and occur once, so there can be fewer.

        >>> AXES["users"].points(1, 10, 6), AXES["epsilon"].points(0.0, 1.0, 3)
        ((1, 2, 3, 4, 6, 10), (0.0, 0.5, 1.0))
        >>> AXES["delta"].points(1e-9, 1e-6, 4)
        (1e-09, 1e-08, 1e-07, 1e-06)
        """
        if count == 1 or low == high:
            return (low,)
        inner = (self._between(low, high, i / (count - 1)) for i in range(1, count - 1))
        return tuple(sorted({low, *(x for x in inner if low < x < high), high}))

    def check(self, point: object) -> float:
        """Return a point as a number; refuse what cannot be asked or has no logarithm.

        >>> AXES["users"].check(1e4)
        10000
        """
        name = f"x against {self.name}"
        if self.name == "users":
            return check_users(point, name)
        if self.name == "rounds":
            return check_rounds(point, name)
        checks = {"epsilon0": check_epsilon0, "delta": check_delta, "epsilon": check_epsilon}
        number = checks[self.name](point, name)
        if self.log and number == 0:
            raise ValueError(f"{name} must be above 0 on a logarithmic axis, got {point!r}")
        return number

    def _between(self, low: float, high: float, part: float) -> float:
        if self.log:
            x = math.exp(math.log(low) * (1 - part) + math.log(high) * part)
        else:
            x = low + (high - low) * part
        return round(x) if self.name in ("users", "rounds") else _without_noise(x)


def _without_noise(x: float) -> float:
    """Return the short decimal that rounding errors hide."""
    return float(f"{x:.12g}")


#: All axes by name.
AXES: Mapping[str, Axis] = MappingProxyType(
    {
        axis.name: axis
        for axis in (
            Axis(
                name="users",
                label="number of users",
                fixed=("delta",),
                low=10**3,
                high=10**6,
            ),
            Axis(name="epsilon0", label="epsilon0", fixed=("n", "delta"), low=0.1, high=8.0),
            Axis(name="delta", label="delta", fixed=("n",), low=1e-12, high=1e-3),
            Axis(
                name="epsilon",
                label="epsilon",
                quantity="delta",
                fixed=("n",),
                log=False,
                low=0.0,
                high=None,
            ),
            Axis(
                name="rounds",
                label="number of rounds",
                fixed=("n", "delta"),
                low=1,
                high=10**3,
            ),
        )
    }
)
