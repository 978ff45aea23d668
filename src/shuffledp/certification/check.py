"""Checking certificates: every statement is proved again from the mechanism and n alone."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import Proof as Bound
from shuffledp.accounting.report import in_words
from shuffledp.certification.certificate import (
    Certificate,
    CertificateError,
    Statement,
    current_versions,
)
from shuffledp.certification.derivation import check_known
from shuffledp.certification.issue import assumed, guarantee_in_words, leak_in_words
from shuffledp.certification.mechanism import read_mechanism
from shuffledp.certification.progress import Progress
from shuffledp.certification.proof import Claim, Proof, prove_guarantee, prove_leak
from shuffledp.certification.worst_pair import pairs_looked_at
from shuffledp.errors import MAX_EPSILON0, MAX_USERS, NoAnswerError
from shuffledp.randomizers import LocalRandomizer, pairs_to_compare
from shuffledp.wording import shorten

_EXACT_EXPONENTS = range(-5000, 5000)
_MAX_ECHO = 120


def check_certificate(certificate: Certificate, progress: Progress) -> None:
    """Prove every statement again.

    Raises:
        CertificateError: with the reason if anything does not agree.
    """
    if certificate.digest != certificate.computed_digest():
        raise CertificateError("digest does not match: the certificate was altered")
    if certificate.n > MAX_USERS:
        raise CertificateError(f"n must be at most {MAX_USERS}, got {certificate.n}")
    randomizer = read_mechanism(certificate.mechanism)
    _agree("assumptions", certificate.assumptions, assumed(randomizer, certificate.bound))
    try:
        if certificate.bound != "exact":  # which needs to know the sum only
            check_known(randomizer)
    except NoAnswerError as error:
        raise CertificateError(f"mechanism: {error}") from None
    _agree("pairs", certificate.pairs, pairs_looked_at(randomizer))
    same = certificate.versions == current_versions()

    def claim(statement: Statement) -> Claim:
        epsilon, delta = Decimal(statement.epsilon), Decimal(statement.delta)
        if not (epsilon <= MAX_EPSILON0 and delta <= 1):
            raise CertificateError(
                f"epsilon must be at most {MAX_EPSILON0:g} and delta at most 1, got "
                f"{statement.epsilon} and {statement.delta}"
            )
        return Claim(randomizer, certificate.n, epsilon, delta, certificate.bound)

    guarantee, lower = certificate.guarantee, certificate.lower_bound
    _check("guarantee", guarantee, guarantee_in_words, certificate)
    try:
        proof = prove_guarantee(claim(guarantee), progress)
    except NoAnswerError as error:
        raise CertificateError(f"guarantee: {error}") from None
    if not proof.upper <= Decimal(guarantee.delta):
        raise CertificateError(
            f"guarantee: delta at this epsilon is proved to be at most {proof.upper} only, not "
            f"{guarantee.delta}"
        )
    _compare("guarantee", guarantee, proof, same)
    if lower is not None:
        _check("lower_bound", lower, leak_in_words, certificate)
        proof = prove_leak(claim(lower), named_datasets(randomizer, lower.where), progress)
        if not proof.lower >= Decimal(lower.delta):
            raise CertificateError(
                f"lower_bound: delta at this epsilon is proved to be at least {proof.lower} only, "
                f"not {lower.delta}"
            )
        _compare("lower_bound", lower, proof, same)


def named_datasets(randomizer: LocalRandomizer, words: str) -> Datasets:
    """Return those of the datasets looked at for a mechanism that have this name.

    Raises:
        CertificateError: if there are none.
    """
    pairs = (p for pair in pairs_to_compare(randomizer) for p in (pair, pair.reversed))
    # Only the whole name decides; what does not even hold that of the pair need not be spelt out.
    candidates = (
        Datasets(pair, other)
        for pair in pairs
        if str(pair) in words
        for other in randomizer.common_inputs(pair)
    )
    for datasets in candidates:
        if str(datasets) == words:
            return datasets
    raise CertificateError(
        f"lower_bound: datasets must be looked at for {shorten(str(randomizer), _MAX_ECHO)}, got "
        f"{_show(words)}"
    )


def _check(
    name: str,
    statement: Statement,
    words: Callable[[int, str, str, Bound], str],
    certificate: Certificate,
) -> None:
    expected = words(certificate.n, statement.epsilon, statement.delta, certificate.bound)
    _agree(f"{name}.statement", statement.statement, expected)


def _compare(name: str, statement: Statement, proof: Proof, same_versions: bool) -> None:
    """Compare what is recorded with what was proved again."""
    _agree(f"{name}.where", statement.where, in_words(proof.where))
    lower, upper = Decimal(statement.lower), Decimal(statement.upper)
    found = f"[{proof.lower}, {proof.upper}]"
    reason = f"{name}: the enclosure [{lower}, {upper}] does not agree with the proof {found}"
    if not same_versions:
        if not (lower <= proof.upper and proof.lower <= upper):
            raise CertificateError(reason)
        return
    if not (lower <= proof.lower and proof.upper <= upper) or _is_wider(lower, upper, proof):
        raise CertificateError(reason)
    _agree(f"{name}.method", statement.method, proof.methods)


def _is_wider(lower: Decimal, upper: Decimal, proof: Proof) -> bool:
    """Whether a recorded enclosure is more than twice as wide as the proved one."""
    ends = (lower, upper, proof.lower, proof.upper)
    if any(end and end.adjusted() not in _EXACT_EXPONENTS for end in ends):
        return (lower, upper) != (proof.lower, proof.upper)
    width = Fraction(upper) - Fraction(lower)
    return width > 2 * (Fraction(proof.upper) - Fraction(proof.lower))


def _agree(name: str, recorded: object, expected: object) -> None:
    if recorded != expected:
        raise CertificateError(f"{name} must be {_show(expected)}, got {_show(recorded)}")


def _show(value: object) -> str:
    return shorten(repr(value), _MAX_ECHO)
