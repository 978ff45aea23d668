"""Runs on two datasets, and the likelihood ratios of what they show."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from audited import MECHANISMS
from hypothesis import given
from hypothesis import strategies as st
from oracles import histogram_law
from strategies import randomizers

from shuffledp import MatrixRandomizer, ShuffleAccountant, parse
from shuffledp.accounting import Datasets
from shuffledp.deployment.audit.runs import log_likelihood_ratio, run
from shuffledp.mechanisms import Pair
from shuffledp.mechanisms.sampling import Bits


@given(randomizers(inputs=3, positive=False), st.integers(1, 3))
def test_the_ratio_of_histograms(rows, n):
    """It is the ratio of the exact probabilities of the multiset under the two datasets."""
    randomizer = MatrixRandomizer([[float(p) for p in row] for row in rows])
    datasets = Datasets(Pair(0, 1), 2)
    laws = [histogram_law([rows[x], *[rows[2]] * (n - 1)]) for x in (0, 1)]
    for outputs in product(range(len(rows[0])), repeat=n):
        key = frozenset((y, outputs.count(y)) for y in set(outputs))
        p, q = (law.get(key, Fraction(0)) for law in laws)
        if p == q == 0:
            continue
        reports = np.array(outputs, dtype=randomizer.report_dtype)
        (found,) = log_likelihood_ratio(randomizer, reports, datasets, n)
        if q == 0:
            assert found == math.inf
        elif p == 0:
            assert found == -math.inf
        else:
            assert found == pytest.approx(math.log(p / q), abs=1e-12)


def sample(text: str, n: int, runs: int, seed: int):
    """The certified delta at an epsilon, and ratios of runs on the datasets that attain it."""
    randomizer, epsilon = parse(text), 0.4
    report = ShuffleAccountant(randomizer, n).delta_report(epsilon)
    bits = Bits(np.random.default_rng(seed))
    batches = list(run(randomizer, report.datasets, n, runs, bits))
    first, second = (np.concatenate(side) for side in zip(*batches, strict=True))
    return report.lower_bound, first, second


def assert_mean(values: np.ndarray, mean: float) -> None:
    error = values.std() / math.sqrt(values.size)
    assert abs(values.mean() - mean) < 4.5 * error + 1e-12


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("text", MECHANISMS)
def test_runs_have_the_certified_divergence(text):
    """The mean of (1 - e^(epsilon - T))_+ is the hockey-stick divergence of the datasets.

    The engine computes it from decompositions, the runs from samplers and likelihoods.
    """
    runs = 20_000
    delta, first, second = sample(text, 12, runs, seed=7)
    assert first.size == second.size == runs
    assert_mean(np.maximum(1 - np.exp(0.4 - first), 0), delta)
    if np.isfinite(first).all():
        assert_mean(np.maximum(np.exp(second) - math.exp(0.4), 0), delta)


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize("text", MECHANISMS)
def test_ratios_are_those_of_probabilities(text):
    """Each law has total mass 1 under the other one, where that can produce all it produces."""
    _, first, second = sample(text, 6, 20_000, seed=8)
    if np.isfinite(first).all() and np.isfinite(second).all():
        assert_mean(np.exp(-first), 1.0)
        assert_mean(np.exp(second), 1.0)


def test_the_place_of_the_user_is_uniform(monkeypatch):
    """All places are as likely, else the runs would not be those of a shuffled mechanism."""
    seen = []
    randomizer = parse("krr(k=3, epsilon0=1)")
    draw = type(randomizer).draw
    monkeypatch.setattr(
        type(randomizer),
        "draw",
        lambda self, values, bits: seen.append(values) or draw(self, values, bits),
    )
    bits = Bits(np.random.default_rng(1))
    for _ in run(randomizer, Datasets(Pair(0, 1), 2), 4, 4000, bits):
        pass
    for own in (0, 1):
        rows = np.concatenate([v.reshape(-1, 4) for v in seen if own in v])
        assert ((rows == own).sum(axis=1) == 1).all()
        assert ((rows == 2).sum(axis=1) == 3).all()
        assert np.abs((rows == own).sum(axis=0) - 1000).max() < 4.5 * math.sqrt(4000 * 3 / 16)


def test_equal_multisets_have_equal_ratios():
    """In whatever order they were added: an event "at least t" does not hang on the last bit."""
    _, first, second = sample("krr(k=4, epsilon0=3)", 60, 500, seed=3)
    ratios = np.unique(np.concatenate([first, second]))
    assert ratios.size > 20
    assert np.diff(ratios).min() > 1e-9
