"""What a guarantee means for an attacker: how well anyone can guess, and which errors are made."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.errors import MAX_EPSILON0, check_exact, wide_is_enough
from shuffledp.basics.interval import exp_down, exp_up

_LEAST_DELTA = 1e-9  # false negatives nearer to 1 than this are of no use to anybody
_CURVES = 32  # pairs of lines that bound the trade-off

Lines = tuple[tuple[Fraction, Fraction], ...]


class OperationalTerms(ABC):
    """Attackers in numbers, for whatever has a certified delta at every epsilon."""

    @abstractmethod
    def get_epsilon(self, target_delta: float) -> float:
        """Return the certified epsilon."""

    @abstractmethod
    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified delta."""

    def advantage(self) -> float:
        r"""Return how much better than chance anyone can tell two inputs of one user, at most.

        An attacker who knows all other inputs sees the shuffled reports and says which of the two
        it was: the rate of true alarms exceeds that of false alarms by at most
        :math:`\delta(0)`, the total variation distance. Asked about a fair coin, such an attacker
        is right with probability :math:`(1+\delta(0))/2` at most. Rounded up.

        >>> from shuffledp import ShuffleAccountant
        >>> accountant = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
        >>> print(f"{accountant.advantage():.5f}")
        0.00890
        """
        with wide_is_enough():
            return self.get_delta(0.0)

    @overload
    def tradeoff(self, false_positive_rate: float) -> float: ...

    @overload
    def tradeoff(self, false_positive_rate: ArrayLike) -> float | FloatArray: ...

    def tradeoff(self, false_positive_rate: ArrayLike) -> float | FloatArray:
        r"""Return the false negative rate that every attacker has at this false positive rate.

        Whoever wants to tell from the shuffled reports whether one user's input is x or x', and
        takes x for x' with probability :math:`\alpha`, misses x' with probability
        :math:`f(\alpha)` at least. Every certified delta gives two lines below that curve,

        .. math:: f(\alpha)\ge\max\{0,\;1-\delta(\varepsilon)-e^{\varepsilon}\alpha,\;
                  e^{-\varepsilon}(1-\delta(\varepsilon)-\alpha)\},

        and the largest of 33 such pairs is returned, computed in fractions and rounded down. An
        attacker who only guesses has :math:`1-\alpha`.

        Args:
            false_positive_rate: one rate from 0 to 1, or an array of them.

        >>> from shuffledp import ShuffleAccountant
        >>> accountant = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
        >>> print(f"{accountant.tradeoff(0.05):.4f}")
        0.9477
        >>> accountant.tradeoff([0.0, 0.5, 1.0]).round(3).tolist()
        [1.0, 0.491, 0.0]
        """
        rates = np.asarray(false_positive_rate, dtype=object)
        found = [_lower_end(self._lines, _check_rate(rate)) for rate in rates.ravel().tolist()]
        return np.array(found).reshape(rates.shape) if rates.ndim else found[0]

    @cached_property
    def _lines(self) -> Lines:
        with wide_is_enough():
            end = min(self.get_epsilon(_LEAST_DELTA), MAX_EPSILON0)
            # Closer where the curve bends.
            epsilons = [end * (i / _CURVES) ** 1.5 for i in range(_CURVES + 1)]
            return _lines([(epsilon, self.get_delta(epsilon)) for epsilon in epsilons])


def tradeoff_below(points: Iterable[tuple[float, float]], false_positive_rate: float) -> float:
    """Return a false negative rate that every attacker has, from some certified deltas.

    As :meth:`OperationalTerms.tradeoff`, for epsilons and deltas that are known already.

    >>> round(tradeoff_below([(0.0, 0.125), (1.0, 0.0)], 0.5), 12)
    0.375
    """
    return _lower_end(_lines(points), _check_rate(false_positive_rate))


def _lines(points: Iterable[tuple[float, float]]) -> Lines:
    """Return height at 0 and downward slope of straight lines below the trade-off curve."""
    lines = []
    for epsilon, delta in points:
        height = 1 - Fraction(delta)
        slope, flat = Fraction(exp_up(epsilon)), Fraction(exp_down(-epsilon))
        lines += [(height, slope), (flat * height, flat)]
    return tuple(lines)


def _check_rate(value: object) -> Fraction:
    """Return the rate exactly as given: one that is rounded down would promise too much."""
    rate = check_exact("false_positive_rate", value)
    if not 0 <= rate <= 1:
        raise ValueError(f"false_positive_rate must be between 0 and 1, got {value!r}")
    return rate


def _lower_end(lines: Lines, rate: Fraction) -> float:
    """Return the largest of the lines at a rate, rounded down."""
    exact = max(Fraction(0), *(height - slope * rate for height, slope in lines))
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)
