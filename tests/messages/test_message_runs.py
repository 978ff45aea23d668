"""Protocols with fabricated messages run as they are accounted."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.accounting.messages import FabricatedMessages
from shuffledp.collection.message_protocol import MessageProtocol
from shuffledp.mechanisms.messages.count_noise import as_noise
from shuffledp.mechanisms.messages.fabricated import FixedNumber, PerDevice, PoissonPerValue
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.poisson import Stop, poisson

FABRICATED = [
    FixedNumber(300),
    FixedNumber(300, [1, 2, 5]),
    PerDevice(0.4),
    PerDevice(0.4, [1, 2, 5]),
    PoissonPerValue(0.3),
    PoissonPerValue(0.3, [1, 2, 5]),
]


def fits(found, probabilities):
    """Whether counts are about as probable as they should be: chi squared within six deviations."""
    expected = found.sum() * np.asarray(probabilities)
    kept = expected > 5
    chi = float((((found - expected) ** 2)[kept] / expected[kept]).sum())
    return abs(chi - kept.sum()) < 6 * math.sqrt(2 * kept.sum()) + 6


@pytest.mark.parametrize("mean", [0.05, 0.7, 1.0, 3.3])
def test_poisson_numbers(mean):
    found = np.bincount(poisson(Bits(np.random.default_rng(5)), Fraction(mean), 40_000))
    law = [math.exp(-mean) * mean**j / math.factorial(j) for j in range(found.size)]
    assert fits(found, law)


def test_digits_of_a_stop():
    for k in range(6):
        mean = Fraction(2, 3)
        tail = sum(float(mean) ** j * math.factorial(k) / math.factorial(k + j) for j in range(40))
        assert Stop(mean, k).scaled(40) / 2**40 == pytest.approx(1 / tail, abs=1e-11)


def test_no_mean_is_no_message():
    assert not poisson(Bits(None), Fraction(0), 10).any()


@pytest.mark.parametrize(
    "text",
    ["coins(70)", "coins(64)", "poisson(2.5)", "discrete_laplace(0.8)", "discrete_gaussian(2.5)"],
)
def test_noise_in_counts(text):
    noise = as_noise(text)
    found = noise.draw(20_000, Bits(np.random.default_rng(3)))
    table = noise.table
    masses = [table.doubles[x - table.start] for x in range(found.min(), found.max() + 1)]
    assert fits(np.bincount(found - found.min()), masses)
    assert found.mean() == pytest.approx(noise.mean, abs=5 * math.sqrt(noise.variance / 20_000))
    assert found.var() == pytest.approx(noise.variance, rel=0.06)
    assert float(sum(table.masses)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("reports", ["identity(k=3)", "krr(k=3, epsilon0=2)"])
@pytest.mark.parametrize("fabricated", FABRICATED, ids=repr)
def test_estimates_are_unbiased_and_their_errors_right(reports, fabricated):
    protocol = MessageProtocol(reports, fabricated)
    rng, values = np.random.default_rng(11), np.repeat([0, 2], [300, 100])
    found, errors = [], []
    for _ in range(200):
        estimate = protocol.estimate(protocol.run(values, rng), n=400)
        found.append(estimate.values)
        errors.append(estimate.standard_errors)
    spread = np.std(found, axis=0)
    assert (abs(np.mean(found, axis=0) - [0.75, 0, 0.25]) < 4.5 * spread / np.sqrt(200)).all()
    assert (abs(np.mean(errors, axis=0) / spread - 1) < 0.25).all()


def test_several_values_of_a_user():
    protocol = MessageProtocol("krr(k=4, epsilon0=3)", PoissonPerValue(0.2), values=2)
    rng = np.random.default_rng(2)
    messages = protocol.run([0, 1] * 3000 + [1, 3] * 1000, rng)
    estimate = protocol.estimate(messages, n=4000)
    truth = np.array([0.75, 1.0, 0.0, 0.25])
    assert (abs(estimate.values - truth) < 5 * estimate.standard_errors).all()
    with pytest.raises(ValueError, match="values must be 2 of every user, got 3"):
        protocol.run([0, 1, 2], rng)


@pytest.mark.heavy
def test_monte_carlo_of_a_poisson_protocol():
    """The best test of the two datasets attains delta, up to chance."""
    n, rate, runs, epsilon = 5, 1.2, 6_000, 0.5
    setting = FabricatedMessages("identity(k=2)", n, PoissonPerValue(rate))
    protocol = MessageProtocol("identity(k=2)", PoissonPerValue(rate))
    rng, rest = np.random.default_rng(17), [0, 1, 1, 1]
    accepted = []
    for own in (0, 1):
        counts = np.array(
            [np.bincount(protocol.run([own, *rest], rng), minlength=2) for _ in range(runs)]
        )
        zeros, ones = counts[:, 0] - 1, counts[:, 1] - 3  # less what the others send
        accepted.append((zeros > math.exp(epsilon) * ones).mean())
    found = accepted[0] - math.exp(epsilon) * accepted[1]
    chance = 4 * math.sqrt(0.25 / runs) * (1 + math.exp(epsilon))
    assert abs(found - setting.get_delta(epsilon)) < chance
    assert setting.delta_interval(epsilon).width < 1e-9
