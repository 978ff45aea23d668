"""Sums of bit vectors of which heavy ones are rejected, against every outcome."""

from __future__ import annotations

import itertools
import math

import pytest
from flint import arb, ctx

from shuffledp import ShuffleAccountant
from shuffledp.accounting.messages import MaxWeightSums
from shuffledp.accounting.messages.max_weight import rejection_risk
from shuffledp.basics.errors import NoAnswerError

BITS = 200


def law_of_sum(values, k, flip, most):
    """Probabilities of how many reports are accepted, and of their sum."""
    found = {(0,) * (k + 1): arb(1)}
    for value in values:
        after = {}
        for bits in itertools.product((0, 1), repeat=k):
            p = arb(1)
            for v, bit in enumerate(bits):
                p *= flip if bit != (v == value) else 1 - flip
            kept = (1, *bits) if sum(bits) <= most else (0,) * (k + 1)
            for total, q in found.items():
                key = tuple(a + b for a, b in zip(total, kept, strict=True))
                after[key] = after.get(key, arb(0)) + p * q
        found = after
    return found


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_all_datasets_of_three_users(most, epsilon):
    k, n, level = 3, 3, 5.0
    sums = MaxWeightSums(f"rappor(epsilon0={level}, domain_size={k})", n, max_weight=most)
    with ctx.workprec(BITS):
        flip = 1 / (1 + (arb(level) / 2).exp())
        cost, worst = arb(epsilon).exp(), arb(0)
        for others in itertools.combinations_with_replacement(range(k), n - 1):
            laws = [law_of_sum((own, *others), k, flip, most) for own in range(k)]
            for one, other in itertools.permutations(laws, 2):
                gains = (p - cost * other.get(key, arb(0)) for key, p in one.items())
                delta = sum((gain for gain in gains if gain > 0), arb(0))
                worst = delta if delta > worst else worst
        assert not worst > sums.get_delta(epsilon)
    if most == k:
        assert float(worst) > 0.9 * sums.get_delta(epsilon)


def test_the_risk_is_a_binomial_tail():
    flip = 1 / (1 + math.exp(2))
    tail = sum(math.comb(9, j) * flip**j * (1 - flip) ** (9 - j) for j in range(4, 10))
    risk = rejection_risk("rappor(epsilon0=4, domain_size=10)", 4)
    assert float(risk) == pytest.approx(tail, rel=1e-12)
    assert rejection_risk("rappor(epsilon0=4, domain_size=10)", 10) == 0


def test_what_is_rejected_too_often_has_no_answer():
    with pytest.raises(NoAnswerError, match="max_weight = 3 ones are too common"):
        MaxWeightSums("rappor(epsilon0=14, domain_size=100)", 10**5, max_weight=3).get_epsilon(1e-9)
    with pytest.raises(ValueError, match="with a domain_size"):
        MaxWeightSums("rappor(epsilon0=14)", 10**5, max_weight=3)
    with pytest.raises(ValueError, match="randomizer must be rappor"):
        MaxWeightSums("krr(k=3, epsilon0=1)", 10**5, max_weight=3)


@pytest.mark.parametrize("dummies", [1, 2])
def test_reports_of_a_fixed_input_count_as_users(dummies):
    """Aggregators who stand in for missing clients: n + N is what to ask about."""
    k, n, level, epsilon = 3, 2, 4.0, 0.5
    asked = ShuffleAccountant(f"rappor(epsilon0={level}, domain_size={k})", n + dummies, view="sum")
    with ctx.workprec(BITS):
        flip, cost = 1 / (1 + (arb(level) / 2).exp()), arb(epsilon).exp()
        for other in range(k):
            laws = [law_of_sum((own, other, *[0] * dummies), k, flip, k) for own in range(k)]
            for first, second in itertools.permutations(laws, 2):
                gains = (p - cost * second[key] for key, p in first.items())
                assert not sum((g for g in gains if g > 0), arb(0)) > asked.get_delta(epsilon)
