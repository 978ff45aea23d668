r"""Additive symmetric unimodal noise on an interval or a grid.

For R(x) = x + Z on inputs in [0, B], Z symmetric with a density that falls with |z|, the blanket is
:math:`c(y)=\min(f(y),f(y-B))` and the end points 0, B are the worst pair for every n and epsilon. A
mechanism therefore states one thing: how outputs fall into cells at a pair of inputs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.domain import Domain, Integers, UnitInterval
from shuffledp.mechanisms.input_types import InputTypes, NamedTypes
from shuffledp.mechanisms.noise.noise_laws import Place
from shuffledp.mechanisms.pair import Input, Pair


class SymmetricNoise(LocalRandomizer):
    """Additive noise; subclasses state the law at a pair of inputs."""

    estimates: ClassVar[Literal["frequencies", "mean"] | None] = "mean"

    @property
    @abstractmethod
    def largest_input(self) -> int:
        """The input B; the smallest is 0."""

    @property
    def input_domain(self) -> Domain:
        """The integers up to B, or the interval if any number in it is an input."""
        return UnitInterval() if self.is_interval else Integers(self.largest_input + 1)

    @property
    @abstractmethod
    def is_interval(self) -> bool:
        """Whether all numbers from 0 to B = 1 are inputs, and not integers alone."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of the noise."""

    @property
    def unit(self) -> float:
        """The number that a report of 1 stands for, a power of two; reports are integers."""
        return 1.0

    @abstractmethod
    def log_density(self, noise: NDArray[Any]) -> FloatArray:
        """Return the log density of noise, or its log probability on a grid, up to a constant."""

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return the log density of the noise that turns the value into each report."""
        return self.log_density(reports * self.unit - value)

    def neighbours(self) -> Sequence[Pair]:
        """Return the end points: the universally worst pair for symmetric unimodal noise."""
        return (Pair(0, self.largest_input),)

    @property
    def has_worst_pair(self) -> bool:
        """True: the end points, by the theorem on symmetric noise that falls."""
        return True

    def is_worst(self, pair: Pair) -> bool:
        """Whether it holds both end points: reflection exchanges the two orders."""
        return {pair.first, pair.second} == {0, self.largest_input}

    def unchanged(self) -> Sequence[Pair]:
        """Return an end point: its ratio to the blanket varies most."""
        return (Pair(0, 0),)

    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return cells of the outputs.

        With its blanket, a pair of inputs in between gets the law of the end points, which
        dominates its own.
        """
        known = self.accepts(pair.first) and self.accepts(pair.second)
        if not known and other is None:
            return self.decomposition(self.neighbours()[0])
        inputs = (pair.first, pair.second) if other is None else (pair.first, pair.second, other)
        if not all(self.accepts(x) for x in inputs):
            raise ValueError(
                f"inputs must be end points 0 or {self.largest_input}, got {pair} and {other}"
            )
        if other is not None and len(set(inputs)) == 1:
            return Decomposition.silent()
        first, second, *held = (Fraction(x) for x in inputs if not isinstance(x, tuple))
        ends = (Fraction(0), Fraction(self.largest_input))
        return self.law_at(Place(first, second, tuple(held) or ends))

    @abstractmethod
    def law_at(self, place: Place) -> Decomposition:
        """Return the decomposition into cells: of two inputs, and c that of the others."""

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return the end points, inputs in between reveal less; none for another pair."""
        known = self.accepts(pair.first) and self.accepts(pair.second)
        return (0, self.largest_input) if known else ()

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep the end points apart, if there are no other inputs."""
        return NamedTypes({0: 0, 1: 1}) if self.input_domain == Integers(2) else None

    def accepts(self, other: Input) -> bool:
        """Whether ``other`` is an end point."""
        return other in (0, self.largest_input)
