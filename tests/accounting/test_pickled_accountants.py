"""Accountants travel to other processes, asked or not."""

from __future__ import annotations

import copy
import pickle

import pytest

from shuffledp import ShuffleAccountant


@pytest.mark.parametrize(
    "text", ["gaussian(sigma=5)", "laplace(epsilon0=1)", "krr(k=3, epsilon0=1)"]
)
def test_accountants_that_were_asked_are_pickled(text):
    accountant = ShuffleAccountant(text, 100)
    asked = accountant.get_epsilon(1e-3)
    for copied in (pickle.loads(pickle.dumps(accountant)), copy.deepcopy(accountant)):  # noqa: S301
        assert repr(copied) == repr(accountant)
        assert copied.get_epsilon(1e-3) == asked
