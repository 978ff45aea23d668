"""What is certified and accepted is true; what is false is not accepted."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from oracle.random_mechanisms import Generator
from oracle.truth import Truth
from shuffledp import CertificateError, ShuffleAccountant, certify, parse, verify
from shuffledp.accounting.setting import Bound
from shuffledp.basics.errors import NoAnswerError
from shuffledp.certificates import Certificate


def with_delta(certificate: Certificate, delta: Fraction) -> Certificate:
    """The same claim with a smaller delta, and a digest that fits."""
    decimal = Decimal(delta.numerator) / Decimal(delta.denominator)
    claim = replace(
        certificate.guarantee, delta=f"{decimal:.15E}", lower="0", upper=f"{decimal:.15E}"
    )
    altered = replace(certificate, guarantee=claim)
    return replace(altered, digest=altered.computed_digest())


def judge_certificates(generator: Generator, count: int, bound: Bound = "blanket") -> int:
    """How many certificates were issued; all of them are true, and less is not accepted."""
    issued = 0
    for instance in generator.instances(count):
        truth = Truth(instance.channel, instance.n)
        try:
            accountant = ShuffleAccountant(parse(instance.text), instance.n, bound=bound)
            if generator.random.random() < 0.5:
                epsilon = generator.epsilons(instance.channel, 2)[1]
                certificate = certify(accountant, target_epsilon=epsilon)
            else:
                certificate = certify(accountant, target_delta=generator.deltas(2)[0])
        except (ValueError, NoAnswerError):
            continue
        issued += 1
        verify(certificate)
        claim, what = certificate.guarantee, f"{instance.text}, n={instance.n}"
        true = truth.delta(Fraction(claim.epsilon))
        assert true.low <= Fraction(claim.delta), f"{what}: {claim}, the truth is {true}"
        shown = certificate.lower_bound
        if shown is not None and instance.channel.whole:
            true = truth.delta(Fraction(shown.epsilon))
            assert Fraction(shown.delta) <= true.high, f"{what}: {shown}, the truth is {true}"
        false = truth.delta(Fraction(claim.epsilon)).low * Fraction(9, 10)
        if false > Fraction(1, 10**100):
            with pytest.raises(CertificateError):
                verify(with_delta(certificate, false))
    assert issued >= 0.9 * count
    return issued


def test_certificates_of_single_mechanisms() -> None:
    judge_certificates(Generator(401, (), effort=2_000), 12)


@pytest.mark.heavy
def test_certificates_of_compositions() -> None:
    judge_certificates(Generator(402, ("joint", "subsample"), effort=2_000), 6)


def test_certificates_of_the_best_bound() -> None:
    judge_certificates(Generator(403, (), effort=2_000), 12, "best")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4001, 4003))
@pytest.mark.parametrize("bound", ["blanket", "best"])
def test_certificates_of_many_mechanisms(seed: int, bound: Bound) -> None:
    judge_certificates(Generator(seed), 100, bound)
