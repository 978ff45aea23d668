"""Certificates of several rounds: above the truth, near the guarantee, and hard to forge."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import NoAnswerError, Rounds, Setting, ShuffleAccountant
from shuffledp.accounting.assumptions import PLANNED, ROUNDS, limited
from shuffledp.certificates import Certificate, CertificateError, certify, verify
from shuffledp.certificates.certificate import ProvedPoint
from shuffledp.certificates.repeated import law_above, prove_rounds

YEAR = Setting(mechanism="krr(k=4, epsilon0=2)", n=500, corrupted=0.02, rounds=7, at_most=5)
ROWS = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))
COIN = "matrix([[0.75, 0.25], [0.25, 0.75]])"


@cache
def certificate() -> Certificate:
    return certify(YEAR.accountant(), target_delta=1e-6)


def forged(**changes: object) -> Certificate:
    other = replace(certificate(), **changes)
    return replace(other, digest=other.computed_digest())


def counts(held: tuple[int, ...]) -> dict[int, Fraction]:
    """The law of how many coins show 1."""
    law = {0: Fraction(1)}
    for x in held:
        grown: dict[int, Fraction] = {}
        for ones, mass in law.items():
            for bit in (0, 1):
                grown[ones + bit] = grown.get(ones + bit, Fraction(0)) + mass * ROWS[x][bit]
        law = grown
    return law


def exact_delta(first: tuple[int, ...], second: tuple[int, ...], times: int, ratio: Fraction):
    p, q = counts(first), counts(second)
    total = Fraction(0)
    for seen in product(p, repeat=times):
        a = b = Fraction(1)
        for ones in seen:
            a, b = a * p[ones], b * q[ones]
        total += max(a - ratio * b, Fraction(0))
    return total


@pytest.mark.parametrize(
    ("n", "times"), [(1, 2), (2, 2), (3, 2), (3, 3), pytest.param(4, 4, marks=pytest.mark.heavy)]
)
def test_above_the_truth_of_all_datasets(n, times):
    """Everything that can be held, in the same rounds: no delta is above what is certified."""
    rounds = ShuffleAccountant(COIN, n).rounds(times)
    for epsilon in (0.25, 1.0):
        found = certify(rounds, target_epsilon=epsilon)
        verify(found)
        ratio = Fraction(2.718281828459045**epsilon) * (1 - Fraction(1, 10**12))
        worst = max(
            exact_delta((x, *others), (1 - x, *others), times, ratio)
            for x in (0, 1)
            for others in product((0, 1), repeat=n - 1)
        )
        assert Fraction(found.guarantee.delta) >= worst * (1 - Fraction(1, 10**9))
        assert float(found.guarantee.delta) <= max(1.1 * rounds.get_delta(epsilon), 1e-9)


def test_says_what_it_is_about():
    found = certificate()
    assert (found.n, found.corrupted, found.rounds, found.at_most) == (500, 10, 7, 5)
    assert (found.bound, found.lower_bound) == ("composition", None)
    assert found.guarantee.statement.startswith(
        "after 7 rounds of 500 users, 10 of them corrupted,"
    )
    assert "in at most 5 of them each" in found.guarantee.statement
    assert {*ROUNDS, PLANNED, limited(5)} <= set(found.assumptions)
    guarantee = YEAR.accountant().get_epsilon(1e-6)
    assert guarantee * 0.998 <= float(found.guarantee.epsilon) <= guarantee * 1.01
    verify(Certificate.from_json(found.to_json()))


def test_forged_points_are_refused():
    first, *others = certificate().one_round
    smaller = replace(first, delta=str(float(first.delta) * 0.99))
    with pytest.raises(CertificateError, match=r"one_round: delta at .* is proved to be at most"):
        verify(forged(one_round=(smaller, *others)))
    with pytest.raises(CertificateError, match="guarantee: delta at this epsilon"):
        verify(forged(one_round=certificate().one_round[::7]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 8}, "assumptions|statement"),
        ({"at_most": None}, "assumptions|statement"),
        ({"corrupted": 0}, "assumptions|statement"),
        ({"rounds": 1, "at_most": None}, "one_round must be empty for one round"),
        ({"one_round": ()}, "one_round must be points if the bound is composition"),
        ({"corrupted": 500}, "corrupted must be below n"),
        ({"corrupted": -1}, "corrupted must be an integer >= 0"),
        ({"rounds": True}, "rounds must be an integer"),
        ({"at_most": 0}, "at_most must be an integer >= 1"),
        ({"bound": "blanket"}, "one_round must be points if the bound is composition, else empty"),
    ],
)
def test_other_fields_are_refused(changes, message):
    with pytest.raises(CertificateError, match=message):
        verify(forged(**changes))


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"epsilon": "1٢", "delta": "0", "bound": "swap"}, "epsilon must be a text"),
        ({"epsilon": "1", "delta": "-0.1", "bound": "swap"}, "delta must be a text"),
        ({"epsilon": "1", "delta": "0.1", "bound": "composition"}, "bound must be one of"),
        ({"epsilon": "1", "delta": "0.1", "bound": "exact"}, "about sums at all points or at none"),
        ({"epsilon": "1", "delta": "0.1"}, "lacks the field bound"),
        ({"epsilon": "0", "delta": "0.1", "bound": "swap"}, "increasing in epsilon"),
        (5, "must be an object"),
    ],
)
def test_malformed_points(point, message):
    content = json.loads(certificate().to_json())
    content["one_round"].append(point)
    with pytest.raises(CertificateError, match=message):
        Certificate.from_json(json.dumps(content))


@settings(max_examples=60)
@given(
    st.dictionaries(st.integers(0, 40), st.floats(0, 1), min_size=1, max_size=6),
    st.integers(1, 3),
)
def test_laws_are_above_their_points(raw, times):
    """Random deltas that fall: the law has them at least, and rounds only add to it."""
    deltas = sorted(raw.values(), reverse=True)
    points = [
        ProvedPoint(str(place / 10), f"{delta:.6f}", "blanket")
        for place, delta in zip(sorted(raw), deltas, strict=True)
    ]
    law = law_above(points)
    assert sum(law.masses, law.infinite) <= 1 + Fraction(1, 10**12)
    one = [float(prove_rounds(points, times, place / 10).upper) for place in sorted(raw)]
    several = [float(prove_rounds(points, times + 1, place / 10).upper) for place in sorted(raw)]
    assert all(more >= less * (1 - 1e-5) for less, more in zip(one, several, strict=True))


def test_what_cannot_be_certified():
    two = Rounds([(ShuffleAccountant(COIN, 5), 2), (ShuffleAccountant(COIN, 6), 2)])
    with pytest.raises(NoAnswerError, match="rounds of one kind"):
        certify(two, target_delta=1e-3)
    exposed = ShuffleAccountant("matrix([[0.5, 0.5, 0], [0.3, 0.3, 0.4]])", 9).rounds(3)
    with pytest.raises(NoAnswerError, match="no finite epsilon"):
        certify(exposed, target_delta=0.1)
    adaptive = ShuffleAccountant(COIN, 50, corrupted_adaptively=2).rounds(3)
    with pytest.raises(ValueError, match="adaptively"):
        certify(adaptive, target_delta=0.1)


def test_sums():
    asked = Setting(mechanism="oue(epsilon0=1, domain_size=2)", n=60, rounds=2, view="sum")
    found = certify(asked.accountant(), target_delta=1e-3)
    assert {point.bound for point in found.one_round} == {"exact"}
    assert "nothing else is seen" in found.guarantee.statement
    assert float(found.guarantee.epsilon) >= asked.accountant().epsilon_lower_bound(1e-3)
    verify(found)
