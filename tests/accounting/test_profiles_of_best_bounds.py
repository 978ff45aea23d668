"""Profiles of best bounds: those of single questions."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import ShuffleAccountant

MECHANISMS = [
    "krr(k=10, epsilon0=2)",
    "blh(epsilon0=1)",
    "krr(k=2, epsilon0=1)",
    "joint(krr(k=10, epsilon0=1), oue(epsilon0=1))",
]


@pytest.mark.parametrize("text", MECHANISMS)
def test_profiles_are_those_of_single_questions(text: str) -> None:
    accountant = ShuffleAccountant(text, 3000)
    epsilons = np.linspace(0.0, accountant.get_epsilon(1e-10), 12)
    profile = accountant.profile(epsilons)
    for epsilon, lower, upper in zip(
        epsilons.tolist(), profile.lower.tolist(), profile.upper.tolist(), strict=True
    ):
        single = ShuffleAccountant(text, 3000).delta_interval(epsilon)
        assert max(lower, single.lower) <= min(upper, single.upper)
        assert upper == pytest.approx(single.upper, rel=1e-4)


def test_a_profile_leaves_nothing_behind() -> None:
    """Single answers are functions of the question alone, whatever was asked together before."""
    text, epsilons = "krr(k=10, epsilon0=2)", [0.02, 0.04, 0.06]
    asked = ShuffleAccountant(text, 5000)
    asked.profile(epsilons)
    fresh = ShuffleAccountant(text, 5000)
    assert [asked.get_delta(e) for e in epsilons] == [fresh.get_delta(e) for e in epsilons]
