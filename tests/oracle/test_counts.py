"""The long study of compositions: 5,200 against all datasets, 520 certificates; it prints counts.

``pytest --run-slow -n 0 tests/oracle/test_counts.py`` runs it, which takes an hour or two.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from oracle.judge import Verdict, judge_accountant
from oracle.random_mechanisms import COMPOSITIONS, Generator, Instance
from oracle.tangled import Tangled
from oracle.test_certified_claims import judge_certificates
from oracle.truth import Truth

#: Seeds of compositions and how many each of them draws; and of certificates.
_SEEDS, _EACH = range(6001, 6014), 400
_CERTIFIED, _ISSUED = range(6201, 6209), 65


class Counts:
    """What has been asked so far."""

    def __init__(self) -> None:
        self.compositions = self.answers = self.refused = self.certificates = 0

    def __str__(self) -> str:
        return (
            f"{self.compositions} compositions against all datasets, {self.answers} answers, "
            f"{self.refused} refused; {self.certificates} certificates; no violations"
        )


@pytest.fixture(scope="module")
def counts() -> Counts:
    return Counts()


@pytest.fixture(autouse=True)
def shown(counts: Counts, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Print how far the study is after each of its parts."""
    yield
    with capsys.disabled():
        click.echo(f"\n{counts}")


@pytest.fixture(autouse=True)
def few_users_swap_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is seldom the smaller one, the swap bound is tried, too."""
    monkeypatch.setattr("shuffledp.bounds.swap.plan._FEWEST_BLANKET_USERS", 0.0)


def judge(generator: Generator, instance: Instance) -> Verdict:
    """Both bounds, from above and from below, in turn."""
    swap = generator.random.random() < 0.25
    return judge_accountant(
        instance.text,
        Truth(instance.channel, instance.n),
        generator.epsilons(instance.channel, 2)[swap:],
        generator.deltas(2)[:1],
        bound="best" if swap else "blanket",
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", _SEEDS)
def test_400_compositions_against_all_datasets(seed: int, counts: Counts) -> None:
    generator = Tangled(seed, zeros=seed % 4 == 0)
    violations = []
    for instance in generator.instances(_EACH):
        found = judge(generator, instance)
        counts.compositions += 1
        counts.answers += found.questions
        counts.refused += len(found.refusals)
        violations += found.violations
    assert not violations, "\n".join(violations)


@pytest.mark.slow
@pytest.mark.parametrize("seed", _CERTIFIED)
def test_65_certificates(seed: int, counts: Counts) -> None:
    generator = Tangled(seed) if seed % 4 else Generator(seed, COMPOSITIONS)
    issued = judge_certificates(generator, _ISSUED + 5, "best" if seed % 2 else "blanket")
    counts.certificates += issued
    assert issued >= _ISSUED
