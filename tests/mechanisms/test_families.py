"""Families: mechanisms in text form whose level is left open."""

from __future__ import annotations

import math

import pytest

from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    HadamardResponse,
    Laplace,
    LocalHash,
    SubsetSelection,
    parse_family,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("krr(k=10)", KRR(k=10, epsilon0=2.0)),
        ("krr(10)", KRR(k=10, epsilon0=2.0)),
        ("oue()", OUE(epsilon0=2.0)),
        ("rappor(domain_size=5)", RAPPOR(epsilon0=2.0, domain_size=5)),
        ("blh(domain_size=None)", BinaryLocalHash(epsilon0=2.0)),
        ("olh(buckets=4)", LocalHash(epsilon0=2.0, buckets=4)),
        ("hadamard(domain_size=7)", HadamardResponse(epsilon0=2.0, domain_size=7)),
        ("subset(domain_size=9)", SubsetSelection(epsilon0=2.0, domain_size=9)),
        ("laplace(domain='interval')", Laplace(epsilon0=2.0, domain="interval")),
        ("discrete_laplace(bound=3)", DiscreteLaplace(epsilon0=2.0, bound=3)),
        ("any_pure_ldp()", AnyPureLDP(epsilon0=2.0)),
    ],
)
def test_family(text, expected):
    family = parse_family(text)
    assert family(2.0) == expected
    assert family(2) == expected
    assert family(0.5).epsilon0 == 0.5
    for bad in (-1.0, 0.0, math.nan, math.inf, 301.0, "1", None, True):
        with pytest.raises(ValueError, match="epsilon0"):
            family(bad)


@pytest.mark.parametrize("text", ["gaussian(sigma=1)", "unary(p=0.7, q=0.2)", "matrix([[1]])"])
def test_mechanisms_without_a_level_are_no_family(text):
    with pytest.raises(ValueError, match="epsilon0") as error:
        parse_family(text)
    assert text.split("(")[0] in str(error.value)


@pytest.mark.parametrize("text", ["krr(k=10, epsilon0=1)", "krr(10, 1)", "oue(1)"])
def test_family_must_leave_its_level_open(text):
    with pytest.raises(ValueError, match="epsilon0"):
        parse_family(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("krr()", "k"),
        ("krr(k=1)", "k must"),
        ("subset(domain_size=5, size=5)", "size"),
        ("laplace(domain='circle')", "circle"),
        ("discrete_laplace()", "bound"),
        ("nothing()", "known"),
        ("krr", "parentheses"),
    ],
)
def test_family_reports_bad_parameters_at_once(text, part):
    with pytest.raises(ValueError, match=r"\S") as error:
        parse_family(text)
    assert part in str(error.value)
