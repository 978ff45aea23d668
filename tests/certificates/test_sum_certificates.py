"""Certificates of sums: noise and independent bits, proved and checked again."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal

import pytest
from click.testing import CliRunner

from shuffledp import ShuffleAccountant, certify, verify
from shuffledp.certificates import Certificate, CertificateError
from shuffledp.cli import main

mpmath = pytest.importorskip("mpmath")
pytest.importorskip("flint")


def exact_delta(sigma, n, epsilon):
    """Delta of the shift, to 30 digits."""
    with mpmath.workdps(80):
        s, e = mpmath.mpf(sigma) * mpmath.sqrt(n), mpmath.mpf(epsilon)
        near, far = (mpmath.ncdf(side / (2 * s) - e * s) for side in (1, -1))
        return Decimal(mpmath.nstr(near - mpmath.exp(e) * far, 30))


def sums(n, sigma=1.5):
    return ShuffleAccountant(f"gaussian({sigma})", n, view="sum")


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize("n", [1, 7, 10**4, 10**12])
@pytest.mark.parametrize("question", [{"target_delta": 1e-9}, {"target_epsilon": 1e-6}])
def test_what_is_proved_is_true_and_close(n, question):
    accountant = sums(n)
    certificate = certify(accountant, **question)
    verify(Certificate.from_json(certificate.to_json()))
    guarantee = certificate.guarantee
    truth = exact_delta(1.5, n, guarantee.epsilon)
    assert Decimal(guarantee.lower) <= truth <= Decimal(guarantee.upper)
    assert truth <= Decimal(guarantee.delta)
    if "target_delta" in question:
        asked = accountant.get_epsilon(1e-9)
        assert asked <= float(guarantee.epsilon) <= asked * (1 + 1e-6)
    lower = certificate.lower_bound
    if lower is not None:
        assert exact_delta(1.5, n, lower.epsilon) >= Decimal(lower.delta)
    assert certificate.bound == "exact"
    assert "the analyst sees nothing but the sum of the reports" in certificate.assumptions
    assert "the sum of the reports of" in guarantee.statement


def altered(certificate, **changes):
    changed = replace(certificate, **changes)
    return replace(changed, digest=changed.computed_digest())


MECHANISMS = (
    "gaussian(1.5)",
    "laplace(1)",
    "laplace(2, domain='interval')",
    "discrete_laplace(1, bound=3)",
    "rappor(1)",
    "oue(2)",
    "unary(0.2, 0.6)",
    "unary(0.7, 0.1, domain_size=2)",
    "blh(1, domain_size=5)",
    "olh(2, domain_size=4)",
)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("n", [1, 2, 3, 70])
def test_all_questions_about_all_sums(n):
    """What is certified is what the accountant says, and verified; the statements agree."""
    for text in MECHANISMS:
        accountant = ShuffleAccountant(text, n, view="sum")
        level = accountant.randomizer.epsilon0
        questions = [{"target_delta": 1e-3}, {"target_epsilon": 0.0}, {"target_epsilon": 0.1}]
        if math.isfinite(level):
            questions += [{"target_delta": 0.0}, {"target_epsilon": 1.5 * level}]
        for question in questions:
            certificate = certify(accountant, **question)
            verify(Certificate.from_json(certificate.to_json()))
            guarantee, lower = certificate.guarantee, certificate.lower_bound
            assert certificate.bound == "exact"
            assert Decimal(guarantee.lower) <= Decimal(guarantee.upper) <= Decimal(guarantee.delta)
            if "target_delta" in question:
                asked = accountant.get_epsilon(question["target_delta"])
                assert asked <= float(guarantee.epsilon) <= asked * (1 + 1e-3)
            else:
                asked = accountant.get_delta(question["target_epsilon"])
                assert asked <= float(guarantee.delta) <= asked * (1 + 1e-3)
            if lower is not None:
                assert Decimal(lower.delta) <= Decimal(lower.lower)
                assert Decimal(lower.epsilon) <= Decimal(guarantee.epsilon)
            if question.get("target_epsilon") == 1.5 * level:
                assert (guarantee.delta, lower) == ("0.0", None)


def test_the_lower_bound_is_one_of_the_sum():
    """Two datasets whose sums are closer to each other than their multisets."""
    for text in ("laplace(4)", "oue(4)"):
        of_sum = certify(ShuffleAccountant(text, 1000, view="sum"), target_delta=1e-6)
        of_multiset = ShuffleAccountant(text, 1000).epsilon_lower_bound(1e-6)
        assert float(of_sum.guarantee.epsilon) < of_multiset
        assert Decimal(of_sum.lower_bound.epsilon) > Decimal("0.95") * Decimal(
            of_sum.guarantee.epsilon
        )


def test_users_who_collude_are_not_counted():
    """Of n users, f of whom are corrupted, n - f honest ones hide each other."""
    for text in ("laplace(1)", "rappor(2)"):
        honest = certify(ShuffleAccountant(text, 80, view="sum"), target_delta=1e-3)
        some = ShuffleAccountant(text, 100, view="sum", corrupted=20)
        assert some.get_epsilon(1e-3) == pytest.approx(float(honest.guarantee.epsilon), rel=1e-3)
        found = certify(some, target_delta=1e-3)
        assert (found.n, found.corrupted) == (100, 20)
        assert found.guarantee.epsilon == honest.guarantee.epsilon
        verify(found)


@pytest.mark.heavy
def test_a_million_users():
    for text in ("laplace(1)", "discrete_laplace(1, bound=10)", "oue(4)", "blh(2, domain_size=10)"):
        accountant = ShuffleAccountant(text, 10**6, view="sum")
        certificate = certify(accountant, target_delta=1e-6)
        verify(certificate)
        assert float(certificate.guarantee.epsilon) == accountant.get_epsilon(1e-6)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("gaussian(1.5)", "gaussian(sigma=1.6)"),
        ("laplace(1)", "laplace(epsilon0=1.01)"),
        ("discrete_laplace(1, bound=3)", "discrete_laplace(epsilon0=1.0, bound=4)"),
        ("oue(4)", "rappor(epsilon0=4.0)"),
        ("blh(2, domain_size=5)", "blh(epsilon0=2.0)"),
    ],
)
def test_altered_certificates_are_found_out(text, other):
    certificate = certify(ShuffleAccountant(text, 100, view="sum"), target_delta=1e-6)
    guarantee, lower = certificate.guarantee, certificate.lower_bound
    words = guarantee.statement.replace(guarantee.epsilon, "0.1")
    smaller = guarantee.statement.replace("0.000001", "5E-7")
    more = lower.statement.replace("0.000001", "0.000002")
    for changes in (
        {"n": 200},
        {"bound": "blanket"},
        {"bound": "swap"},
        {"mechanism": other},
        {"mechanism": "krr(k=3, epsilon0=1.0)"},
        {"guarantee": replace(guarantee, epsilon="0.1", statement=words)},
        {"guarantee": replace(guarantee, delta="5E-7", statement=smaller)},
        {"guarantee": replace(guarantee, upper="9E-7")},
        {"guarantee": replace(guarantee, where="x1 = 0 vs 2")},
        {"guarantee": replace(guarantee, lower=guarantee.upper)},
        {"lower_bound": replace(lower, delta="0.000002", statement=more)},
        {"lower_bound": replace(lower, where=lower.where.replace("hold", "have"))},
        {"assumptions": certify("krr(2, 1)", 5, target_delta=0.1).assumptions},
    ):
        with pytest.raises(CertificateError):
            verify(altered(certificate, **changes))
    with pytest.raises(CertificateError, match="digest"):
        verify(replace(certificate, n=200))


def test_a_certificate_of_the_multiset_is_no_certificate_of_the_sum():
    multiset = certify("krr(2, 1)", 5, target_delta=0.1)
    with pytest.raises(CertificateError):
        verify(altered(multiset, bound="exact"))


def test_a_mechanism_without_pairs_has_no_certificate_of_its_sum():
    """Equal rows: no two inputs are neighbours, and the sum is not known either."""
    multiset = certify("matrix([[0.5, 0.5], [0.5, 0.5]])", 5, target_delta=0.1)
    with pytest.raises(CertificateError):
        verify(
            altered(
                multiset, bound="exact", assumptions=certify(sums(5), target_delta=0.1).assumptions
            )
        )


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    "text",
    [
        "unary(0.5, 0.4999999999)",
        "unary(0.9999999, 1e-7)",
        "rappor(100)",
        "laplace(300)",
        "oue(50)",
    ],
)
def test_extreme_mechanisms(text):
    for n in (1, 5, 100):
        accountant = ShuffleAccountant(text, n, view="sum")
        for question in ({"target_delta": 1e-6}, {"target_epsilon": 0.0}, {"target_epsilon": 15.0}):
            verify(certify(accountant, **question))


@pytest.mark.parametrize(
    "text", ["krr(3, 1)", "subset(1, domain_size=5)", "blh(1)", "joint(krr(2, 1), gaussian(1))"]
)
def test_other_sums_are_refused(text):
    with pytest.raises(ValueError, match="what holds for the multiset holds for the sum"):
        certify(ShuffleAccountant(text, 10, view="sum"), target_delta=0.1)


def test_a_crowd_too_large_for_counts_is_refused():
    accountant = ShuffleAccountant("oue(1)", 10**7 + 1, view="sum")
    with pytest.raises(ValueError, match="up to 10,000,000 users"):
        certify(accountant, target_delta=1e-6)
    small = certify(ShuffleAccountant("oue(1)", 5, view="sum"), target_epsilon=0.5)
    words = small.guarantee.statement.replace("5 users", "10000001 users")
    guarantee = replace(small.guarantee, statement=words)
    many = altered(small, n=10**7 + 1, guarantee=guarantee, lower_bound=None)
    with pytest.raises(CertificateError, match="up to 10,000,000 users"):
        verify(many)


@pytest.mark.parametrize("text", ["gaussian(2)", "laplace(1)", "oue(4)"])
def test_the_command(text, tmp_path):
    line = ["certify", text, "-n", "500", "--delta", "1e-6", "--view", "sum"]
    issued = CliRunner().invoke(main, line)
    assert issued.exit_code == 0
    path = tmp_path / "certificate.json"
    path.write_text(issued.stdout, encoding="utf-8")
    checked = CliRunner().invoke(main, ["verify", str(path)])
    assert checked.exit_code == 0
    assert "exact, for the sum of the reports and nothing else" in checked.stdout
    assert json.loads(issued.stdout)["bound"] == "exact"
    path.write_text(issued.stdout.replace('"n": 500', '"n": 600'), encoding="utf-8")
    assert CliRunner().invoke(main, ["verify", str(path)]).exit_code != 0


@pytest.mark.parametrize(("text", "n"), [("krr(3, 1)", "10"), ("oue(1)", "100000000")])
def test_the_command_refuses_other_sums(text, n):
    line = ["certify", text, "-n", n, "--epsilon", "0.5", "--view", "sum"]
    refused = CliRunner().invoke(main, line)
    assert refused.exit_code == 2
    assert "leave out --view" in refused.stderr
