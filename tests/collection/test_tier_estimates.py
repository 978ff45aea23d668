"""Estimates from tiers: unbiased, with the errors that they state."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import Aggregator, estimate_pooled, estimate_tiers, parse

GROUPS = [("krr(k=3, epsilon0=1)", 300), ("krr(k=3, epsilon0=3)", 500)]
VALUES = np.array([0] * 400 + [1] * 300 + [2] * 100)


def collect(rng):
    """The reports of all tiers, users being assigned to them at random."""
    order, reports, start = rng.permutation(VALUES), [], 0
    for text, n in GROUPS:
        reports.append(parse(text).randomize(order[start : start + n].tolist(), rng))
        start += n
    return reports


def added_up(reports):
    aggregators = [Aggregator(text) for text, _ in GROUPS]
    for aggregator, own in zip(aggregators, reports, strict=True):
        aggregator.add(own)
    return aggregators


@pytest.mark.heavy
def test_both_are_unbiased_with_the_errors_that_they_state():
    rng = np.random.default_rng(11)
    truth = np.array([0.5, 0.375, 0.125])
    runs = [collect(rng) for _ in range(400)]
    for estimates, exact in (
        ([estimate_tiers(added_up(run)) for run in runs], True),
        ([estimate_pooled(GROUPS, np.concatenate(run)) for run in runs], False),
    ):
        values = np.array([estimate.values for estimate in estimates])
        stated = np.sqrt(np.mean([e.standard_errors**2 for e in estimates], axis=0))
        assert (np.abs(values.mean(axis=0) - truth) < 4 * stated / 20).all()
        ratio = values.std(axis=0) / stated
        assert (ratio < 1.15).all()
        assert (ratio > (0.85 if exact else 0.6)).all()


def test_knowing_the_tiers_helps():
    reports = collect(np.random.default_rng(2))
    known = estimate_tiers(added_up(reports))
    pooled = estimate_pooled(GROUPS, np.concatenate(reports))
    assert (known.standard_errors < pooled.standard_errors).all()
    assert known.n == pooled.n == 800


def test_one_tier_is_an_aggregator():
    reports = collect(np.random.default_rng(3))
    (first, _) = added_up(reports)
    for found in (
        estimate_tiers([first, Aggregator(GROUPS[1][0])]),
        estimate_pooled(GROUPS[:1], reports[0]),
    ):
        np.testing.assert_allclose(found.values, first.estimate().values)
        np.testing.assert_allclose(found.standard_errors, first.estimate().standard_errors)


def test_tiers_of_other_mechanisms_fit_if_they_are_known():
    careful, careless = Aggregator("oue(epsilon0=1, domain_size=3)"), Aggregator("krr(3, 4)")
    careful.add_sum([400, 300, 250], 800)
    careless.add_sum([400, 300, 100], 800)
    assert estimate_tiers([careful, careless]).values.sum() == pytest.approx(1, abs=0.2)


def test_what_is_refused():
    reports = collect(np.random.default_rng(4))
    with pytest.raises(ValueError, match="at least one report"):
        estimate_tiers([Aggregator("krr(3, 1)")])
    with pytest.raises(TypeError, match="aggregators must be several of the type Aggregator"):
        estimate_tiers([1])
    other = Aggregator("krr(4, 1)")
    other.add_sum([1, 1, 1, 1], 4)
    with pytest.raises(ValueError, match="the same thing"):
        estimate_tiers([*added_up(reports), other])
    with pytest.raises(ValueError, match="look alike"):
        estimate_pooled([("krr(3, 1)", 4), ("krr(4, 1)", 4)], reports[0])
    with pytest.raises(ValueError, match="as many as there are users"):
        estimate_pooled(GROUPS, reports[0])
    with pytest.raises(ValueError, match="frequencies"):
        estimate_pooled([("laplace(1)", 4)], reports[0])
    with pytest.raises(ValueError, match="at least one tier"):
        estimate_pooled([], reports[0])
