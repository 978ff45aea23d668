"""Sums of hashed reports: unary encodings, where all functions are drawn."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product

import pytest

from shuffledp import BinaryLocalHash, LocalHash, ShuffleAccountant, UnaryEncoding
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.mechanisms.aggregate import BitSums, OnlyMultiset


@pytest.fixture(autouse=True)
def _wide_is_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield


@pytest.mark.parametrize(("buckets", "size"), [(2, 2), (2, 4), (3, 3), (4, 2)])
def test_support_vectors_have_independent_bits(buckets, size):
    """All functions and all reports of value 0, for E = 3."""
    ratio = Fraction(3)
    law: dict[tuple[bool, ...], Fraction] = {}
    for function in product(range(buckets), repeat=size):
        for report in range(buckets):
            weight = ratio if report == function[0] else Fraction(1)
            chance = weight / (ratio + buckets - 1) / buckets**size
            bits = tuple(value == report for value in function)
            law[bits] = law.get(bits, Fraction(0)) + chance
    own, other = ratio / (ratio + buckets - 1), Fraction(1, buckets)
    for bits in product((False, True), repeat=size):
        expected = own if bits[0] else 1 - own
        for bit in bits[1:]:
            expected *= other if bit else 1 - other
        assert law[bits] == expected


@pytest.mark.parametrize(
    "mechanism",
    [BinaryLocalHash(2.0, 100), LocalHash(1.5, 5, 20), LocalHash(3.0, None, 2)],
    ids=str,
)
def test_the_bits_are_those_of_the_mechanism(mechanism):
    seen = mechanism.aggregate
    assert isinstance(seen, BitSums)
    for (one, zero), probability in zip(
        (seen.own, seen.other), mechanism.support_probabilities, strict=True
    ):
        assert float(one) == probability
        assert (one + zero).contains(1)
    assert seen.two_values == (mechanism.domain_size == 2)


@pytest.mark.parametrize(("n", "expected"), [(10**4, 0.04871), (10**6, 0.00395)])
def test_reference_epsilons(n, expected):
    sums = ShuffleAccountant(BinaryLocalHash(2.0, 50), n, view="sum")
    found = sums.epsilon_interval(1e-6)
    assert found.lower <= expected * 1.002
    assert expected * 0.998 <= found.upper <= 1.01 * expected
    assert found.upper < 0.9 * ShuffleAccountant(BinaryLocalHash(2.0, 50), n).get_epsilon(1e-6)


def test_the_same_as_a_unary_encoding():
    hashed = LocalHash(1.0, 4, 9)
    (own, _), (other, _) = hashed.aggregate.own, hashed.aggregate.other
    for n in (1, 2, 30):
        first, second = (
            ShuffleAccountant(mechanism, n, view="sum").delta_interval(0.2)
            for mechanism in (hashed, UnaryEncoding(float(own), float(other), 9))
        )
        assert first.lower == pytest.approx(second.lower, rel=1e-9)
        assert first.upper == pytest.approx(second.upper, rel=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "why"),
    [
        (BinaryLocalHash(2.0), "a domain of no known size"),
        (BinaryLocalHash(2.0, 1000), "so large a domain"),
    ],
)
def test_limited_independence_has_the_guarantee_of_the_multiset(mechanism, why):
    assert isinstance(mechanism.aggregate, OnlyMultiset)
    sums, multiset = (ShuffleAccountant(mechanism, 100, view=v) for v in ("sum", "multiset"))
    report = sums.delta_report(0.2)
    assert report.guarantee.upper == multiset.get_delta(0.2)
    assert report.lower_bound == 0.0
    assert why in report.view_in_words


class Skewed(BinaryLocalHash):
    """A class derived from a hash, which may state another law."""


def test_derived_classes_have_the_guarantee_of_the_multiset():
    assert isinstance(Skewed(1.0, 5).aggregate, OnlyMultiset)
