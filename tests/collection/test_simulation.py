"""Shuffling, and simulations of whole collections."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from shuffledp import KRR, OUE, BinaryLocalHash, joint, shuffle, simulate
from shuffledp.collection import Simulation

#: Frequencies that fall like rank^-0.7: the inputs of the paper's experiment.
ZIPF = np.arange(1, 11) ** -0.7 / (np.arange(1, 11) ** -0.7).sum()

#: (epsilon0, l2 error) in the paper's table of frequency estimation with 10-RR and 1000 users.
PAPER = [
    (0.210, 1.285),
    (0.730, 0.295),
    (1.150, 0.163),
    (1.700, 0.089),
    (2.650, 0.042),
    (3.510, 0.025),
    (0.170, 1.598),
    (0.620, 0.366),
    (1.000, 0.199),
    (1.510, 0.108),
    (2.370, 0.051),
    (3.060, 0.033),
]


@pytest.mark.heavy
def test_every_order_is_as_likely():
    rng = np.random.default_rng(1)
    counts = Counter(tuple(shuffle(np.arange(4), rng).tolist()) for _ in range(24_000))
    assert len(counts) == 24
    statistic = sum((counts[order] - 1000) ** 2 / 1000 for order in permutations(range(4)))
    assert statistic < 70  # 23 degrees of freedom


def test_shuffling_keeps_the_reports():
    reports = OUE(epsilon0=1.0, domain_size=20).randomize(np.arange(1000) % 20)
    for rng in (None, np.random.default_rng(1)):
        mixed = shuffle(reports, rng)
        assert mixed.dtype == reports.dtype
        assert mixed.tobytes() != reports.tobytes()
        assert Counter(mixed.tolist()) == Counter(reports.tolist())


def test_equal_keys_are_drawn_again(monkeypatch):
    from shuffledp.mechanisms.sampling import Bits

    keys = [np.array([5, 5, 1], dtype=np.uint64), np.array([2, 3, 1], dtype=np.uint64)]
    monkeypatch.setattr(Bits, "words", lambda self, size: keys.pop(0))
    assert shuffle(np.array([10, 20, 30])).tolist() == [30, 10, 20]


def test_simulation():
    values = np.arange(500) % 4
    calls = []
    randomizer = KRR(k=4, epsilon0=2.0)
    results = [
        simulate(
            randomizer,
            values,
            repetitions=40,
            rng=np.random.default_rng(3),
            on_done=lambda done, total: calls.append((done, total)),
        )
        for _ in range(2)
    ]
    assert results[0].errors.tolist() == results[1].errors.tolist()
    assert calls[:40] == [(i, 40) for i in range(1, 41)]
    assert results[0].n == 500
    assert results[0].repetitions == 40
    assert results[0].mean_error == pytest.approx(results[0].errors.mean())
    assert 0.8 < results[0].coverage <= 1


def test_secure_simulation():
    simulation = simulate(BinaryLocalHash(epsilon0=2.0, domain_size=6), np.arange(300) % 6)
    assert simulation.repetitions == 1
    assert simulation.standard_error == math.inf
    assert simulation.mean_error > 0


def test_standard_error():
    simulation = Simulation(np.array([1.0, 3.0]), np.array([0.5, 1.0]), 10)
    assert (simulation.mean_error, simulation.standard_error, simulation.coverage) == (2, 1, 0.75)


def test_bad_arguments():
    with pytest.raises(ValueError, match="repetitions must be an integer of at least 1, got 0"):
        simulate(KRR(k=4, epsilon0=2.0), [0], repetitions=0)
    with pytest.raises(ValueError, match="got 4 at position 1"):
        simulate(KRR(k=4, epsilon0=2.0), [0, 4])
    with pytest.raises(TypeError, match="rng must be"):
        simulate(KRR(k=4, epsilon0=2.0), [0], rng=3)
    with pytest.raises(ValueError, match="give its domain_size to run it"):
        simulate(BinaryLocalHash(epsilon0=1.0), [0])
    with pytest.raises(TypeError, match="one per attribute"):
        simulate(joint(KRR(k=4, epsilon0=2.0)), 7)


def expected_error(epsilon0: float, frequencies: np.ndarray, n: int) -> float:
    """The mean l2 error to first order in 1/k: root mean square, less what the norm loses."""
    p, q = KRR(k=10, epsilon0=epsilon0).support_probabilities
    variance = (frequencies * p * (1 - p) + (1 - frequencies) * q * (1 - q)) / n / (p - q) ** 2
    return math.sqrt(variance.sum())


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(("epsilon0", "error"), PAPER[:3])
def test_the_experiment_of_the_paper(epsilon0, error):
    assert_like_the_paper(epsilon0, error, repetitions=300, tolerance=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon0", "error"), PAPER)
def test_the_whole_experiment_of_the_paper(epsilon0, error):
    assert_like_the_paper(epsilon0, error, repetitions=4000, tolerance=0.04)


def assert_like_the_paper(epsilon0, error, *, repetitions, tolerance):
    """The mean l2 distance to the frequencies among the users, who are drawn once."""
    rng = np.random.default_rng(1)
    values = rng.choice(10, 1000, p=ZIPF)
    simulation = simulate(KRR(k=10, epsilon0=epsilon0), values, repetitions=repetitions, rng=rng)
    assert simulation.mean_error == pytest.approx(error, rel=tolerance)
    root_mean_square = math.sqrt(float((simulation.errors**2).mean()))
    expected = expected_error(epsilon0, np.bincount(values, minlength=10) / 1000, 1000)
    assert root_mean_square == pytest.approx(expected, rel=5 / math.sqrt(18 * repetitions))
    assert 0.93 < simulation.coverage < 0.97
