"""What reports tell about the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.basics.errors import check_probability
from shuffledp.basics.markup import bar, grid
from shuffledp.basics.rounding import nearest, percent, round_down, round_up
from shuffledp.basics.wording import counted

FloatArray = NDArray[np.float64]

_SHOWN = 20  # values of a displayed table


@dataclass(frozen=True, eq=False)
class ConfidenceInterval:
    """Intervals that cover the truth with about the given probability.

    Attributes:
        lower: the lower ends.
        upper: the upper ends.
        level: the probability.
        simultaneous: whether it is that of all intervals covering at once, not of each on its own.
    """

    lower: FloatArray
    upper: FloatArray
    level: float
    simultaneous: bool = False

    def covers(self, truth: ArrayLike) -> NDArray[np.bool_]:
        """Return which intervals hold the true value."""
        true = np.asarray(truth, dtype=np.float64)
        return (self.lower <= true) & (true <= self.upper)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Unbiased estimates about the inputs of ``n`` users.

    The inputs are taken as fixed: the standard errors are those of the randomizers and, where not
    every user is asked the same, of who was asked. Unbiased frequencies can be negative or above 1.

    Attributes:
        values: the frequency of each value, or the mean as an array of one entry.
        standard_errors: their standard errors, estimated without bias for their squares.
        n: the number of users, those included who did not take part.
        whole_domain: whether the values are the frequencies of a whole domain.

    >>> estimate = Estimate(np.array([0.75, 0.35, -0.1]), np.array([0.1, 0.1, 0.1]), 100, True)
    >>> estimate.confidence_interval().upper.round(3).tolist()
    [0.946, 0.546, 0.096]
    >>> estimate.projected().round(3).tolist()
    [0.7, 0.3, 0.0]
    """

    values: FloatArray
    standard_errors: FloatArray
    n: int
    whole_domain: bool

    def confidence_interval(
        self, level: float = 0.95, *, simultaneous: bool = False
    ) -> ConfidenceInterval:
        r"""Return normal confidence intervals, for each value on its own or for all at once.

        Simultaneous ones have level :math:`\sqrt[k]{\text{level}}` each. Whatever the dependence
        of k normal estimates, that is enough (Šidák 1967). Estimates are nearly normal where a
        hundred reports or more support every value; with some thirty each, all of 40 intervals
        cover in 90 of 100 cases instead of 95.

        >>> estimate = Estimate(np.zeros(20), np.ones(20), 100, True)
        >>> alone, together = (
        ...     estimate.confidence_interval(simultaneous=all_at_once).upper[0].round(2).item()
        ...     for all_at_once in (False, True)
        ... )
        >>> alone, together
        (1.96, 3.02)
        """
        level = check_probability("level", level)
        each = level ** (1 / max(self.values.size, 1)) if simultaneous else level
        reach = -NormalDist().inv_cdf((1 - each) / 2) * self.standard_errors
        return ConfidenceInterval(self.values - reach, self.values + reach, level, simultaneous)

    def projected(self) -> FloatArray:
        """Return the nearest probability distribution: plausible, but biased.

        Subtracts the same number from all frequencies and replaces negative results by 0 such that
        they sum to 1. Small frequencies come out too large and large ones too small, and standard
        errors and intervals do not apply.

        Raises:
            ValueError: if the values are not the frequencies of a whole domain.
        """
        if not self.whole_domain:
            raise ValueError(
                "only the frequencies of a whole domain can be projected to a distribution, not "
                "a mean or the frequencies of some candidates"
            )
        falling = np.sort(self.values)[::-1]
        surplus = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
        kept = int(np.flatnonzero(falling > surplus)[-1])
        return np.maximum(self.values - float(surplus[kept]), 0.0)

    def _repr_html_(self) -> str:
        """Return the values with their intervals, for notebooks; of many the largest ones."""
        shown = np.sort(np.argsort(-self.values, kind="stable")[:_SHOWN])
        interval = self.confidence_interval()
        most = float(np.max(self.values, initial=0.0)) or 1.0
        rows = (
            (
                str(i),
                bar(float(self.values[i]) / most),
                nearest(float(self.values[i])),
                round_up(float(self.standard_errors[i])),
                f"{round_down(float(interval.lower[i]))} to {round_up(float(interval.upper[i]))}",
            )
            for i in shown
        )
        left = self.values.size - shown.size
        more = f"; {counted(left, 'smaller value')} not shown" if left else ""
        head = ("value", "", "estimate", "standard error", f"{percent(interval.level)} interval")
        return grid(f"estimates from {counted(self.n, 'user')}{more}", head, rows)


#: One estimate, or one per attribute.
Estimates = Estimate | tuple["Estimates", ...]
