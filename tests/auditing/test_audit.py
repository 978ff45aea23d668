"""Audits: true with the confidence they state, sharp enough to find blunders."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from audited import MECHANISMS

from shuffledp import KRR, Audit, DiscreteLaplace, ShuffleAccountant, audit, parse
from shuffledp.basics.errors import NoAnswerError


def run_audit(text: str, n: int, **options) -> Audit:
    return audit(ShuffleAccountant(parse(text), n), rng=np.random.default_rng(3), **options)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("text", MECHANISMS)
@pytest.mark.parametrize("target", [{"target_delta": 1e-3}, {"target_epsilon": 0.3}], ids=str)
def test_audits_agree_and_show_something(text, target):
    found = run_audit(text, 8, trials=4000, **target)
    assert found.agrees
    assert 0 < found.lower_bound <= found.report.lower_bound * (1 + 1e-9)
    assert found.hits[0] > found.hits[1]
    assert found.runs == 2000


@pytest.mark.parametrize("epsilon0", [0.5, 2.0, 4.0])
def test_one_user_shows_nearly_everything(epsilon0):
    found = run_audit(f"krr(k=2, epsilon0={epsilon0})", 1, trials=100_000, target_delta=0.0)
    assert 0.9 * epsilon0 < found.lower_bound <= epsilon0


def test_more_trials_show_more():
    bounds = [
        run_audit("krr(k=10, epsilon0=4)", 30, trials=trials, target_delta=1e-3).lower_bound
        for trials in (300, 3000, 30_000)
    ]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]


def test_bounds_are_true_with_the_confidence_they_state():
    """Of 300 audits at 80% confidence at most 20% are too large; a mean of 60, 3 sigma above."""
    accountant = ShuffleAccountant(KRR(k=2, epsilon0=1.0), n=1)
    rng = np.random.default_rng(5)
    wrong = [
        audit(accountant, target_delta=0.0, trials=100, confidence=0.8, rng=rng).lower_bound > 1
        for _ in range(300)
    ]
    assert 0 < sum(wrong) < 60 + 3 * math.sqrt(300 * 0.2 * 0.8)


@dataclass(frozen=True)
class LeakyKRR(KRR):
    """Accounted as one mechanism, run as another."""

    name: ClassVar[str] = "leaky"

    @property
    def truth_probability(self):
        return KRR(k=self.k, epsilon0=2 * self.epsilon0).truth_probability


@dataclass(frozen=True)
class QuietDiscreteLaplace(DiscreteLaplace):
    """Noise of half the scale."""

    name: ClassVar[str] = "quiet"

    def draw(self, values, bits):
        return values + (super().draw(values, bits) - values) // 2


@pytest.mark.parametrize(
    "randomizer",
    [LeakyKRR(k=10, epsilon0=2.0), QuietDiscreteLaplace(epsilon0=2.0, bound=20)],
    ids=str,
)
@pytest.mark.parametrize("target", [{"target_delta": 1e-3}, {"target_epsilon": 1.5}], ids=str)
def test_a_mechanism_that_is_not_what_it_says(randomizer, target):
    rng = np.random.default_rng(1)
    found = audit(ShuffleAccountant(randomizer, 4), trials=20_000, rng=rng, **target)
    assert not found.agrees


def test_seeds_repeat_and_secure_bits_do_not():
    accountant = ShuffleAccountant(KRR(k=3, epsilon0=2.0), n=20)

    def hits(rng):
        return audit(accountant, target_delta=1e-3, trials=4000, rng=rng).hits

    assert hits(np.random.default_rng(1)) == hits(np.random.default_rng(1))
    assert len({hits(None) for _ in range(4)}) > 1


def test_progress():
    seen = []
    run_audit(
        "krr(k=3, epsilon0=1)",
        30_000,
        trials=7,
        target_delta=1e-3,
        on_done=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(2, 7), (4, 7), (6, 7), (7, 7)]


def test_more_users_than_a_block_of_reports():
    found = run_audit("krr(k=3, epsilon0=6)", 100_000, trials=4, target_epsilon=0.0)
    assert found.runs == 2


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_delta_at_its_ends(delta):
    found = run_audit("krr(k=3, epsilon0=2)", 3, trials=1000, target_delta=delta)
    assert found.agrees
    assert found.lower_bound == 0 if delta == 1 else found.lower_bound > 0


def test_nothing_is_shown_where_nothing_is_revealed():
    text = "matrix([[0.5, 0.5], [0.5, 0.5]])"
    found = run_audit(text, 5, trials=1000, target_epsilon=0.0)
    assert found.lower_bound == 0


def test_infinite_guarantees():
    found = run_audit("matrix([[0.5, 0.5, 0], [0, 0.5, 0.5]])", 5, target_delta=0.0)
    assert found.report.guarantee.upper == math.inf
    assert found.agrees
    assert found.hits[1] == 0  # the event never happens on the second dataset
    assert found.lower_bound > 2


def test_huge_likelihood_ratios():
    found = run_audit("krr(k=3, epsilon0=300)", 2, trials=1000, target_delta=1e-3)
    assert found.agrees
    assert found.lower_bound > 4


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("oue(epsilon0=1)", "give its domain_size to run it"),
        ("any_pure_ldp(epsilon0=1)", "cannot run"),
        ("discrete_laplace(epsilon0=1e-9, bound=100000000)", r"at least 2\*\*-40 to run"),
        ("matrix([[0.5, 0.5]])", "no two datasets are known"),
        ("subsample(rappor(epsilon0=1), rate=0.5)", "give its domain_size to run it"),
    ],
)
def test_mechanisms_that_cannot_be_audited(text, message):
    with pytest.raises(NoAnswerError, match=message):
        run_audit(text, 5, target_delta=1e-3)


def test_too_many_users():
    with pytest.raises(NoAnswerError, match="at most 1,000,000 users, got n = 1,000,001"):
        run_audit("krr(k=3, epsilon0=1)", 10**6 + 1, target_delta=1e-3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "exactly one of target_delta and target_epsilon must be given"),
        ({"target_delta": 0.1, "target_epsilon": 1.0}, ValueError, "exactly one of"),
        ({"target_delta": 1.5}, ValueError, "target_delta must be between 0 and 1, got 1.5"),
        ({"target_delta": math.nan}, ValueError, "target_delta must be finite, got nan"),
        ({"target_epsilon": -1}, ValueError, "target_epsilon must be between 0 and 300, got -1"),
        ({"target_delta": 0.1, "trials": 1}, ValueError, "trials must be an integer of at least 2"),
        ({"target_delta": 0.1, "trials": "9"}, TypeError, "trials must be an integer"),
        ({"target_delta": 0.1, "confidence": 1}, ValueError, "confidence must be strictly between"),
        ({"target_delta": 0.1, "confidence": None}, TypeError, "confidence must be a real number"),
    ],
)
def test_arguments(options, error, message):
    accountant = ShuffleAccountant(KRR(k=3, epsilon0=1.0), n=5)
    with pytest.raises(error, match=message):
        audit(accountant, **options)


def test_not_an_accountant():
    with pytest.raises(TypeError, match="accountant must be a ShuffleAccountant"):
        audit(KRR(k=3, epsilon0=1.0), target_delta=0.1)
