r"""Estimates from users of different levels.

Which tier a user is in must not depend on the data: then every tier is a random sample of users.

If the server knows the tiers, the reports of each are debiased by their own law, and the estimates
are averaged with weights that give the least variance for uniform inputs. If it does not, a report
supports its own value with the probability :math:`\bar p=\sum_gn_gp_g/N` and another one with
:math:`\bar q`, as those of one mechanism would. Careful users then blur the reports of the others:
with the same tiers known the variance is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.errors import check_types, check_users
from shuffledp.collection.aggregator import Aggregator
from shuffledp.collection.estimate import Estimate, Estimates, FloatArray
from shuffledp.collection.moments import Moments, Results, combine, finish
from shuffledp.mechanisms import LocalRandomizer, as_randomizer
from shuffledp.mechanisms.support.support import SupportRandomizer


def estimate_tiers(aggregators: Sequence[Aggregator]) -> Estimates:
    """Return estimates from the reports of several tiers that the server can tell apart.

    Args:
        aggregators: one for each tier, of mechanisms that estimate the same thing. Tiers without
            reports are left out.

    Raises:
        TypeError: if something is no aggregator.
        ValueError: if there are no reports, or they estimate different things.

    >>> careful, careless = Aggregator("krr(k=3, epsilon0=1)"), Aggregator("krr(k=3, epsilon0=4)")
    >>> careful.add_sum([450, 300, 250], n=1000)
    >>> careless.add_sum([680, 200, 120], n=1000)
    >>> estimate_tiers([careful, careless]).values.round(2).tolist()
    [0.69, 0.2, 0.11]
    """
    found = check_types("aggregators", aggregators, Aggregator)
    known = [aggregator for aggregator in found if aggregator.n]
    if not known:
        raise ValueError("an estimate needs at least one report, got none")
    subjects = dict.fromkeys(str(aggregator.subject) for aggregator in known)
    if len(subjects) > 1:
        raise ValueError(f"aggregators must estimate the same thing, got {', '.join(subjects)}")
    n = sum(aggregator.n for aggregator in known)
    return finish(combine([aggregator.results() for aggregator in known]), n)


def estimate_pooled(
    groups: Sequence[tuple[LocalRandomizer | str, int]], reports: NDArray[Any]
) -> Estimate:
    """Return frequencies from the shuffled reports of tiers that the server cannot tell apart.

    Args:
        groups: what each tier runs, and how many users it has. All reports must look alike: k-ary
            randomized response of one k.
        reports: those of all tiers together.

    Raises:
        TypeError: if the reports are of another type.
        ValueError: if the mechanisms do not fit together, or the numbers do not.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)  # repeatable; leave it out to use secure random bits
    >>> groups = [("krr(k=3, epsilon0=1)", 4000), ("krr(k=3, epsilon0=4)", 4000)]
    >>> values = [0, 0, 0, 1] * 1000
    >>> reports = np.concatenate([as_randomizer(one).randomize(values, rng) for one, _ in groups])
    >>> found = estimate_pooled(groups, reports)
    >>> bool((abs(found.values - [0.75, 0.25, 0]) < 4 * found.standard_errors).all())
    True
    """
    mixture = Mixture.of(groups)
    return mixture.estimate(mixture.first.support_counts(reports), reports.size)


@dataclass(frozen=True)
class Mixture:
    """The law of a report of tiers that cannot be told apart.

    Attributes:
        tiers: what each tier runs, and how many users it has.
        p: the probability that a report supports its own value.
        q: that it supports another one.
        advantage: the difference of the two, to more digits.
    """

    tiers: tuple[tuple[SupportRandomizer, int], ...]
    p: float
    q: float
    advantage: float

    @classmethod
    def of(cls, groups: Sequence[tuple[LocalRandomizer | str, int]]) -> Mixture:
        """Return that of some tiers.

        Raises:
            ValueError: if their reports do not look alike.
        """
        given = check_types("groups", groups, Sequence)  # type: ignore[type-abstract]
        if not all(len(group) == 2 for group in given):
            raise TypeError("groups must be pairs of a mechanism and a number of users")
        tiers = [(as_randomizer(one), check_users(n)) for one, n in given]
        if not tiers:
            raise ValueError("groups must hold at least one tier, got none")
        first, _ = tiers[0]
        if not isinstance(first, SupportRandomizer):
            raise ValueError(f"groups must run mechanisms of frequencies, got {first}")
        known: list[tuple[SupportRandomizer, int]] = []
        shares, total = [0.0, 0.0, 0.0], sum(n for _, n in tiers)
        for one, n in tiers:
            if not isinstance(one, SupportRandomizer) or one.blanket_shape != first.blanket_shape:
                raise ValueError(f"groups must have reports that look alike, got {first} and {one}")
            parts = (*one.support_probabilities, one.support_advantage)
            shares = [share + n / total * part for share, part in zip(shares, parts, strict=True)]
            known.append((one, n))
        return cls(tuple(known), *shares)

    @property
    def first(self) -> SupportRandomizer:
        """What the first tier runs; the reports of all look like its own."""
        return self.tiers[0][0]

    @property
    def n(self) -> int:
        """Number of users."""
        return sum(n for _, n in self.tiers)

    def estimate(self, counts: NDArray[Any], n: int) -> Estimate:
        """Return frequencies from how many of n reports support each value."""
        if n != self.n:
            raise ValueError(f"reports must be as many as there are users, {self.n}, got {n}")
        values = (counts / n - self.q) / self.advantage
        unit = np.maximum(_unit_variance(self.p, self.q, self.advantage, values), 0.0)
        moments = Moments(values, unit / n, 1 / n, None, 1.0, whole_domain=True)
        return moments.estimate(n)

    def loss(self, domain_size: int) -> float:
        """Return by how much standard errors are larger than if tiers were known, uniform inputs.

        >>> groups = [("krr(k=3, epsilon0=1)", 4000), ("krr(k=3, epsilon0=4)", 4000)]
        >>> round(Mixture.of(groups).loss(3), 2)
        1.19
        """
        share = np.full(1, 1 / domain_size)
        tiers = [(*one.support_probabilities, one.support_advantage, n) for one, n in self.tiers]
        known = combine([_alone(share, *tier) for tier in tiers])
        pooled = _alone(share, self.p, self.q, self.advantage, self.n)
        errors = [_error(results, self.n) for results in (pooled, known)]
        return errors[0] / errors[1]


def _alone(share: FloatArray, p: float, q: float, advantage: float, n: int) -> Moments:
    """Return what n reports would tell if all inputs had this share."""
    unit = _unit_variance(p, q, advantage, share)
    whole = float(unit[0] + share[0] * (1 - share[0]))
    return Moments(share, unit / n, 1 / n, None, whole, whole_domain=True)


def _error(results: Results, n: int) -> float:
    estimate = finish(results, n)
    if isinstance(estimate, tuple):
        raise TypeError("frequencies of one attribute are expected")
    return float(estimate.standard_errors[0])


def _unit_variance(p: float, q: float, advantage: float, values: FloatArray) -> FloatArray:
    """Return the variance that one report has as an estimate of frequencies."""
    variance: FloatArray = (values * (p * (1 - p)) + (1 - values) * (q * (1 - q))) / advantage**2
    return variance
