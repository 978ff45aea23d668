r"""The law of the privacy loss that belongs to a profile made of straight lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal

from shuffledp.basics.balls import ball, precision
from shuffledp.basics.interval import Interval
from shuffledp.bounds.rounds.node import Point
from shuffledp.engine.sums import Law

#: Whether a law lies above or below a profile.
Side = Literal["upper", "lower"]

_FAINT = Fraction(1, 10**290)  # smaller masses have no double with all digits


@dataclass(frozen=True, eq=False)
class LossLaw:
    r"""The law of :math:`L=\log(dP/dQ)` under P, in exact numbers.

    A convex, falling H of straight lines is the profile
    :math:`H(\lambda)=P(L=\infty)+\sum_ip_i(1-\lambda/\lambda_i)_+` with
    :math:`p_i=\lambda_i(s_i-s_{i-1})`, s the slopes beside vertex i and 0 at the end, and
    :math:`P(L=\infty)` the last value. The masses sum to H(0).

    Attributes:
        ratios: the likelihood ratios lambda, increasing.
        masses: their probabilities under P, greater than 0.
        infinite: the probability of an infinite loss.
    """

    ratios: tuple[Fraction, ...]
    masses: tuple[Fraction, ...]
    infinite: Fraction

    @classmethod
    def of(cls, vertices: Sequence[Point]) -> LossLaw:
        """Return the law of the profile through these vertices, which begin at lambda = 0.

        >>> corners = [(-1, 1), (0, Fraction(1, 4)), (1, 0)]
        >>> law = LossLaw.of([Point(Fraction(x), Fraction(y)) for x, y in corners])
        >>> [str(mass) for mass in law.masses], law.at(1)
        (['1/2', '1/2'], Fraction(1, 4))
        """
        slopes = [(b.y - a.y) / (b.x - a.x) for a, b in pairwise(vertices)] + [Fraction(0)]
        bends = [after - before for before, after in pairwise(slopes)]
        atoms = [
            (1 + vertex.x, (1 + vertex.x) * bend)
            for vertex, bend in zip(vertices[1:], bends, strict=True)
            if bend > 0
        ]
        return cls(
            tuple(ratio for ratio, _ in atoms), tuple(mass for _, mass in atoms), vertices[-1].y
        )

    def at(self, ratio: Fraction | int) -> Fraction:
        """Return the profile at a likelihood ratio, at least 0."""
        terms = (
            mass * (1 - ratio / own)
            for own, mass in zip(self.ratios, self.masses, strict=True)
            if own > ratio
        )
        return self.infinite + sum(terms, Fraction(0))

    def without_faint(self, moved_to_infinity: bool) -> LossLaw:
        """Return the law without masses that doubles cannot hold: at infinity, or nowhere."""
        faint = sum((mass for mass in self.masses if mass < _FAINT), Fraction(0))
        if not faint:
            return self
        kept = [pair for pair in zip(self.ratios, self.masses, strict=True) if pair[1] >= _FAINT]
        return LossLaw(
            tuple(ratio for ratio, _ in kept),
            tuple(mass for _, mass in kept),
            self.infinite + (faint if moved_to_infinity else 0),
        )

    @cached_property
    def kept(self) -> Fraction:
        """The probability of a finite loss."""
        return sum(self.masses, Fraction(0))

    @cached_property
    def finite(self) -> Law:
        """The law of a finite loss, of mass 1, in balls."""
        with precision():
            return Law.of(
                (ball(ratio).log(), ball(mass / self.kept))
                for ratio, mass in zip(self.ratios, self.masses, strict=True)
            )

    @cached_property
    def infinite_ends(self) -> Interval:
        """The probability of an infinite loss, in doubles."""
        return enclose(self.infinite)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and variance of a finite loss, roughly."""
        values, masses = self.finite.values, self.finite.masses
        mean = float(masses @ values)
        return mean, float(masses @ (values - mean) ** 2)  # mutation: any will do


def enclose(number: Fraction) -> Interval:
    """Return the doubles next to an exact number between 0 and 1.

    >>> third = enclose(Fraction(1, 3))
    >>> third.lower < Fraction(1, 3) < third.upper, enclose(Fraction(1, 4)).width
    (True, 0.0)
    """
    nearest = float(number)
    exact = Fraction(nearest)
    return Interval(
        nearest if exact <= number else math.nextafter(nearest, 0.0),
        nearest if exact >= number else math.nextafter(nearest, math.inf),
    )
