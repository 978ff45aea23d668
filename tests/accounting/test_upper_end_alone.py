"""Guarantees that the blanket alone proves: what datasets attain is not looked at."""

from __future__ import annotations

import pytest

from shuffledp import ShuffleAccountant
from shuffledp.accounting import choice

NO_SWAP = "joint(discrete_laplace(epsilon0=1, bound=3), krr(k=3, epsilon0=0.5))"


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (NO_SWAP, {}),
        (NO_SWAP, {"corrupted": 5}),
        ("gaussian(sigma=2)", {}),
        ("krr(k=3, epsilon0=1)", {"bound": "blanket"}),
        ("krr(k=3, epsilon0=1)", {}),
        ("laplace(epsilon0=1)", {"view": "sum"}),
        ("olh(epsilon0=1)", {"view": "sum"}),
    ],
)
def test_it_is_the_upper_end_of_the_interval(mechanism, options):
    asked, other = (ShuffleAccountant(mechanism, 100, **options) for _ in range(2))
    epsilon = asked.get_epsilon(1e-6)
    assert epsilon == other.epsilon_interval(1e-6).upper
    assert asked.get_delta(epsilon) == other.delta_interval(epsilon).upper <= 1e-6


def test_datasets_are_not_looked_at(monkeypatch):
    class Refusing(type(choice.UNKNOWN)):
        def below(self, epsilon: float) -> None:
            raise AssertionError("datasets are not needed")

    accountant = ShuffleAccountant(NO_SWAP, 100)
    monkeypatch.setattr(choice, "_attack", lambda *_: Refusing())
    assert accountant.get_delta(accountant.get_epsilon(1e-6)) <= 1e-6
    with pytest.raises(AssertionError, match="not needed"):
        accountant.epsilon_interval(1e-6)


def test_reports_of_one_user_have_nobody_to_swap_with():
    accountant = ShuffleAccountant("krr(k=3, epsilon0=1)", 1)
    assert accountant.get_epsilon(1e-6) == accountant.epsilon_interval(1e-6).upper
