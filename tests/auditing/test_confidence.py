"""Confidence limits of probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from shuffledp.deployment.audit.audit import lower_limit, upper_limit

#: Limits are moved outwards by 1e-9; moved back by more than that they are too narrow.
NEAR = 1 + 3e-9

RISKS = st.floats(1e-6, 0.4)


@st.composite
def counts(draw):
    runs = draw(st.integers(1, 100_000))
    return draw(st.integers(0, runs)), runs


@given(counts(), RISKS)
def test_limits_have_the_risk_they_say(count, risk):
    hits, runs = count
    lower, upper = float(lower_limit(hits, runs, risk)), float(upper_limit(hits, runs, risk))
    assert 0 <= lower < upper <= 1
    assert (lower == 0) == (hits == 0)
    assert (upper == 1) == (hits == runs)
    if hits > 0:
        assert binom.sf(hits - 1, runs, lower) <= risk < binom.sf(hits - 1, runs, lower * NEAR)
    if hits < runs:
        assert binom.cdf(hits, runs, upper) <= risk < binom.cdf(hits, runs, upper / NEAR)


@given(counts(), st.floats(0.5, 0.9999))
def test_both_limits_together_are_those_of_scipy(count, confidence):
    hits, runs = count
    ends = binomtest(hits, runs).proportion_ci(confidence, method="exact")
    risk = (1 - confidence) / 2
    assert float(lower_limit(hits, runs, risk)) == pytest.approx(ends.low, rel=1e-6)
    assert float(upper_limit(hits, runs, risk)) == pytest.approx(ends.high, rel=1e-6)


def test_several_counts_at_once():
    hits = np.array([0, 3, 10])
    for limit in (lower_limit, upper_limit):
        alone = [float(limit(int(h), 10, 0.01)) for h in hits]
        assert limit(hits, 10, 0.01).tolist() == alone
