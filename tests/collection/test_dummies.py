"""Reports that somebody adds to hide the others, and estimates without them."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import KRR, OUE, Aggregator, SubsetSelection, shuffle

MECHANISMS = [KRR(4, 2.0), SubsetSelection(2.0, 6, 2), SubsetSelection(1.0, 40, 3)]


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
def test_dummies_support_all_values_alike(randomizer):
    m = 60_000
    rng = np.random.default_rng(5)
    added = shuffle(
        np.empty(0, randomizer.report_dtype), rng, dummies=m, randomizer=str(randomizer)
    )
    counts = randomizer.support_counts(added)
    assert added.size == m
    share = counts.sum() / m / counts.size
    size = 1 if isinstance(randomizer, KRR) else randomizer.subset_size
    assert share == size / randomizer.inputs
    assert (abs(counts - m * share) < 5 * np.sqrt(m * share)).all()


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
def test_estimates_are_unbiased_and_their_errors_right(randomizer):
    rng = np.random.default_rng(7)
    values = np.repeat([0, 1, 3], [200, 100, 100])
    truth, found, errors = np.array([0.5, 0.25, 0.0, 0.25]), [], []
    for _ in range(300):
        aggregator = Aggregator(randomizer, candidates=[0, 1, 2, 3])
        reports = randomizer.randomize(values, rng)
        aggregator.add(shuffle(reports, rng, dummies=150, randomizer=randomizer))
        assert aggregator.n == 550
        estimate = aggregator.estimate(dummies=150)
        assert estimate.n == 400
        found.append(estimate.values)
        errors.append(estimate.standard_errors)
    spread = np.std(found, axis=0)
    assert (abs(np.mean(found, axis=0) - truth) < 4 * spread / np.sqrt(300)).all()
    assert (abs(np.mean(errors, axis=0) / spread - 1) < 0.2).all()


class Skewed(KRR):
    """A class derived from k-RR, which may state another law."""


def test_what_does_not_fit_is_refused():
    reports = KRR(4, 2.0).randomize([0, 1], np.random.default_rng(1))
    with pytest.raises(ValueError, match="dummies need the randomizer"):
        shuffle(reports, dummies=1)
    with pytest.raises(ValueError, match="dummies must be"):
        shuffle(reports, dummies=-1)
    with pytest.raises(TypeError, match="must be of type"):
        shuffle([0, 1], dummies=1, randomizer=KRR(4, 2.0))
    with pytest.raises(TypeError, match="no dummies can be drawn"):
        shuffle(reports, dummies=1, randomizer=OUE(1.0, 3))
    with pytest.raises(TypeError, match="no dummies can be drawn"):
        shuffle(reports, dummies=1, randomizer=Skewed(4, 2.0))
    aggregator = Aggregator(KRR(4, 2.0))
    aggregator.add(reports)
    with pytest.raises(ValueError, match="dummies must be"):
        aggregator.estimate(dummies=2)
    other = Aggregator(OUE(1.0, 3))
    other.add(OUE(1.0, 3).randomize([0, 1]))
    with pytest.raises(TypeError, match="no dummies"):
        other.estimate(dummies=1)
    noise = Aggregator("laplace(epsilon0=1)")
    noise.add([5, 15])
    with pytest.raises(TypeError, match="no dummies can be removed"):
        noise.estimate(dummies=1)
