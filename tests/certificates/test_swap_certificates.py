"""Certificates of the swap bound: issued, checked, and useless or true once altered."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from shuffledp import ShuffleAccountant, parse
from shuffledp.accounting.setting import DEFAULT_BOUND
from shuffledp.certificates import Certificate, CertificateError, certify, verify


@cache
def certificate() -> Certificate:
    return certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound="best")


def test_it_names_its_bound_and_proves_less_than_the_blanket() -> None:
    best = certificate()
    blanket = certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound="blanket")
    assert (best.bound, blanket.bound) == ("swap", "blanket")
    assert float(best.guarantee.epsilon) < 0.9 * float(blanket.guarantee.epsilon)
    assert best.lower_bound is not None
    assert float(best.guarantee.epsilon) < 1.001 * float(best.lower_bound.epsilon)
    assert best.guarantee.lower == "0"
    verify(Certificate.from_json(best.to_json()))


def test_it_is_the_same_every_time_and_however_it_is_asked_for() -> None:
    accountant = ShuffleAccountant("blh(epsilon0=1)", 1000, bound="best")
    assert certify(accountant, target_delta=1e-6) == certificate()
    again = ShuffleAccountant("blh(epsilon0=1)", 1000, bound="blanket")
    assert certify(again, target_delta=1e-6, bound="best") == certificate()
    assert certify(accountant, target_delta=1e-6, bound="blanket").bound == "blanket"


def test_the_default_is_that_of_an_accountant() -> None:
    assert ShuffleAccountant("krr(k=3, epsilon0=1)", 10).bound == DEFAULT_BOUND
    issued = certify("blh(epsilon0=1)", n=1000, target_delta=1e-6)
    assert issued == certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound=DEFAULT_BOUND)


def test_wrong_bound() -> None:
    with pytest.raises(ValueError, match="bound must be one of best, blanket, got 'swap'"):
        certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound="swap")  # type: ignore[arg-type]


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("krr(k=2, epsilon0=1.0)", 5000),
        ("krr(k=3, epsilon0=1.0)", 30),
        ("olh(epsilon0=2.0, buckets=4)", 10**4),
        ("rappor(epsilon0=3.0)", 10**7),
        ("oue(epsilon0=2.0, domain_size=8)", 10**4),
        ("unary(p=0.5, q=0.2)", 1000),
        ("subset(epsilon0=2.0, domain_size=20)", 1000),
        ("hadamard(epsilon0=2.0, domain_size=10)", 1000),
        ("matrix([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]])", 300),
        ("laplace(epsilon0=1.0)", 1000),
        ("joint(krr(k=3, epsilon0=1.0), krr(k=3, epsilon0=1.0))", 2000),
        ("subsample(blh(epsilon0=1.0), rate=0.5)", 10**4),
    ],
)
@pytest.mark.parametrize("question", ["delta", "epsilon"])
def test_answers_of_the_accountant_are_proved(text: str, n: int, question: str) -> None:
    accountant = ShuffleAccountant(parse(text), n, bound="best")
    epsilon = accountant.get_epsilon(1e-6)
    if question == "delta":
        issued = certify(accountant, target_delta=1e-6)
        assert epsilon <= float(issued.guarantee.epsilon) <= epsilon * (1 + 1e-4)
    else:
        issued, delta = certify(accountant, target_epsilon=epsilon), accountant.get_delta(epsilon)
        assert delta <= float(issued.guarantee.delta) <= delta * (1 + 1e-3)
    assert issued.bound == "swap"
    verify(Certificate.from_json(issued.to_json()))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("any_pure_ldp(epsilon0=1.0)", 1000),
        ("discrete_laplace(epsilon0=1.0, bound=20)", 300),
        ("krr(k=3, epsilon0=1.0)", 1),
    ],
)
def test_elsewhere_the_blanket_is_proved_and_said_so(text: str, n: int) -> None:
    accountant = ShuffleAccountant(parse(text), n, bound="best")
    issued = certify(accountant, target_delta=1e-5)
    blanket = certify(text, n=n, target_delta=1e-5, bound="blanket")
    assert issued.bound == "blanket"
    assert issued.guarantee == blanket.guarantee
    at_epsilon = certify(accountant, target_epsilon=float(blanket.guarantee.epsilon))
    assert at_epsilon.bound == "blanket"
    verify(issued)


def test_the_blanket_is_proved_where_no_swap_proof_is_found(monkeypatch) -> None:
    monkeypatch.setattr("shuffledp.bounds.swap.curve.Swapped.estimate", lambda *_: math.inf)
    monkeypatch.setattr("shuffledp.certificates.worst.Candidate.cheap", lambda *_: 0.0)
    issued = certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound="best")
    assert issued == certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound="blanket")
    at_epsilon = certify("blh(epsilon0=1)", n=1000, target_epsilon=0.09, bound="best")
    assert at_epsilon.bound == "blanket"


def changed(path: str, value: Any) -> Certificate:
    """The certificate with one field altered, its words and its digest made to fit."""
    fields = json.loads(certificate().to_json())
    *parents, name = path.split(".")
    place = fields
    for parent in parents:
        place = place[parent]
    value = value(place[name]) if callable(value) else value
    if name in ("epsilon", "delta"):
        place["statement"] = place["statement"].replace(place[name], value)
    place[name] = value
    altered = Certificate.from_json(json.dumps(fields))
    return replace(altered, digest=altered.computed_digest())


def scaled(factor: str) -> Any:
    return lambda text: str(Decimal(text) * Decimal(factor))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("guarantee.epsilon", scaled("0.999")),
        ("guarantee.delta", "9E-7"),
        ("guarantee.upper", "9E-7"),
        ("guarantee.lower", "1E-9"),
        ("guarantee.upper", "0.1"),
        ("guarantee.where", "x1 = 1 vs 0"),
        ("mechanism", "blh(epsilon0=1.01)"),
        ("mechanism", "any_pure_ldp(epsilon0=1.0)"),
        ("mechanism", "gaussian(sigma=3.0)"),
        ("n", 999),
        ("n", 1),
        ("bound", "blanket"),
    ],
)
def test_an_altered_certificate_is_not_accepted(path: str, value: Any) -> None:
    with pytest.raises(CertificateError):
        verify(changed(path, value))


def test_statements_of_other_versions_are_proved_again() -> None:
    fields = json.loads(certificate().to_json())
    fields["versions"]["shuffledp"] = "0.0.1"
    other = Certificate.from_json(json.dumps(fields))
    verify(replace(other, digest=other.computed_digest()))
    fields["bound"] = "blanket"  # of which this epsilon is not true
    other = Certificate.from_json(json.dumps(fields))
    with pytest.raises(CertificateError, match="guarantee: delta at this epsilon is proved"):
        verify(replace(other, digest=other.computed_digest()))


def test_a_weaker_claim_under_the_name_of_the_swap_bound() -> None:
    """A blanket certificate that calls itself a swap certificate is true, but not accepted."""
    blanket = certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound="blanket")
    renamed = replace(blanket, bound="swap")
    with pytest.raises(CertificateError, match="does not agree"):
        verify(replace(renamed, digest=renamed.computed_digest()))
