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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.aggregator import Aggregator
from shuffledp.collection.estimate import Estimate, Estimates
from shuffledp.collection.moments import Moments, combine, finish
from shuffledp.errors import check_users
from shuffledp.randomizers import LocalRandomizer, as_randomizer
from shuffledp.randomizers.support import SupportRandomizer


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
    if not all(isinstance(aggregator, Aggregator) for aggregator in aggregators):
        raise TypeError(f"aggregators must be Aggregators, got {aggregators!r}")
    known = [aggregator for aggregator in aggregators if aggregator.n]
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
    tiers = [(as_randomizer(one), check_users(n)) for one, n in groups]
    if not tiers:
        raise ValueError("groups must hold at least one tier, got none")
    first, _ = tiers[0]
    if not isinstance(first, SupportRandomizer):
        raise ValueError(f"groups must run mechanisms of frequencies, got {first}")
    shares, total = [0.0, 0.0, 0.0], sum(n for _, n in tiers)
    for one, n in tiers:
        if not isinstance(one, SupportRandomizer) or one.blanket_shape != first.blanket_shape:
            raise ValueError(f"groups must have reports that look alike, got {first} and {one}")
        p, q = one.support_probabilities
        parts = (p, q, one.support_advantage)
        shares = [share + n / total * part for share, part in zip(shares, parts, strict=True)]
    if reports.size != total:
        raise ValueError(f"reports must be as many as there are users, {total}, got {reports.size}")
    counts = first.support_counts(reports)
    p, q, advantage = shares
    values = (counts / total - q) / advantage
    unit = np.maximum(values * (p * (1 - p)) + (1 - values) * (q * (1 - q)), 0.0) / advantage**2
    moments = Moments(values, unit / total, 1 / total, None, 1.0, whole_domain=True)
    return moments.estimate(total)
