"""Weighted sums of frequencies and cross tables, against laws written out and simulations."""

from __future__ import annotations

import math
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shuffledp import KRR, OUE, Aggregator, HadamardResponse, SubsetSelection, joint
from shuffledp.collection.combination import combination
from shuffledp.collection.cross import CrossTable
from shuffledp.collection.moments import Moments

sys.path.append(str(Path(__file__).parent.parent / "planning"))
from output_laws import MECHANISMS, SIZE, law

WEIGHTS = np.array([0.5, -1.0, 2.0, 0.25])


@pytest.mark.parametrize(
    "mechanism", [m for m in MECHANISMS if not isinstance(m, HadamardResponse)], ids=str
)
@pytest.mark.parametrize("z", range(SIZE))
def test_variance_of_one_report(mechanism, z):
    """If everybody holds z, the variance is that of the written law."""
    p, q = mechanism.support_probabilities
    scores = [
        (chance, sum((w * ((x in support) - q) / (p - q)) for x, w in enumerate(WEIGHTS)))
        for chance, support in law(mechanism, z)
    ]
    mean = math.fsum(chance * score for chance, score in scores)
    assert mean == pytest.approx(WEIGHTS[z], abs=1e-12)
    wanted = math.fsum(chance * (score - mean) ** 2 for chance, score in scores)
    shares = Moments(np.eye(SIZE)[z], np.zeros(SIZE), 1 / 50, None, 1.0, True)
    found = combination(mechanism, shares, WEIGHTS)
    assert found.values[0] == WEIGHTS[z]
    assert found.noise_variance[0] == pytest.approx(wanted / 50, rel=1e-9)


def test_two_values_have_no_third():
    mechanism = KRR(k=2, epsilon0=1.0)
    shares = Moments(np.array([0.5, 0.5]), np.zeros(2), 1.0, None, 1.0, True)
    found = combination(mechanism, shares, [0.0, 1.0])
    assert found.noise_variance[0] == pytest.approx(0.25 / math.sinh(0.5) ** 2)


def test_mean_of_levels_from_reports():
    mechanism, rng = KRR(k=5, epsilon0=2.0), np.random.default_rng(3)
    values = rng.integers(0, 5, 4000)
    errors = []
    for _ in range(200):
        aggregator = Aggregator(mechanism)
        aggregator.add(mechanism.randomize(values, rng))
        found = aggregator.weighted(np.arange(5) / 4)
        errors.append((found.values[0] - values.mean() / 4) / found.standard_errors[0])
    assert abs(np.mean(errors)) < 4 / math.sqrt(200)
    assert np.std(errors) == pytest.approx(1.0, rel=0.2)


def test_what_has_no_weighted_sums():
    aggregator = Aggregator(HadamardResponse(epsilon0=1.0, domain_size=3))
    aggregator.add(aggregator.randomizer.randomize([0, 1, 2]))
    with pytest.raises(TypeError, match="not known for hadamard"):
        aggregator.weighted([0, 1, 2])
    noisy = Aggregator("discrete_laplace(epsilon0=1, bound=3)")
    noisy.add(noisy.randomizer.randomize([0, 1, 2]))
    with pytest.raises(TypeError, match="need a support mechanism"):
        noisy.weighted([0, 1, 2])
    few = Aggregator(KRR(k=3, epsilon0=1.0))
    with pytest.raises(ValueError, match="at least one report"):
        few.weighted([0, 1, 2])
    few.add(few.randomizer.randomize([0, 1, 2]))
    with pytest.raises(ValueError, match="one number for each of 3 values"):
        few.weighted([0, 1])


def test_cross_table_is_the_inverse_of_the_product_channel():
    """Fed with exact expected counts, the table gives back the shares."""
    first, second = KRR(k=2, epsilon0=0.7), KRR(k=3, epsilon0=1.1)
    table = CrossTable(joint(first, second), 0, 1)
    truth = np.array([[0.1, 0.2, 0.3], [0.25, 0.05, 0.1]])
    channels = [
        np.array(
            [[math.exp(part.epsilon0 * (x == y)) for y in range(part.k)] for x in range(part.k)]
        )
        for part in (first, second)
    ]
    a, b = (channel / channel.sum(axis=1, keepdims=True) for channel in channels)
    whole = 10**6
    reported = whole * a.T @ truth @ b
    table._counts = np.block(
        [[reported, reported.sum(axis=1)[:, None]], [reported.sum(axis=0), np.array([whole])]]
    )
    found = table.estimate()
    assert found.values.reshape(2, 3) == pytest.approx(truth, abs=1e-12)
    inverses = np.linalg.inv(a), np.linalg.inv(b)
    for (i, j), error in zip(product(range(2), range(3)), found.standard_errors, strict=True):
        scores = np.outer(inverses[0][:, i], inverses[1][:, j])
        seconds = a @ scores**2 @ b.T  # mean square of the score for each input
        variance = (truth * seconds).sum() - truth[i, j]
        assert error == pytest.approx(math.sqrt(variance / table.n), rel=1e-9)


def test_weighted_sums_of_larger_tables_by_enumeration():
    """With exact expected counts, value and variance are those of all reports spelled out."""
    parts = KRR(k=2, epsilon0=0.7), KRR(k=3, epsilon0=1.1), KRR(k=4, epsilon0=0.9)
    table = CrossTable(joint(*parts), 2, 0, 1)
    used = parts[2], parts[0], parts[1]
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(24)).reshape(4, 2, 3)
    weights = [rng.normal(size=part.k) for part in used]
    channels, scores = [], []
    for part, weight in zip(used, weights, strict=True):
        channel = np.exp(part.epsilon0 * np.eye(part.k))
        channel /= channel.sum(axis=1, keepdims=True)
        channels.append(channel)
        scores.append(np.linalg.inv(channel) @ weight)  # what a report is worth
    counts = np.einsum("abc,ai,bj,ck->ijk", truth, *channels) * 10**6
    for axis in range(3):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    table._counts = counts
    found = table.combination(weights)
    value = np.einsum("abc,a,b,c->", truth, *weights)
    assert found.values[0] == pytest.approx(value, rel=1e-9)
    seconds = [channel @ score**2 for channel, score in zip(channels, scores, strict=True)]
    held = np.einsum("abc,a,b,c->", truth, *(weight**2 for weight in weights))
    variance = np.einsum("abc,a,b,c->", truth, *seconds) - held
    n = int(counts.flat[-1])
    assert found.noise_variance[0] == pytest.approx(variance / n, rel=1e-9)
    assert found.spread == pytest.approx(held - value**2, rel=1e-9)
    shares = table.estimate()
    assert shares.values.reshape(table.shape) == pytest.approx(truth, abs=1e-12)
    with pytest.raises(ValueError, match="one number for each value"):
        table.combination(weights[:2])


def test_batches_of_larger_tables_add_up(monkeypatch):
    monkeypatch.setattr("shuffledp.collection.cross._ENTRIES", 100)
    mechanism = joint(KRR(2, 2.0), OUE(2.0, domain_size=3), KRR(3, 2.0))
    values = tuple(np.arange(200) % size for size in (2, 3, 3))
    reports = mechanism.randomize(values, np.random.default_rng(1))
    table = CrossTable(mechanism, 0, 1, 2)
    table.add(reports)
    counts = np.zeros((3, 4, 4), dtype=int)
    for report in reports:
        one = report[None]
        marks = [
            np.append([part.supports(one[f"part{i}"], x)[0] for x in range(part.inputs)], True)
            for i, part in enumerate(mechanism.parts)
        ]
        counts += np.einsum("a,b,c->abc", *(mark.astype(int) for mark in marks))
    assert (table._counts == counts).all()
    assert table.n == 200


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    "second",
    [OUE(epsilon0=3.0, domain_size=4), SubsetSelection(3.0, domain_size=4, size=2)],
    ids=str,
)
def test_cross_tables_cover_the_truth(second):
    mechanism = joint(KRR(k=3, epsilon0=2.0), "discrete_laplace(epsilon0=1, bound=2)", second)
    rng = np.random.default_rng(5)
    values = rng.integers(0, 3, 3000), rng.integers(0, 3, 3000), rng.integers(0, 4, 3000)
    truth = np.zeros((3, 4))
    np.add.at(truth, (values[0], values[2]), 1 / 3000)
    scores = []
    for _ in range(60):
        table = CrossTable(mechanism, 0, 2)
        reports = mechanism.randomize(values, rng)
        table.add(reports[:1000])
        table.add(reports[1000:])
        found = table.estimate()
        scores.append((found.values - truth.ravel()) / found.standard_errors)
    assert np.abs(np.mean(scores, axis=0)).max() < 4.5 / math.sqrt(60)
    assert np.std(scores) == pytest.approx(1.0, rel=0.15)


def test_bad_cross_tables():
    mechanism = joint("krr(k=3, epsilon0=1)", "discrete_laplace(epsilon0=1, bound=2)")
    with pytest.raises(TypeError, match="frequencies are estimated, got discrete_laplace"):
        CrossTable(mechanism, 0, 1)
    with pytest.raises(TypeError, match="need joint reports, got krr"):
        CrossTable(KRR(3, 1.0), 0, 1)
    pair = joint("krr(k=3, epsilon0=1)", "krr(k=3, epsilon0=1)")
    for places in ((1, 1), (1,), ()):
        with pytest.raises(ValueError, match="needs two different attributes or more"):
            CrossTable(pair, *places)
    with pytest.raises(ValueError, match="at least one report"):
        CrossTable(pair, 0, 1).estimate()
    table = CrossTable(pair, 0, 1)
    bad = np.zeros(2, dtype=pair.report_dtype)
    bad["part1"] = 7
    with pytest.raises(ValueError, match="reports must be below 3"):
        table.add(bad)
    assert table.n == 0
