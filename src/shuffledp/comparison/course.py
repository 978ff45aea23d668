"""Where curves run: what varies, its points, and what stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from shuffledp.accounting import Setting
from shuffledp.basics.errors import (
    MAX_EPSILON0,
    NoAnswerError,
    check_delta,
    wide_is_enough,
)
from shuffledp.basics.rounding import plain, round_up
from shuffledp.basics.wording import counted
from shuffledp.comparison.axis import Axis
from shuffledp.mechanisms import LocalRandomizer

_LEAST_DELTA = 1e-12  # where a privacy profile ends unless told


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
