"""What the reports are collected for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.mechanisms import LocalRandomizer
from shuffledp.planning.prediction import Prediction

#: A mechanism with all its parameters but epsilon0.
Family = Callable[[float], LocalRandomizer]

_ALL_UP_TO = 16  # parameters, before they are spread out


@dataclass(frozen=True)
class Task(ABC):
    """Something to estimate from the reports of n users.

    Attributes:
        n: number of users.
        domain_size: number of values; None for a continuum, where the task knows one.
        distribution: shares of the values among the users, None where they are not known.
    """

    #: What programs call it.
    name: ClassVar[str]

    n: int
    domain_size: int | None
    distribution: tuple[float, ...] | None = None

    @property
    @abstractmethod
    def subject(self) -> str:
        """What is estimated, for people."""

    @abstractmethod
    def mechanisms(self) -> Mapping[str, Sequence[Family]]:
        """Return the suitable mechanisms by name, each with the discrete parameters to try."""

    @abstractmethod
    def worst_case(self, randomizer: LocalRandomizer) -> Prediction:
        """Predict the error for the data that are worst for it."""

    @abstractmethod
    def expected(self, randomizer: LocalRandomizer) -> Prediction | None:
        """Predict the error for data of the given distribution, if there is one."""

    def error(self, randomizer: LocalRandomizer) -> float:
        """Return the typical error by which mechanisms are ranked.

        It is the root mean square error for the given distribution, or else the worst case. It
        falls as epsilon0 grows while the other parameters stay: the noisier report can be made from
        the other one by a channel that keeps the estimate right on average, which only adds
        variance.
        """
        return (self.expected(randomizer) or self.worst_case(randomizer)).rms_error


def spread(first: int, last: int, factor: float) -> list[int]:
    """Return all integers up to 16, then ever sparser ones, from ``first`` to ``last``.

    >>> spread(14, 30, 1.25)
    [14, 15, 16, 20, 25, 30]
    """
    values = list(range(first, min(last, _ALL_UP_TO) + 1))
    while values and values[-1] < last:
        values.append(min(round(values[-1] * factor), last))
    return values
