"""The search for the largest safe epsilon0: gaps propose, proofs decide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import ShuffleAccountant
from shuffledp.accounting.calibration.level import Trial, largest_level, settle_level
from shuffledp.basics.interval import exp_up, log_gap
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.swap.curve import Swapped

LIMITS = st.floats(1e-8, 290.0)
#: From gaps that are right to gaps that are nonsense.
GAPS = {
    "exact": lambda level, limit: 40 * math.log(level / limit),
    "kinked": lambda level, limit: math.log(level / limit) * (100 if level < limit else 0.01),
    "signs": lambda level, limit: math.copysign(1.0, level - limit),
    "unknown": lambda level, limit: math.inf if level > limit else -math.inf,
    "wrong sign": lambda level, limit: limit - level,
    "nan": lambda level, limit: math.nan,
}


class Counted:
    def __init__(self, limit, gap):
        self.limit, self.gap, self.tried = limit, gap, []

    def __call__(self, level):
        self.tried.append(level)
        return Trial("proof" if level <= self.limit else None, self.gap(level, self.limit))


@given(LIMITS, st.floats(1e-9, 300.0), st.sampled_from(sorted(GAPS)))
def test_whatever_the_gap_says_the_answer_is_safe_and_nearly_largest(limit, start, gap):
    attempt = Counted(limit, GAPS[gap])
    level, why = largest_level(attempt, start)
    assert why == "proof"
    assert level <= limit
    assert limit <= level * (1 + 1.01e-5) or start > limit > 290
    assert len(attempt.tried) <= 60 + math.log2(limit / 1e-9)


@given(LIMITS)
def test_good_gaps_save_attempts(limit):
    good, none = Counted(limit, GAPS["exact"]), Counted(limit, GAPS["unknown"])
    start = limit / 3
    largest_level(good, start)
    largest_level(none, start)
    assert len(good.tried) <= 9
    assert len(none.tried) >= 17


def test_levels_are_short_numbers():
    level, _ = largest_level(Counted(math.pi, GAPS["exact"]), 1.0)
    assert level == float(f"{level:.7g}")
    lower, _ = settle_level(Counted(9.0, GAPS["exact"]), lambda e: max(0.0, 1 - 3 / e), (level, ""))
    assert lower == float(f"{lower:.7g}")
    assert lower <= 3


@given(st.floats(-800.0, 0.0), st.floats(0.0, 1.0))
def test_a_gap_is_at_most_0_exactly_where_delta_is(log_delta, delta):
    assert (log_gap(log_delta, delta) <= 0) == (exp_up(log_delta) <= delta)


def test_a_gap_of_nothing_and_of_what_is_not_a_number():
    assert log_gap(-math.inf, 0.0) == -math.inf
    assert log_gap(math.inf, 0.5) == math.inf
    assert not log_gap(math.nan, 0.5) <= 0


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("bound", ["best", "blanket"])
@pytest.mark.parametrize(
    "text", ["krr(k=4, epsilon0=2)", "olh(epsilon0=3)", "laplace(epsilon0=1)", "rappor(epsilon0=2)"]
)
def test_a_gap_never_claims_what_delta_does_not(text, bound):
    accountant = ShuffleAccountant(text, 500, bound=bound)
    epsilon = accountant.get_epsilon(1e-6)
    for factor in np.linspace(0.9, 1.1, 9):
        gap = accountant.gap(epsilon * factor, 1e-6)
        if gap <= 0:
            assert accountant.get_delta(epsilon * factor) <= 1e-6
        elif abs(factor - 1) > 1e-3:
            assert factor < 1
    assert accountant.gap(epsilon, 1e-6) <= 0


def test_the_worst_background_is_seen_before_anything_is_evaluated(monkeypatch):
    # The background of a hashed value that shows the most is not the first one.
    accountant = ShuffleAccountant("olh(epsilon0=8)", 10_000)
    monkeypatch.setattr(Decomposed, "above", None)
    monkeypatch.setattr(Swapped, "above", None)
    assert 5 < accountant.gap(1.0, 1e-6) < 12
