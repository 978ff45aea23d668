"""Certificates of sums: normal noise, proved and checked again; nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from shuffledp import ShuffleAccountant, certify, verify
from shuffledp.certification import Certificate, CertificateError

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


def test_altered_certificates_are_found_out():
    certificate = certify(sums(100), target_delta=1e-6)
    guarantee = certificate.guarantee
    smaller = replace(guarantee, epsilon="0.1")
    words = guarantee.statement.replace(guarantee.epsilon, "0.1")
    for changes in (
        {"n": 200},
        {"bound": "blanket"},
        {"mechanism": "gaussian(sigma=1.6)"},
        {"mechanism": "laplace(epsilon0=1.0)"},
        {"guarantee": replace(smaller, statement=words)},
        {"assumptions": certify("krr(2, 1)", 5, target_delta=0.1).assumptions},
    ):
        with pytest.raises(CertificateError):
            verify(altered(certificate, **changes))


def test_a_certificate_of_the_multiset_is_no_certificate_of_the_sum():
    multiset = certify("krr(2, 1)", 5, target_delta=0.1)
    with pytest.raises(CertificateError):
        verify(altered(multiset, bound="exact"))


def test_other_sums_are_refused():
    for text in ("laplace(1)", "oue(1)", "krr(3, 1)"):
        with pytest.raises(ValueError, match="multiset"):
            certify(ShuffleAccountant(text, 10, view="sum"), target_delta=0.1)
    with pytest.raises(ValueError, match="multiset"):
        certify(ShuffleAccountant("gaussian(1)", 10, view="sum", corrupted=3), target_delta=0.1)


def test_the_command(tmp_path):
    from click.testing import CliRunner

    from shuffledp.cli import main

    line = ["certify", "gaussian(2)", "-n", "500", "--delta", "1e-6", "--view", "sum"]
    issued = CliRunner().invoke(main, line)
    assert issued.exit_code == 0
    path = tmp_path / "certificate.json"
    path.write_text(issued.stdout, encoding="utf-8")
    checked = CliRunner().invoke(main, ["verify", str(path)])
    assert "exact, for the sum of the reports and nothing else" in checked.stdout
    assert json.loads(issued.stdout)["bound"] == "exact"
