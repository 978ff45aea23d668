"""The predicted error of shares, against every report written out and against closed forms."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_laws import MECHANISMS, SIZE, law

from shuffledp import KRR, OUE, Laplace, LocalHash, SubsetSelection
from shuffledp.planning.frequency_task import Frequency

SHARES = [(0.25, 0.25, 0.25, 0.25), (1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.3, 0.4)]
NAMES = [mechanism.name for mechanism in MECHANISMS]


def variances(mechanism, shares, n):
    """Variances of all estimates: those of one user's contribution, added up over the users."""
    chance = np.array(
        [[sum(p for p, s in law(mechanism, x) if v in s) for v in range(SIZE)] for x in range(SIZE)]
    )
    own, other = chance[0, 0], chance[0, 1]
    per_user = np.array(shares) @ (chance * (1 - chance))
    return per_user / n / (own - other) ** 2


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
@pytest.mark.parametrize("shares", SHARES, ids=["even", "one", "mixed"])
def test_every_report_written_out(mechanism, shares):
    task = Frequency(n=50, domain_size=SIZE, distribution=shares)
    wanted = variances(mechanism, shares, 50)
    predicted = task.expected(mechanism)
    assert predicted.squared_error == pytest.approx(wanted.sum(), rel=1e-12)
    assert predicted.rms_error == pytest.approx(math.sqrt(wanted.mean()), rel=1e-12)
    assert predicted.max_error == pytest.approx(math.sqrt(wanted.max()), rel=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_worst_case_is_that_of_some_data_and_above_all_others(mechanism):
    worst = Frequency(n=50, domain_size=SIZE).worst_case(mechanism)
    assert Frequency(n=50, domain_size=SIZE).expected(mechanism) is None
    found = [Frequency(50, SIZE, shares).expected(mechanism) for shares in SHARES]
    assert max(p.max_error for p in found) == pytest.approx(worst.max_error, rel=1e-12)
    for prediction in found:
        assert prediction.squared_error == worst.squared_error
        assert prediction.max_error <= worst.max_error


@given(
    st.floats(1e-6, 20),
    st.floats(1.0001, 3),
    st.integers(2, 10**6),
    st.sampled_from(["krr", "blh", "olh", "rappor", "oue", "hadamard", "subset"]),
    st.integers(0, 10),
)
def test_error_falls_with_epsilon0(epsilon0, factor, size, name, choice):
    task = Frequency(n=100, domain_size=size)
    families = task.mechanisms()[name]
    if not families:
        return
    family = families[choice % len(families)]
    assert task.error(family(epsilon0)) >= task.error(family(min(epsilon0 * factor, 300.0)))


@pytest.mark.parametrize("epsilon0", [1e-9, 1e-3, 3.0, 300.0])
def test_no_cancellation(epsilon0):
    k, n = 7, 11
    with mp.workdps(400):
        E = mp.exp(mp.mpf(epsilon0))
        own, other = E / (E + k - 1), 1 / (E + k - 1)
        total = (own * (1 - own) + (k - 1) * other * (1 - other)) / (n * (own - other) ** 2)
    predicted = Frequency(n=n, domain_size=k).worst_case(KRR(k=k, epsilon0=epsilon0))
    assert predicted.squared_error == pytest.approx(float(total), rel=1e-13)


def test_squared_error_falls_with_the_number_of_users():
    few, many = (Frequency(n=n, domain_size=9).worst_case(OUE(2.0, 9)) for n in (100, 10_000))
    assert few.squared_error == pytest.approx(100 * many.squared_error, rel=1e-14)
    assert few.max_error == pytest.approx(10 * many.max_error, rel=1e-14)


def test_choices():
    names = {name: len(choices) for name, choices in Frequency(100, 1000).mechanisms().items()}
    assert list(names) == ["krr", "blh", "olh", "rappor", "oue", "hadamard", "subset"]
    assert max(names.values()) <= 130
    buckets = [f(1.0).buckets for f in Frequency(100, 1000).mechanisms()["olh"]]
    assert buckets[0] == 3
    assert buckets[-1] == 2**32
    assert all(a < b <= max(a + 1, 1.2 * a + 1) for a, b in pairwise(buckets))
    sizes = [f(1.0).size for f in Frequency(100, 1000).mechanisms()["subset"]]
    assert (sizes[0], sizes[-1]) == (2, 500)
    assert Frequency(100, 10**6).mechanisms()["subset"][-1](1.0).size == 1024


@pytest.mark.parametrize("size", [2, 3])
def test_subsets_of_few_values_are_krr(size):
    assert Frequency(100, size).mechanisms()["subset"] == []
    one = SubsetSelection(epsilon0=1.0, domain_size=size, size=1)
    task = Frequency(100, size)
    assert task.error(one) == pytest.approx(task.error(KRR(size, 1.0)), rel=1e-14)


def test_two_buckets_are_blh():
    task = Frequency(100, 50)
    (blh,) = task.mechanisms()["blh"]
    assert task.error(blh(1.0)) == task.error(LocalHash(1.0, buckets=2, domain_size=50))


def test_bad_arguments():
    with pytest.raises(TypeError, match="randomizer must be a support mechanism"):
        Frequency(100, 5).worst_case(Laplace(1.0))
    with pytest.raises(TypeError, match="domain_size must be"):
        Frequency(100, None)
