"""How many runs show something."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import audit
from shuffledp.deployment.audit.audit import lower_limit, upper_limit
from shuffledp.deployment.audit.runs import MAX_TRIALS, enough_trials

RISK = 0.0005


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("gap", [0.3, 0.03, 0.003])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_unlucky_counts_show_the_gap(epsilon, gap, share):
    """Even with counts so unlucky that worse ones have probability ``RISK``."""
    p = gap + share * (1 - gap)
    q = (p - gap) / math.exp(epsilon)
    runs = enough_trials(gap, epsilon, RISK) // 2
    seldom, often = int(binom.ppf(RISK, runs, p)), int(binom.isf(RISK, runs, q))
    assert lower_limit(seldom, runs, RISK) > math.exp(epsilon) * upper_limit(often, runs, RISK)


@pytest.mark.parametrize("gap", [0.3, 0.03])
def test_a_hundredth_of_the_runs_is_not_enough(gap):
    runs = enough_trials(gap, 0.0, RISK) // 200
    p, q = (1 + gap) / 2, (1 - gap) / 2
    assert lower_limit(int(p * runs), runs, RISK) < upper_limit(int(q * runs), runs, RISK)


@pytest.mark.parametrize(
    ("gap", "epsilon"), [(0.0, 0.0), (-0.1, 1.0), (1e-6, 0.0), (0.5, 300.0), (5e-324, 300.0)]
)
def test_no_number_of_runs_is_enough(gap, epsilon):
    assert enough_trials(gap, epsilon, RISK) is None


def test_the_largest_number_can_be_run():
    gaps = np.geomspace(1e-3, 1e-5, 1000)
    sizes = [enough_trials(gap, 0.0, RISK) for gap in gaps]
    known = [size for size in sizes if size is not None]
    assert None in sizes
    assert 0.9 * MAX_TRIALS < max(known) <= MAX_TRIALS
    assert all(size % 2 == 0 for size in known)


@pytest.mark.parametrize("target", [{"target_delta": 0.01}, {"target_epsilon": 0.2}], ids=str)
def test_an_audit_of_this_size_shows_something(target):
    question = ("krr(k=4, epsilon0=2)", 6)
    few = audit(*question, trials=10, rng=np.random.default_rng(1), **target)
    assert few.lower_bound == 0
    enough = audit(*question, trials=few.enough_trials, rng=np.random.default_rng(1), **target)
    assert enough.lower_bound > 0
