"""Small protocols by definition: lower bound <= truth <= guarantee, over all datasets."""

from __future__ import annotations

import random
from fractions import Fraction

import exact_histograms as exact
import pytest
from flint import ctx

from shuffledp.accounting.messages import FabricatedMessages, NoisyCounts
from shuffledp.mechanisms.messages.count_noise import Coins
from shuffledp.mechanisms.messages.fabricated import FixedNumber, PerDevice, PoissonPerValue

SEEDS = range(500)


def law_of(fabricated, honest, k):
    """The law of fabricated histograms, by definition."""
    weights = fabricated.law or (1.0,) * k
    whole = sum(Fraction(w) for w in weights)
    law = [Fraction(w) / whole for w in weights]
    match fabricated:
        case FixedNumber(number):
            return exact.fixed(number, law)
        case PerDevice(probability):
            return exact.per_device(honest, Fraction(probability), law)
        case PoissonPerValue(mean):
            rates = [Fraction(mean) * share * k * honest for share in law]
            return exact.independent([exact.poisson(rate, 45) for rate in rates])


def some_setting(rng):
    """A small random protocol."""
    k, n = rng.choice([2, 2, 3]), rng.randint(1, 5)
    corrupted = rng.randint(0, n - 1) if rng.random() < 0.3 else 0
    noisy = rng.random() < 0.3
    law = None
    if not noisy and rng.random() < 0.4:
        law = [rng.choice([0.25, 0.5, 1.0, 1.5, 3.0]) for _ in range(k)]
    kind = rng.choice(["fixed", "fixed", "per device", "per device", "poisson"])
    if kind == "fixed":
        fabricated = FixedNumber(rng.randint(0, 6), law)
    elif kind == "per device":
        fabricated = PerDevice(rng.choice([0.25, 0.5, 0.9, 1.0]), law)
    else:
        k, n, corrupted = 2, min(n, 2), 0
        law = None if law is None else law[:2]
        fabricated = PoissonPerValue(rng.choice([0.125, 0.5, 1.5]), law)
    sends = 2 if k == 3 and n < 4 and rng.random() < 0.3 else 1
    return FabricatedMessages(
        f"krr(k={k}, epsilon0={rng.choice([0.5, 1.0, 3.0])})" if noisy else f"identity(k={k})",
        n,
        fabricated,
        corrupted=corrupted,
        relation=rng.choice(["replace", "replace", "add or remove"]),
        values=sends,
    )


def check(setting, truth, epsilon):
    lower, upper = setting.delta_lower_bound(epsilon), setting.get_delta(epsilon)
    with ctx.workprec(exact.BITS):
        assert not truth > upper, (setting, epsilon, upper, truth)
        assert not truth + 1e-60 < lower, (setting, epsilon, lower, truth)
    return lower, upper


@pytest.mark.heavy(keep=25)
@pytest.mark.parametrize("seed", SEEDS)
def test_all_datasets_of_small_protocols(seed):
    rng = random.Random(seed)
    setting = some_setting(rng)
    level = None if setting.is_clear else setting.reports.epsilon0
    honest = setting.crowd.honest
    fabricated = law_of(setting.fabricated, honest, setting.k)
    epsilon = rng.choice([0.0, 0.1, 0.5, 1.0, 2.0])
    truth = exact.largest(
        fabricated,
        honest,
        setting.k,
        epsilon,
        level=level,
        sends=setting.values,
        adds=setting.relation == "add or remove",
    )
    lower, upper = check(setting, truth, epsilon)
    if setting.is_clear and setting.values == 1:
        assert upper - lower <= 2e-4 * upper + 1e-12, (setting, epsilon)


@pytest.mark.heavy(keep=8)
@pytest.mark.parametrize("seed", range(60))
def test_all_counts_with_coins(seed):
    rng = random.Random(seed)
    number, k = rng.randint(1, 6), rng.choice([2, 3])
    adds, sends = rng.random() < 0.4, 1
    epsilon = rng.choice([0.0, 0.2, 1.0])
    copies = rng.randint(1, 3)
    setting = NoisyCounts(
        Coins(number),
        added_by="clients",
        trust=rng.choice(["OAMC", "OAOC"]),
        n=copies,
        relation="add or remove" if adds else "replace",
    )
    heads = exact.coins(number * setting.contributors)
    noise = exact.independent([heads] * k)
    truth = exact.largest(noise, 2, k, epsilon, level=None, sends=sends, adds=adds)
    lower, upper = check(setting, truth, epsilon)
    assert upper - lower <= 1e-12


def test_the_judge_notices_a_guarantee_that_is_too_small():
    setting = FabricatedMessages("identity(k=2)", 3, FixedNumber(4))
    fewer = exact.largest(
        exact.fixed(3, [Fraction(1, 2)] * 2), 3, 2, 0.5, level=None, sends=1, adds=False
    )
    with pytest.raises(AssertionError):
        check(setting, fewer, 0.5)


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.5])
def test_two_values_of_a_user_in_counts_with_coins(number, adds, epsilon):
    """The worst change moves both values, and losses of different counts add up."""
    relation = "add or remove" if adds else "replace"
    setting = NoisyCounts(Coins(number), relation=relation, values=2)
    noise = exact.independent([exact.coins(number)] * 4)
    truth = exact.largest(noise, 1, 4, epsilon, level=None, sends=2, adds=adds)
    lower, upper = check(setting, truth, epsilon)
    assert upper - lower <= 5e-3 * upper
