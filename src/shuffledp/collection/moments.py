r"""Estimates and the two reasons why they vary.

An estimate is a sum over users that took part. Its variance given the inputs is that of the
randomizers, plus that of who took part where the users are a random sample or were assigned to
mechanisms at random. If user i ends up with weight :math:`a_i`, :math:`\sum_ia_i=1`, and all users
are alike in this, the latter is :math:`(\sum_ia_i^2-1/N)\,S^2` with the variance
:math:`S^2=\frac{1}{N-1}\sum_i(x_i-\bar x)^2` of the inputs of all N users.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.collection.estimate import Estimate, Estimates, FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """An estimate from some of the users.

    Attributes:
        values: unbiased estimates.
        noise_variance: unbiased estimates of their variance given who took part.
        concentration: the sum of the squared weights of the users: 1/m for m users of equal weight.
        spread: estimate of the variance of the inputs; None for frequencies, where f(1-f) serves.
        unit_variance: what the variance for one user would be if inputs were uniform.
        whole_domain: whether the values are the frequencies of a whole domain.
    """

    values: FloatArray
    noise_variance: FloatArray
    concentration: float
    spread: float | None
    unit_variance: float
    whole_domain: bool

    def estimate(self, population: int) -> Estimate:
        r"""Return the estimate for N users of whom those who took part are a random sample.

        For frequencies :math:`S^2=f(1-f)N/(N-1)`, and :math:`\hat f(1-\hat f)` is too small by the
        variance V of :math:`\hat f` on average. So :math:`V=A+\kappa f(1-f)` is estimated without
        bias by :math:`(A+\kappa\hat f(1-\hat f))/(1-\kappa)`; from one report it cannot be.
        """
        excess = max(self.concentration - 1 / population, 0.0)
        variance = self.noise_variance
        if excess * population > 1e-9:
            if self.spread is not None:
                variance = variance + excess * self.spread
            else:
                share = excess * population / (population - 1)
                combined = variance + share * self.values * (1 - self.values)
                variance = combined / (1 - share) if share < 1 else np.full_like(combined, math.inf)
        return Estimate(
            self.values, np.sqrt(np.maximum(variance, 0.0)), population, self.whole_domain
        )


#: Moments, or one entry per attribute.
Results = Moments | tuple["Results", ...]


def finish(results: Results, population: int) -> Estimates:
    """Return the estimates for the population."""
    if isinstance(results, tuple):
        return tuple(finish(result, population) for result in results)
    return results.estimate(population)


def combine(results: Sequence[Results]) -> Results:
    """Return the weighted mean of estimates of the same thing from different users.

    The weights are inversely proportional to the variances that the estimates would have if inputs
    were uniform. They depend on the numbers of users alone, not on reports, so the mean is unbiased
    as well.
    """
    tuples = [result for result in results if isinstance(result, tuple)]
    if tuples:
        return tuple(combine(attribute) for attribute in zip(*tuples, strict=True))
    parts = [result for result in results if isinstance(result, Moments)]
    precision = np.array([1 / (part.unit_variance * part.concentration) for part in parts])
    weights = precision / precision.sum()
    concentration = float(weights**2 @ [part.concentration for part in parts])
    spreads = [part.spread for part in parts if part.spread is not None]
    return Moments(
        values=weights @ np.array([part.values for part in parts]),
        noise_variance=weights**2 @ np.array([part.noise_variance for part in parts]),
        concentration=concentration,
        spread=float(weights @ spreads) if spreads else None,
        unit_variance=1 / float(precision.sum()) / concentration,
        whole_domain=parts[0].whole_domain,
    )
