"""Where curves run: what varies, its points, and what stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.crowd import HONEST, Corruption, Crowd
from shuffledp.basics.errors import (
    MAX_EPSILON0,
    NoAnswerError,
    check_delta,
    check_users,
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
        n: number of users, unless they vary.
        target_delta: the delta at which epsilon is asked for, unless it varies or is asked for.
        corruption: how many users are not honest; a share is one of the users at each point.

    >>> from shuffledp.comparison.axis import AXES
    >>> Course(AXES["users"], (100, 200), target_delta=1e-6).at(100)
    (100, 1e-06)
    >>> course = Course(AXES["users"], (100, 200), None, 1e-6, Corruption(0.1))
    >>> [course.crowd_at(point).corrupted for point in course.x]
    [10, 20]

    Raises:
        ValueError: if something is missing, would be ignored, or is not allowed.
    """

    axis: Axis
    x: tuple[float, ...]
    n: int | None = None
    target_delta: float | None = None
    corruption: Corruption = HONEST

    def __post_init__(self) -> None:
        """Refuse what is missing, what would be ignored, and points out of order."""
        for fixed, name, value in (
            ("n", "n", self.n),
            ("delta", "target_delta", self.target_delta),
        ):
            if fixed in self.axis.fixed and value is None:
                raise ValueError(f"a curve against {self.axis.name} needs {name}")
            if fixed not in self.axis.fixed and value is not None:
                raise ValueError(
                    f"a curve against {self.axis.name} takes no {name}: it varies along the curve"
                )
        if self.n is not None:
            object.__setattr__(self, "n", check_users(self.n))
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
            self.crowd_at(point)
        except ValueError as error:
            where = f", where there are {counted(int(point), 'user')}" if self.n is None else ""
            raise ValueError(f"{error}{where}") from None

    def at(self, point: float) -> tuple[int, float]:
        """Return the number of users and the target at a point."""
        users = int(point) if self.n is None else self.n
        return users, point if self.target_delta is None else self.target_delta

    def crowd_at(self, point: float) -> Crowd:
        """Return the users at a point, and how many of them are corrupted."""
        return self.corruption.among(self.at(point)[0])

    def rounds_at(self, point: float) -> int:
        """Return the number of rounds at a point: one, unless they vary."""
        return int(point) if self.axis.name == "rounds" else 1


def end_of_profile(randomizers: Iterable[LocalRandomizer], crowd: Crowd) -> float:
    """Return the epsilon at which the guarantees of all mechanisms have come down to delta 1e-12.

    >>> from shuffledp import KRR
    >>> 0.13 < end_of_profile([KRR(k=10, epsilon0=2.0)], Crowd(10_000)) < 0.16
    True
    """
    ends = [0.0]
    with wide_is_enough():  # any end will do
        for randomizer in randomizers:
            try:
                accountant = ShuffleAccountant(
                    randomizer,
                    crowd.n,
                    rtol=0.1,
                    bound="blanket",
                    corrupted=crowd.corrupted,
                    corrupted_adaptively=crowd.corrupted_adaptively,
                )
                ends.append(accountant.get_epsilon(_LEAST_DELTA))
            except NoAnswerError:
                continue
    end = max(end for end in ends if end <= MAX_EPSILON0)
    return min(float(round_up(end, 2)), MAX_EPSILON0) or 1.0
