"""Estimates are unbiased, their standard errors honest, their intervals cover."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, Case, leaves, skewed

from shuffledp import KRR, OUE, Aggregator, Estimate, MatrixRandomizer, simulate

RUNS = 1000


def collect(case: Case, rng: np.random.Generator, runs: int) -> list[list[Estimate]]:
    """The estimates of many collections, whose users are randomized in one go."""
    reports = case.randomizer.randomize(repeat(case.values, runs), rng)
    found = []
    for batch in np.split(reports, runs):
        aggregator = Aggregator(case.randomizer)
        aggregator.add(batch)
        found.append(leaves(aggregator.estimate()))
    return found


def repeat(values: object, times: int) -> object:
    if isinstance(values, tuple):
        return tuple(repeat(column, times) for column in values)
    return np.tile(values, times)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_unbiased_and_covered(case):
    found = collect(case, np.random.default_rng(11), RUNS)
    for i, truth in enumerate(case.truths):
        estimates = [run[i] for run in found]
        values = np.array([e.values for e in estimates])
        errors = np.array([e.standard_errors for e in estimates])
        assert values.shape == (RUNS, truth.size)
        spread = values.std(axis=0, ddof=1)
        assert (abs(values.mean(axis=0) - truth) < 4.5 * spread / RUNS**0.5).all()
        # Squared standard errors are unbiased; a variance of RUNS values is good to 4.5%.
        assert np.sqrt((errors**2).mean(axis=0)) == pytest.approx(spread, rel=0.16)
        assert ((errors**2).mean() / (spread**2).mean()) == pytest.approx(1, rel=0.15)
        covered = [e.confidence_interval().covers(truth).mean() for e in estimates]
        assert 0.93 < np.mean(covered) < 0.97


def test_frequencies_of_randomized_response_sum_to_one():
    """Every report supports one value; with other mechanisms sums are 1 only on average."""
    randomizer = KRR(k=5, epsilon0=1.0)
    aggregator = Aggregator(randomizer)
    aggregator.add(randomizer.randomize(skewed(3), np.random.default_rng(1)))
    assert aggregator.estimate().values.sum() == pytest.approx(1)


def test_dependent_rows():
    """The third row is the mean of the first two: no estimate can tell it from their mixture."""
    randomizer = MatrixRandomizer([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.5, 0.25]])
    aggregator = Aggregator(randomizer)
    aggregator.add(randomizer.randomize([0, 1, 2]))
    with pytest.raises(ValueError, match=r"rows of matrix\(.*\) are linearly dependent"):
        aggregator.estimate()


def test_nothing_to_estimate_from():
    for case in CASES:
        with pytest.raises(ValueError, match="an estimate needs at least one report, got none"):
            Aggregator(case.randomizer).estimate()


def test_nobody_took_part():
    case = next(c for c in CASES if str(c).startswith("subsample(krr"))
    reports = case.randomizer.randomize(case.values, np.random.default_rng(1))
    reports["present"] = False
    aggregator = Aggregator(case.randomizer)
    aggregator.add(reports)
    assert aggregator.n == reports.size
    with pytest.raises(ValueError, match="an estimate needs at least one report"):
        aggregator.estimate()


def test_one_participant_says_nothing_about_the_spread():
    case = next(c for c in CASES if str(c).startswith("subsample(krr"))
    reports = case.randomizer.randomize(case.values, np.random.default_rng(1))
    first = int(np.argmax(reports["present"]))
    reports["present"][first + 1 :] = False
    aggregator = Aggregator(case.randomizer)
    aggregator.add(reports)
    assert np.isinf(aggregator.estimate().standard_errors).all()


def test_extreme_counts_have_a_variance():
    """All reports alike: plug-in variances stay positive."""
    randomizer = OUE(epsilon0=1.0, domain_size=8)
    for octet in (0, 255):
        aggregator = Aggregator(randomizer)
        aggregator.add(np.full(10, octet, dtype=np.uint8).view(randomizer.report_dtype))
        assert (aggregator.estimate().standard_errors > 0).all()


def test_tiny_levels_do_not_cancel():
    """At epsilon0 = 1e-12 the support probabilities agree to many digits."""
    randomizer = KRR(k=4, epsilon0=1e-12)
    assert randomizer.support_advantage == pytest.approx(1e-12 / 4, rel=1e-9)
    aggregator = Aggregator(randomizer)
    aggregator.add(randomizer.randomize(skewed(4), np.random.default_rng(1)))
    estimate = aggregator.estimate()
    assert (abs(estimate.values - 0.25) < 6 * estimate.standard_errors).all()


@pytest.mark.parametrize("level", [0, 1, -1, 2, float("nan")])
def test_bad_levels(level):
    estimate = Estimate(np.zeros(1), np.ones(1), 1, False)
    with pytest.raises(ValueError, match="level must be"):
        estimate.confidence_interval(level)


def test_confidence_intervals():
    estimate = Estimate(np.array([0.2, 0.5]), np.array([0.1, 0.0]), 7, False)
    interval = estimate.confidence_interval(0.9)
    assert interval.level == 0.9
    assert interval.upper - interval.lower == pytest.approx([2 * 0.1644853627, 0.0])
    assert interval.covers([0.3, 0.5]).tolist() == [True, True]
    assert interval.covers([0.4, 0.5001]).tolist() == [False, False]


def test_projection():
    rng = np.random.default_rng(1)
    for _ in range(50):
        values = rng.normal(0.2, 0.5, 6)
        projected = Estimate(values, np.ones(6), 1, True).projected()
        assert projected.min() >= 0
        assert projected.sum() == pytest.approx(1)
        # The nearest point: no other distribution is closer.
        others = rng.dirichlet(np.full(6, 0.3), 500)
        assert (np.linalg.norm(others - values, axis=1) >= np.linalg.norm(projected - values)).all()
    inside = np.array([0.1, 0.2, 0.7])
    assert Estimate(inside, inside, 1, True).projected() == pytest.approx(inside)


def test_projection_needs_a_whole_domain():
    aggregator = Aggregator(KRR(k=5, epsilon0=1.0), candidates=[0, 3])
    aggregator.add(np.array([0, 3], dtype=np.uint8))
    with pytest.raises(ValueError, match="only the frequencies of a whole domain"):
        aggregator.estimate().projected()


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("case", CASES[:2] + CASES[-3:], ids=str)
def test_simulation_agrees(case):
    rng = np.random.default_rng(1)
    simulation = simulate(case.randomizer, case.values, repetitions=200, rng=rng)
    truth = np.concatenate(case.truths)
    errors = []
    for run in collect(case, rng, 200):
        values = np.concatenate([estimate.values for estimate in run])
        errors.append(np.linalg.norm(values - truth))
    gap = abs(simulation.mean_error - np.mean(errors))
    assert gap < 4.5 * np.hypot(simulation.standard_error, np.std(errors) / 200**0.5)
    assert 0.92 < simulation.coverage < 0.98
