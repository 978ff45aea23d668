"""What curves are drawn against: the quantity that varies, its points, and what stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from shuffledp.accounting import Setting
from shuffledp.basics.errors import (
    MAX_EPSILON0,
    NoAnswerError,
    check_delta,
    check_epsilon,
    check_epsilon0,
    check_rounds,
    check_users,
    wide_is_enough,
)
from shuffledp.basics.rounding import plain, round_up
from shuffledp.basics.wording import counted, shorten
from shuffledp.mechanisms import LocalRandomizer, as_family, as_randomizer

#: What programs call the axes.
AxisName = Literal["users", "epsilon0", "delta", "epsilon", "rounds"]


_LEAST_DELTA = 1e-12  # where a privacy profile ends unless told
_NAME_LENGTH = 72  # characters of a mechanism beside its curve


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


@dataclass(frozen=True)
class Course:
    """The questions of curves, but for the mechanisms and the bounds.

    Attributes:
        axis: what varies.
        x: its points, increasing.
        setting: what stays: number of users, unless they vary, and all else but the mechanism; a
            share of corrupted users is one of the users at each point.
        target_delta: the delta at which epsilon is asked for, unless it varies or is asked for.

    >>> from shuffledp.comparison.axis import AXES
    >>> course = Course(AXES["users"], (100, 200), Setting(corrupted=0.1), 1e-6)
    >>> [str(course.at(point)) for point in course.x], course.target_at(100)
    (['n=100 corrupted=0.1', 'n=200 corrupted=0.1'], 1e-06)

    Raises:
        ValueError: if something is missing, would be ignored, or is not allowed.
    """

    axis: Axis
    x: tuple[float, ...]
    setting: Setting = field(default_factory=Setting)
    target_delta: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is missing, what would be ignored, and points out of order."""
        for fixed, name, value in (
            ("n", "n", self.setting.n),
            ("delta", "target_delta", self.target_delta),
        ):
            if fixed in self.axis.fixed and value is None:
                raise ValueError(f"a curve against {self.axis.name} needs {name}")
            if fixed not in self.axis.fixed and value is not None:
                raise ValueError(
                    f"a curve against {self.axis.name} takes no {name}: it varies along the curve"
                )
        if self.axis.name == "rounds" and self.setting.rounds != 1:
            raise ValueError("a curve against rounds takes no rounds: they vary along the curve")
        if self.target_delta is not None:
            object.__setattr__(self, "target_delta", check_delta(self.target_delta))
        points = tuple(map(self.axis.check, self.x))
        if not points:
            raise ValueError("x must hold at least one point, got none")
        for before, after in pairwise(points):
            if after <= before:
                raise ValueError(f"x must increase, got {plain(before)} before {plain(after)}")
        object.__setattr__(self, "x", points)
        for point in points:
            self._check_honesty(point)

    def _check_honesty(self, point: float) -> None:
        try:
            self.at(point)
        except ValueError as error:
            varies = self.axis.name == "users"
            where = f", where there are {counted(int(point), 'user')}" if varies else ""
            raise ValueError(f"{error}{where}") from None

    def at(self, point: float) -> Setting:
        """Return the setting at a point, but for the mechanism."""
        if self.axis.name == "users":
            return replace(self.setting, n=int(point))
        if self.axis.name == "rounds":
            return replace(self.setting, rounds=int(point))
        return self.setting

    def target_at(self, point: float) -> float:
        """Return the target at a point."""
        return point if self.target_delta is None else self.target_delta


def end_of_profile(randomizers: Iterable[LocalRandomizer], setting: Setting) -> float:
    """Return the epsilon at which the guarantees of all mechanisms have come down to delta 1e-12.

    >>> from shuffledp import KRR
    >>> 0.13 < end_of_profile([KRR(k=10, epsilon0=2.0)], Setting(n=10_000)) < 0.16
    True
    """
    ends = [0.0]
    with wide_is_enough():  # any end will do
        for randomizer in randomizers:
            try:
                asked = replace(setting, bound="blanket", view="multiset").of(randomizer)
                ends.append(asked.accountant(rtol=0.1).get_epsilon(_LEAST_DELTA))
            except NoAnswerError:
                continue
    end = max(end for end in ends if end <= MAX_EPSILON0)
    return min(float(round_up(end, 2)), MAX_EPSILON0) or 1.0


#: What may stand for a mechanism; where epsilon0 varies, a text without it or a function of it.
Mechanism = LocalRandomizer | str | Callable[[float], LocalRandomizer]

#: By name, what each user runs at a point; it only varies along epsilon0.
Families = Mapping[str, Callable[[float], LocalRandomizer]]


def read_families(mechanisms: Mechanism | Iterable[Mechanism], against: str) -> Families:
    """Return one or several mechanisms by name.

    >>> list(read_families(["krr(k=10)", "blh()"], "epsilon0"))
    ['krr(k=10)', 'blh()']

    Raises:
        ValueError: if a text cannot be read, a mechanism is given twice, or there is none.
        TypeError: if something is no mechanism.
    """
    listed: list[Mechanism] = (
        [mechanisms]
        if isinstance(mechanisms, LocalRandomizer | str) or not isinstance(mechanisms, Iterable)
        else list(mechanisms)
    )
    if not listed:
        raise ValueError("mechanisms must hold at least one mechanism, got none")
    found: dict[str, Callable[[float], LocalRandomizer]] = {}
    known: list[object] = []
    for mechanism in listed:
        make, identity, name = _read(mechanism, varies=against == "epsilon0")
        name = shorten(name, _NAME_LENGTH)
        if identity in known:
            given = mechanism.strip() if isinstance(mechanism, str) else name
            raise ValueError(f"{shorten(given, _NAME_LENGTH)!r} is given twice")
        known.append(identity)
        found[name if name not in found else f"{name} ({len(known)})"] = make
    return found


def _read(
    mechanism: Mechanism, *, varies: bool
) -> tuple[Callable[[float], LocalRandomizer], object, str]:
    """Return a mechanism as a function of epsilon0, what equal ones share, and its name."""
    if not varies:
        randomizer = as_randomizer(mechanism, "mechanisms")
        return (lambda _: randomizer), randomizer, str(randomizer)
    make = as_family(mechanism, "mechanisms")
    if isinstance(mechanism, str):
        return make, (make(1.0), make(2.0)), mechanism.strip()
    return make, mechanism, getattr(mechanism, "__name__", repr(mechanism))
