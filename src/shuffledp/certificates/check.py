"""Checking certificates: every statement is proved again from the mechanism and n alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import in_words
from shuffledp.basics.errors import MAX_EPSILON0, MAX_ROUNDS, MAX_USERS, NoAnswerError
from shuffledp.basics.wording import shorten
from shuffledp.certificates.cases import how_compared
from shuffledp.certificates.certificate import (
    Certificate,
    CertificateError,
    Statement,
    read_again,
)
from shuffledp.certificates.derivation import check_known
from shuffledp.certificates.inputs import inputs_of
from shuffledp.certificates.mechanism import read_mechanism
from shuffledp.certificates.proof import Claim, Proof, prove_guarantee, prove_leak
from shuffledp.certificates.repeated import prove_rounds
from shuffledp.certificates.words import assumed, guarantee_in_words, leak_in_words
from shuffledp.engine.progress import Progress
from shuffledp.mechanisms import LocalRandomizer, Pair, Relation

_MAX_ECHO = 120

#: Of the deltas of one round nothing but the upper end is recorded.
_ANY = Decimal(0), Decimal(1)

#: The name of two datasets; inputs are numbers and tuples of them.
_INPUT = "([0-9(), ]+)"
_DATASETS = re.compile(f"x1 = {_INPUT} vs {_INPUT}, all others hold {_INPUT}")


def check_certificate(certificate: Certificate, progress: Progress) -> None:
    """Prove every statement again.

    Raises:
        CertificateError: with the reason if anything does not agree.
    """
    certificate = read_again(certificate)
    if certificate.digest != certificate.computed_digest():
        raise CertificateError("digest does not match: the certificate was altered")
    for name, most in (("n", MAX_USERS), ("rounds", MAX_ROUNDS)):
        if (found := getattr(certificate, name)) > most:
            raise CertificateError(f"{name} must be at most {most}, got {found}")
    randomizer = read_mechanism(certificate.mechanism)
    _agree("assumptions", certificate.assumptions, assumed(certificate, randomizer))
    try:
        check_known(randomizer)
    except NoAnswerError as error:
        raise CertificateError(f"mechanism: {error}") from None
    relation = inputs_of(randomizer).relation
    _agree("relation", certificate.relation, str(relation))
    _agree("pairs", certificate.pairs, how_compared(randomizer))

    def claim(statement: Statement) -> Claim:
        epsilon, delta = Decimal(statement.epsilon), Decimal(statement.delta)
        if not (epsilon <= MAX_EPSILON0 and delta <= 1):
            raise CertificateError(
                f"epsilon must be at most {MAX_EPSILON0:g} and delta at most 1, got "
                f"{statement.epsilon} and {statement.delta}"
            )
        recorded = Decimal(statement.lower), Decimal(statement.upper)
        return Claim(randomizer, certificate.honest, epsilon, delta, certificate.bound, recorded)

    guarantee, lower = certificate.guarantee, certificate.lower_bound
    _check("guarantee", guarantee, guarantee_in_words, certificate, relation)
    if lower is not None:
        _check("lower_bound", lower, leak_in_words, certificate, relation)
        datasets = named_datasets(randomizer, lower.where)
    try:
        if certificate.one_round:
            proof = _prove_several(certificate, claim(guarantee), progress)
        else:
            proof = prove_guarantee(claim(guarantee), progress)
    except NoAnswerError as error:
        raise CertificateError(f"guarantee: {error}") from None
    if not proof.upper <= Decimal(guarantee.delta):
        raise CertificateError(
            f"guarantee: delta at this epsilon is proved to be at most {proof.upper} only, not "
            f"{guarantee.delta}"
        )
    _compare("guarantee", guarantee, proof)
    if lower is not None:
        proof = prove_leak(claim(lower), datasets, progress)
        if not proof.lower >= Decimal(lower.delta):
            raise CertificateError(
                f"lower_bound: delta at this epsilon is proved to be at least {proof.lower} only, "
                f"not {lower.delta}"
            )
        _compare("lower_bound", lower, proof)


def _prove_several(certificate: Certificate, claim: Claim, progress: Progress) -> Proof:
    """Prove the deltas of one round, and bound that of all rounds by them."""
    for place, point in enumerate(certificate.one_round):
        progress("deltas of one round", place / len(certificate.one_round))
        epsilon, delta = Decimal(point.epsilon), Decimal(point.delta)
        if not epsilon <= MAX_EPSILON0:
            raise CertificateError(
                f"one_round: epsilon must be at most {MAX_EPSILON0:g}, got {epsilon}"
            )
        one = replace(claim, epsilon=epsilon, delta=delta, bound=point.bound, recorded=_ANY)
        proof = prove_guarantee(one, progress)
        if not proof.upper <= delta:
            raise CertificateError(
                f"one_round: delta at {epsilon} is proved to be at most {proof.upper} only, not "
                f"{delta}"
            )
    return prove_rounds(certificate.one_round, certificate.times, claim.epsilons[0])


def named_datasets(randomizer: LocalRandomizer, words: str) -> Datasets:
    """Return the two datasets of this name.

    Raises:
        CertificateError: if they are no neighbours, or hold inputs whose laws are not known.
    """
    inputs, found = inputs_of(randomizer), _DATASETS.fullmatch(words)
    if found is not None:
        try:
            first, second, other = map(ast.literal_eval, found.groups())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
        else:
            datasets = Datasets(Pair(first, second), other)
            known = all(map(inputs.knows, (first, second, other)))
            if known and inputs.are_neighbours(datasets.pair) and str(datasets) == words:
                return datasets
    raise CertificateError(
        "lower_bound: where must name neighbouring datasets of "
        f"{shorten(str(randomizer), _MAX_ECHO)}, got {_show(words)}"
    )


def _check(
    name: str,
    statement: Statement,
    words: Callable[[Certificate, Relation], str],
    certificate: Certificate,
    relation: Relation,
) -> None:
    _agree(f"{name}.statement", statement.statement, words(certificate, relation))


def _compare(name: str, statement: Statement, proof: Proof) -> None:
    """Compare what is recorded with what was proved again: it must follow from that."""
    _agree(f"{name}.where", statement.where, in_words(proof.where))
    if not (Decimal(statement.lower) <= proof.lower and proof.upper <= Decimal(statement.upper)):
        raise CertificateError(
            f"{name}: the enclosure [{statement.lower}, {statement.upper}] does not agree with the "
            f"proof [{proof.lower}, {proof.upper}]"
        )


def _agree(name: str, recorded: object, expected: object) -> None:
    if recorded != expected:
        raise CertificateError(f"{name} must be {_show(expected)}, got {_show(recorded)}")


def _show(value: object) -> str:
    return shorten(repr(value), _MAX_ECHO)
