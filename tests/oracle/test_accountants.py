"""Lower bound <= truth <= guarantee, for random mechanisms of every family."""

from __future__ import annotations

from typing import Literal

import pytest
from tiers import examples

from oracle.judge import Verdict, judge_accountant, judge_profile, judge_upper
from oracle.random_mechanisms import Generator
from oracle.reader import read
from oracle.truth import Truth
from shuffledp import ShuffleAccountant

#: Exotic inputs may be refused, but rarely.
_MOST_REFUSED = 0.02


def judge_many(
    generator: Generator,
    count: int,
    epsilons: int,
    deltas: int,
    bound: Literal["blanket", "best"] = "blanket",
) -> None:
    together, refused = Verdict(), 0
    for instance in generator.instances(count):
        verdict = judge_accountant(
            instance.text,
            Truth(instance.channel, instance.n),
            generator.epsilons(instance.channel, epsilons),
            generator.deltas(deltas),
            bound=bound,
        )
        refused += bool(verdict.refusals)
        together.questions += verdict.questions
        together.refusals += verdict.refusals
        together.violations += verdict.violations
    assert not together.violations, "\n".join(together.violations)
    assert refused <= _MOST_REFUSED * count, "\n".join(together.refusals)
    assert together.questions > 2 * count


def test_single_mechanisms() -> None:
    judge_many(Generator(101, (), effort=3_000), examples(200), 3, 1)


def test_joint_and_subsampled_mechanisms() -> None:
    judge_many(Generator(102, ("joint", "subsample"), effort=3_000), examples(150), 3, 1)


@pytest.mark.parametrize("kinds", [(), ("joint", "subsample"), ("parallel",)], ids=str)
def test_best_bounds(kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The swap bound is tried also with few users, where it is seldom the smaller one."""
    monkeypatch.setattr("shuffledp.bounds.swap.plan._FEWEST_BLANKET_USERS", 0.0)
    judge_many(Generator(105, kinds, effort=1_000), 10, 3, 1, "best")


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("kinds", [(), ("joint", "subsample")], ids=str)
@pytest.mark.parametrize("bound", ["blanket", "best"])
def test_profiles(
    kinds: tuple[str, ...],
    bound: Literal["blanket", "best"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both ends of all points; the swap bound is tried with few users, too."""
    monkeypatch.setattr("shuffledp.bounds.swap.plan._FEWEST_BLANKET_USERS", 0.0)
    generator, verdict, count = Generator(106, kinds, effort=1_000), Verdict(), examples(84)
    for instance in generator.instances(count):
        epsilons = sorted(generator.epsilons(instance.channel, 4))
        truth = Truth(instance.channel, instance.n)
        own = judge_profile(instance.text, truth, epsilons, bound)
        verdict.questions += own.questions
        verdict.violations += own.violations
    assert not verdict.violations, "\n".join(verdict.violations)
    assert verdict.questions > 2 * count


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("discrete_laplace(epsilon0=1.5, bound=2)", 4),
        ("discrete_laplace(epsilon0=0.7, bound=3)", 4),
        ("discrete_laplace(epsilon0=3.0, bound=4)", 3),
        ("discrete_laplace(epsilon0=0.4, bound=2)", 6),
        ("subsample(discrete_laplace(epsilon0=1.5, bound=2), rate=0.5)", 3),
        pytest.param("laplace(epsilon0=0.8, domain='interval')", 3, marks=pytest.mark.slow),
        ("krr(k=2, epsilon0=1.0)", 6),
        ("krr(k=2, epsilon0=0.3)", 5),
        ("krr(k=2, epsilon0=3.0)", 6),
    ],
)
def test_best_bounds_of_many_types(text: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guarantees from several types and pairs at once, wherever they are the smaller ones."""
    monkeypatch.setattr("shuffledp.bounds.swap.plan._FEWEST_BLANKET_USERS", 0.0)
    channel = read(text)
    epsilons = [0.0, 0.01, 0.1, 0.2, 0.3, 0.5, 1.0]
    verdict = judge_accountant(text, Truth(channel, n), epsilons, [1e-4, 0.05], bound="best")
    assert not verdict.violations, "\n".join(verdict.violations)


@pytest.mark.parametrize("k", [2, 3])
def test_the_best_generic_bound_covers_randomized_response(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.bounds.swap.plan._FEWEST_BLANKET_USERS", 0.0)
    verdict = Verdict()
    for epsilon0, n in ((0.5, 6), (2.0, 4)):
        text = f"any_pure_ldp(epsilon0={epsilon0})"
        truth = Truth(read(f"krr(k={k}, epsilon0={epsilon0})"), n)
        accountant = ShuffleAccountant(text, n, bound="best")
        judge_upper(text, accountant, truth, [0.0, 0.2, 0.4], [], verdict)
    assert not verdict.violations, "\n".join(verdict.violations)


def test_parallel_mechanisms() -> None:
    judge_many(Generator(103, ("parallel",), effort=3_000), examples(75), 3, 1)


@pytest.mark.heavy
def test_one_of_several_attributes() -> None:
    judge_many(Generator(104, ("one_of",), effort=1_000), examples(75), 3, 1)


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("laplace(epsilon0=1.0)", 3),
        ("laplace(epsilon0=2.5, domain='interval')", 3),
        pytest.param("gaussian(sigma=0.7)", 2, marks=pytest.mark.slow),
        pytest.param(
            "joint(laplace(epsilon0=1.0), krr(k=2, epsilon0=1.0), at_most=1)",
            2,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_rounded_reports_of_continuous_mechanisms(text: str, n: int) -> None:
    verdict = judge_accountant(text, Truth(read(text), n), [0.0, 0.5], [0.01])
    assert not verdict.violations, "\n".join(verdict.violations)
    assert not verdict.refusals


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1001, 1009))
def test_many_single_joint_and_subsampled_mechanisms(seed: int) -> None:
    judge_many(Generator(seed, ("joint", "subsample")), 250, 5, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2001, 2007))
def test_many_compositions(seed: int) -> None:
    judge_many(Generator(seed), 250, 5, 3)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [(), ("joint", "subsample"), ("parallel",)], ids=str)
@pytest.mark.parametrize("seed", range(3001, 3004))
def test_many_best_bounds(
    seed: int, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.bounds.swap.plan._FEWEST_BLANKET_USERS", 0.0)
    judge_many(Generator(seed, kinds, effort=1_500), 50, 3, 1, "best")
