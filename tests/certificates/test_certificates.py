"""Certificates: issued, kept, read, checked, and useless once altered."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from blankets import blanket_accountant

from shuffledp import KRR, MatrixRandomizer, ShuffleAccountant, joint, parse
from shuffledp.accounting import Datasets
from shuffledp.accounting.assumptions import ASSUMPTIONS, EXACT_NUMBERS, ONE_ROUND
from shuffledp.basics.errors import NoAnswerError
from shuffledp.certificates import Certificate, CertificateError, certify, verify
from shuffledp.certificates.certificate import MAX_CHARACTERS
from shuffledp.certificates.check import named_datasets
from shuffledp.mechanisms import Pair


@cache
def certificate() -> Certificate:
    accountant = blanket_accountant(KRR(k=10, epsilon0=2.0), n=1000)
    return certify(accountant, target_delta=1e-6)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("krr(k=3, epsilon0=1.0)", 1),
        ("krr(k=2, epsilon0=0.1)", 12),
        ("oue(epsilon0=4.0)", 10**6),
        ("any_pure_ldp(epsilon0=1.0)", 10**9),
        ("hadamard(epsilon0=1.0, domain_size=5)", 10**12),
        ("discrete_laplace(epsilon0=1.0, bound=20)", 300),
        ("matrix([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]])", 50),
        ("joint(krr(k=3, epsilon0=1.0), oue(epsilon0=0.5), at_most=1)", 100),
        ("parallel(0.5*krr(k=3, epsilon0=1.0), 0.5*blh(epsilon0=1.0))", 100),
        ("subsample(joint(krr(k=3, epsilon0=1.0), krr(k=3, epsilon0=1.0)), rate=0.1)", 1000),
    ],
)
@pytest.mark.parametrize("question", ["delta", "epsilon"])
def test_issued_and_verified(text: str, n: int, question: str) -> None:
    accountant = blanket_accountant(parse(text), n)
    if question == "delta":
        issued = certify(accountant, target_delta=1e-5)
        answer, claimed = accountant.get_epsilon(1e-5), float(issued.guarantee.epsilon)
        assert answer <= claimed <= answer * (1 + 1e-5)
        assert Decimal(issued.guarantee.delta) == Decimal("1e-5")
    else:
        epsilon = max(accountant.get_epsilon(1e-7), 1e-3)
        issued = certify(accountant, target_epsilon=epsilon)
        answer, claimed = accountant.get_delta(epsilon), float(issued.guarantee.delta)
        assert float(issued.guarantee.epsilon) == epsilon
        assert answer <= claimed <= answer * (1 + 1e-3)  # about 1e-4 of epsilon, or less
    assert issued.mechanism == text
    again = Certificate.from_json(issued.to_json())
    assert again.computed_digest() == issued.digest
    verify(again)


@pytest.mark.heavy
def test_continuous_outputs() -> None:
    accountant = blanket_accountant(parse("laplace(epsilon0=1.0)"), 10**6)
    issued = certify(accountant, target_epsilon=0.004)
    answer = accountant.get_delta(0.004)
    assert answer <= float(issued.guarantee.delta) <= answer * (1 + 1e-3)  # 3e-5 of epsilon


def test_a_certificate_is_the_same_every_time() -> None:
    accountant = blanket_accountant(KRR(k=10, epsilon0=2.0), n=1000)
    assert certify(accountant, target_delta=1e-6) == certificate()


def test_assumptions_are_those_of_all_answers() -> None:
    assert certificate().assumptions == (*ASSUMPTIONS, ONE_ROUND, *EXACT_NUMBERS)


def test_a_mechanism_may_be_given_as_its_text() -> None:
    question = {"n": 1000, "target_delta": 1e-6, "bound": "blanket"}
    assert certify("krr(k=10, epsilon0=2)", **question) == certificate()  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"accountant must be .* together with n, got 'krr"):
        certify("krr(k=10, epsilon0=2)", target_delta=1e-6)
    with pytest.raises(TypeError, match=r"accountant must be .* and n = 3"):
        certify(ShuffleAccountant(KRR(k=10, epsilon0=2.0), 3), 3, target_delta=1e-6)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    "text",
    [
        "krr(k=3, epsilon0=2)",
        "laplace(epsilon0=2)",
        "hadamard(epsilon0=2, domain_size=6)",
        "matrix([[0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])",
        "joint(krr(k=3, epsilon0=1), laplace(epsilon0=1))",
        "one_of(0.3*krr(k=3, epsilon0=2), 0.7*discrete_laplace(epsilon0=1, bound=7))",
    ],
)
def test_the_datasets_of_a_report_are_found_by_their_words(text: str) -> None:
    report = ShuffleAccountant(text, 20).epsilon_report(1e-3)
    assert named_datasets(report.randomizer, str(report.datasets)) == report.datasets


def test_both_orders_of_a_pair_are_found() -> None:
    words = "x1 = 1 vs 0, all others hold 0"
    assert named_datasets(parse("krr(k=2, epsilon0=1)"), words) == Datasets(Pair(1, 0), 0)


@pytest.mark.parametrize("words", ["", "x1 = 0 vs 1", "x1 = 0 vs 1, all others hold 7"])
def test_datasets_of_unknown_words(words: str) -> None:
    with pytest.raises(CertificateError, match="where must name neighbouring datasets of krr"):
        named_datasets(parse("krr(k=3, epsilon0=1)"), words)


def test_long_unknown_words_say_how_much_is_cut() -> None:
    with pytest.raises(CertificateError, match=r"got 'x1 = 0 v+\.\.\. \(\d+ more characters\)$"):
        named_datasets(parse("krr(k=3, epsilon0=1)"), "x1 = 0 " + "v" * 1000)


def test_delta_0_is_proved_at_the_largest_epsilon() -> None:
    issued = certify(ShuffleAccountant(KRR(k=3, epsilon0=2.0), 10), target_delta=0.0)
    assert issued.guarantee.epsilon == "2.0"
    verify(issued)
    nudged = certify(ShuffleAccountant(KRR(k=3, epsilon0=0.1), 10), target_delta=0.0)
    epsilon = Fraction(nudged.guarantee.epsilon)
    assert Fraction(0.1) <= epsilon < Fraction("0.1000000000000001")
    verify(nudged)


@pytest.mark.heavy
def test_tiny_deltas() -> None:
    issued = certify(ShuffleAccountant(KRR(k=3, epsilon0=0.1), 10**9), target_epsilon=0.05)
    assert Decimal(issued.guarantee.upper) < Decimal("1e-10000000")
    verify(Certificate.from_json(issued.to_json()))


@pytest.mark.heavy
def test_files_are_written_out(tmp_path) -> None:
    path = tmp_path / "channel.csv"
    path.write_text("0.75, 0.25\n0.25, 0.75\n")
    randomizer = joint(MatrixRandomizer.from_file(path), KRR(k=3, epsilon0=1.0))
    issued = certify(ShuffleAccountant(randomizer, 10), target_delta=1e-2)
    assert issued.mechanism == (
        "joint(matrix([[0.75, 0.25], [0.25, 0.75]]), krr(k=3, epsilon0=1.0))"
    )
    verify(issued)


@pytest.mark.parametrize("targets", [{}, {"target_delta": 0.1, "target_epsilon": 0.1}])
def test_one_target(targets: dict[str, float]) -> None:
    accountant = ShuffleAccountant(KRR(k=3, epsilon0=1.0), 10)
    with pytest.raises(ValueError, match="exactly one of target_delta and target_epsilon"):
        certify(accountant, **targets)


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match="accountant"):
        certify("krr(3, 1)", target_delta=0.1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="certificate"):
        verify("{}")  # type: ignore[arg-type]


def test_no_finite_epsilon() -> None:
    accountant = ShuffleAccountant(parse("matrix([[1.0, 0.0], [0.0, 1.0]])"), 10)
    with pytest.raises(NoAnswerError, match="no epsilon"):
        certify(accountant, target_delta=1e-3)


def changed(path: str, value: Any, *, sealed: bool = True) -> Certificate:
    """The certificate with one field altered and, if sealed, the digest computed anew."""
    fields = json.loads(certificate().to_json())
    *parents, name = path.split(".")
    place = fields
    for parent in parents:
        place = place[parent]
    place[name] = value(place, name) if callable(value) else value
    altered = Certificate.from_json(json.dumps(fields))
    return replace(altered, digest=altered.computed_digest()) if sealed else altered


def scaled(factor: str) -> Any:
    return lambda place, name: str(Decimal(place[name]) * Decimal(factor))


def same_as(other: str) -> Any:
    """Recorded ends are a little outside of what is proved, so the other end is surely wrong."""
    return lambda place, name: place[other]


ALTERATIONS = [
    ("mechanism", "krr(k=11, epsilon0=2.0)"),
    ("mechanism", "krr(k=10, epsilon0=2.01)"),
    ("mechanism", "krr(k=10, epsilon0=2)"),
    ("mechanism", "krr(k=10)"),
    ("mechanism", "matrix('secret.csv')"),
    ("n", 999),
    ("n", 1001),
    ("n", 2**53 + 1),
    ("bound", "swap"),
    ("pairs", "compared 2 pairs"),
    ("assumptions", [*ASSUMPTIONS, ONE_ROUND, *EXACT_NUMBERS][1:]),
    ("assumptions", [*ASSUMPTIONS, *EXACT_NUMBERS]),
    ("assumptions", [*ASSUMPTIONS, ONE_ROUND, *EXACT_NUMBERS, "all users are honest"]),
    *(
        (f"{part}.{name}", value)
        for part in ("guarantee", "lower_bound")
        for name, value in (
            ("statement", "nothing is revealed"),
            ("epsilon", scaled("0.99")),
            ("epsilon", scaled("1.01")),
            ("epsilon", "1E+9"),
            ("delta", scaled("0.5")),
            ("delta", scaled("2")),
            ("delta", "7"),
            ("where", "x1 = 0 vs 2"),
            ("where", "x1 = 0 vs 1, all others hold 0"),
            ("lower", same_as("upper")),
            ("lower", scaled("1.1")),
            ("upper", scaled("0.9")),
            ("upper", same_as("lower")),
        )
    ),
]


@pytest.mark.parametrize(
    ("path", "value"), ALTERATIONS, ids=[f"{i}-{p}" for i, (p, _) in enumerate(ALTERATIONS)]
)
def test_altered_and_sealed_again(path: str, value: Any) -> None:
    with pytest.raises(CertificateError) as reason:
        verify(changed(path, value))
    assert str(reason.value)


def reworded(part: str, **values: str) -> Certificate:
    """Numbers altered together with the words that repeat them."""
    fields = json.loads(certificate().to_json())
    statement = fields[part]
    for name, value in values.items():
        statement["statement"] = statement["statement"].replace(statement[name], value)
        statement[name] = value
    altered = Certificate.from_json(json.dumps(fields))
    return replace(altered, digest=altered.computed_digest())


def test_a_stronger_claim_is_not_proved() -> None:
    epsilon = str(Decimal(certificate().guarantee.epsilon) * Decimal("0.999"))
    with pytest.raises(CertificateError, match="guarantee: delta at this epsilon"):
        verify(reworded("guarantee", epsilon=epsilon))
    with pytest.raises(CertificateError, match="guarantee: delta at this epsilon"):
        verify(reworded("guarantee", delta="9E-7", upper="8E-7", lower="0"))
    assert certificate().lower_bound is not None
    epsilon = str(Decimal(certificate().lower_bound.epsilon) * Decimal("1.001"))
    with pytest.raises(CertificateError, match="lower_bound: delta at this epsilon"):
        verify(reworded("lower_bound", epsilon=epsilon))
    with pytest.raises(CertificateError, match="lower_bound: delta at this epsilon"):
        verify(reworded("lower_bound", delta="0.000002", lower="3E-6", upper="1"))


@pytest.mark.parametrize(
    ("path", "value"),
    [*ALTERATIONS, ("versions.shuffledp", "9"), ("lower_bound", None), ("digest", "00")],
    ids=lambda value: str(value) if isinstance(value, str) else "-",
)
def test_altered(path: str, value: Any) -> None:
    with pytest.raises(CertificateError, match=r"digest does not match|must be at (least|most)"):
        verify(changed(path, value, sealed=False))


def test_other_versions_still_verify() -> None:
    verify(changed("versions.shuffledp", "0.0.1"))
    fields = json.loads(changed("versions.shuffledp", "0.0.1").to_json())
    own = fields["guarantee"]
    for ends in ({"upper": "0"}, {"upper": own["lower"]}, {"lower": own["upper"]}):
        forged = {**fields, "guarantee": {**own, "lower": "0", **ends}}
        altered = Certificate.from_json(json.dumps(forged))
        with pytest.raises(CertificateError, match="does not agree"):
            verify(replace(altered, digest=altered.computed_digest()))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("NaN", "NaN is not a number"),
        ("[]", "must be an object"),
        ("{}", "lacks the field"),
        ('{"n": 1, "n": 2}', "there twice"),
        (" " * (MAX_CHARACTERS + 1), "at most"),
    ],
    ids=["empty", "open", "deep", "nan", "list", "nothing", "twice", "huge"],
)
def test_unreadable(text: str, reason: str) -> None:
    with pytest.raises(CertificateError, match=reason):
        Certificate.from_json(text)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("format", "shuffledp certificate 1", "format must be"),
        ("extra", 1, "unknown field 'extra'"),
        ("guarantee.extra", 1, "unknown field 'extra'"),
        ("mechanism", 3, "mechanism must be a text"),
        ("n", 0, "n must be an integer"),
        ("n", True, "n must be an integer"),
        ("n", "10", "n must be an integer"),
        ("n", 1.5, "n must be an integer"),
        ("bound", "best", "bound must be one of blanket, swap"),
        ("bound", None, "bound must be one of blanket, swap"),
        ("pairs", None, "pairs must be a text"),
        ("digest", 0, "digest must be a text"),
        ("assumptions", "none", "assumptions must be"),
        ("versions", {}, "versions must be"),
        ("guarantee", None, "guarantee must be an object"),
        ("guarantee.epsilon", 0.5, "guarantee.epsilon must be"),
        ("guarantee.epsilon", "-1", "guarantee.epsilon must be"),
        ("guarantee.epsilon", "1E-99999", "guarantee.epsilon must be"),
        ("guarantee.delta", "NaN", "guarantee.delta must be"),
        ("guarantee.lower", "Infinity", "guarantee.lower must be"),
        ("guarantee.where", [], "guarantee.where must be"),
        ("guarantee.epsilon", "\u0660.\u0665", "guarantee.epsilon must be"),
        ("guarantee.lower", "0.5", "guarantee.upper must be at least guarantee.lower = 0.5"),
        ("guarantee.upper", "0.5", "guarantee.upper must be at most guarantee.delta"),
        ("guarantee.method", {"name": "contour"}, "unknown field 'method'"),
        ("lower_bound.lower", "9E-7", "lower_bound.lower must be at least its delta"),
        ("versions", {"shuffledp": "", "python-flint": "1"}, "versions must be"),
        ("lower_bound", 3, "lower_bound must be an object"),
    ],
)
def test_wrong_fields(path: str, value: Any, reason: str) -> None:
    fields = json.loads(certificate().to_json())
    *parents, name = path.split(".")
    place = fields
    for parent in parents:
        place = place[parent]
    place[name] = value
    with pytest.raises(CertificateError, match=reason):
        Certificate.from_json(json.dumps(fields))


def test_missing_fields() -> None:
    fields = json.loads(certificate().to_json())
    for name in fields:
        rest = {key: value for key, value in fields.items() if key != name}
        with pytest.raises(CertificateError, match=f"lacks the field {name}"):
            Certificate.from_json(json.dumps(rest))


def test_a_matrix_of_a_derived_class_has_no_certificate_of_the_plain_one():
    """It may state another law."""

    class Derived(MatrixRandomizer):
        pass

    for mechanism in (derived := Derived([[0.75, 0.25], [0.25, 0.75]]), joint(derived)):
        with pytest.raises(NoAnswerError, match="its exact law is not known"):
            certify(mechanism, n=10, target_delta=0.01)
