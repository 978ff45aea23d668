"""Compositions whose parts see the inputs in different ways: guarantees, rounds, sums, proofs.

`test_counts` is the long study of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tiers import examples

from oracle.judge import Verdict, judge_accountant
from oracle.random_mechanisms import Instance
from oracle.reader import read
from oracle.sums import Sums
from oracle.tangled import Tangled
from oracle.test_certified_claims import judge_certificates
from oracle.truth import Truth
from oracle.two_rounds import attained
from shuffledp import ShuffleAccountant

#: Relative rounding of the doubles of two rounds and of sums.
_ROUNDING = 1e-9

Judge = Callable[[Tangled, Instance, Verdict], None]


def judge_guarantees(generator: Tangled, instance: Instance, verdict: Verdict) -> None:
    """Delta and epsilon, of one bound or the other, and what is said to be attained."""
    found = judge_accountant(
        instance.text,
        Truth(instance.channel, instance.n),
        generator.epsilons(instance.channel, 3),
        generator.deltas(2),
        bound=generator.random.choice(("best", "best", "blanket")),
    )
    verdict.questions += found.questions
    verdict.refusals += found.refusals
    verdict.violations += found.violations


def judge_rounds(generator: Tangled, instance: Instance, verdict: Verdict) -> None:
    """Two rounds, the second one chosen after what the first one published."""
    rounds = ShuffleAccountant(instance.text, instance.n).rounds(2)
    truth, epsilon = Truth(instance.channel, instance.n), generator.random.uniform(0.05, 2.0)
    what = f"{instance.text}, n={instance.n}, two rounds"
    delta = verdict.ask(f"{what}, get_delta({epsilon!r})", lambda: rounds.get_delta(epsilon))
    if delta is not None and attained(truth, epsilon) * (1 - _ROUNDING) > delta:
        verdict.violations.append(f"{what}: {delta!r} at {epsilon!r}")
    target = generator.deltas(2)[0]
    found = verdict.ask(f"{what}, get_epsilon({target!r})", lambda: rounds.get_epsilon(target))
    if found is not None and attained(truth, min(found, 600.0)) * (1 - _ROUNDING) > target:
        verdict.violations.append(f"{what}: {found!r} at {target!r}")


def judge_sums(generator: Tangled, instance: Instance, verdict: Verdict) -> None:
    """Nothing but the sums of all attributes is seen."""
    accountant = ShuffleAccountant(instance.text, instance.n, view="sum")
    truth, epsilon = Sums(instance.text, instance.n), generator.epsilons(instance.channel, 2)[1]
    what = f"{instance.text}, n={instance.n}, sums at {epsilon!r}"
    true = truth.delta(epsilon)
    upper = verdict.ask(what, lambda: accountant.get_delta(epsilon))
    lower = verdict.ask(what, lambda: accountant.delta_lower_bound(epsilon))
    if upper is None or lower is None or not lower * (1 - _ROUNDING) <= true + 1e-300:
        verdict.violations.append(f"{what}: at least {lower!r}, the truth is {true!r}")
    elif true * (1 - _ROUNDING) > upper:
        verdict.violations.append(f"{what}: at most {upper!r}, the truth is {true!r}")


def judge_many(generator: Tangled, count: int, judge: Judge) -> Verdict:
    verdict = Verdict()
    for instance in generator.instances(count):
        judge(generator, instance, verdict)
    assert not verdict.violations, "\n".join(verdict.violations)
    assert len(verdict.refusals) <= 0.02 * count, "\n".join(verdict.refusals)
    return verdict


@pytest.fixture(autouse=True)
def few_users_swap_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is seldom the smaller one, the swap bound is tried, too."""
    monkeypatch.setattr("shuffledp.bounds.swap.plan._FEWEST_BLANKET_USERS", 0.0)


def test_compositions_against_all_datasets() -> None:
    count = examples(80)
    assert judge_many(Tangled(601), count, judge_guarantees).questions >= 10 * count


def test_compositions_that_give_inputs_away() -> None:
    judge_many(Tangled(602, zeros=True), examples(40), judge_guarantees)


@pytest.mark.heavy
def test_two_rounds_of_compositions() -> None:
    judge_many(Tangled(603, effort=2_000), 15, judge_rounds)


def test_sums_of_attributes() -> None:
    judge_many(SummedAttributes(604, effort=2_000), examples(60), judge_sums)


def test_certificates_of_tangled_compositions() -> None:
    judge_certificates(Tangled(605, effort=2_000), examples(30), "best")


class SummedAttributes(Tangled):
    """Joint reports whose sums can be written down."""

    def instances(self, count: int) -> Iterator[Instance]:
        """Yield so many instances, with as many users as can be enumerated, or fewer."""
        while count:
            text = self.text()
            sizes = [n for n in range(1, 9) if Sums.work(text, n) < 400 * self.effort]
            if sizes:
                yield Instance(text, read(text), self.random.choice(sizes[-3:]))
                count -= 1

    def text(self) -> str:
        count = self.random.choice((1, 2, 2, 3))
        parts = [self._summand(self.random.choice((2, 2, 3))) for _ in range(count)]
        if count > 1 and self.random.random() < 0.3:
            parts[-1] = parts[0]
        limit = self.random.choice(("", "", ", at_most=1", f", exactly={count}"))
        return f"joint({', '.join(parts)}{limit})"

    def _summand(self, size: int) -> str:
        family = self.random.choice(("krr", "rappor", "oue", "unary", "blh", "olh", "matrix"))
        return f"matrix({self._rows(size)})" if family == "matrix" else self.single(family, size)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6101, 6103))
def test_many_rounds_and_sums_of_compositions(seed: int) -> None:
    judge_many(Tangled(seed, effort=10_000), 150, judge_rounds)
    judge_many(SummedAttributes(seed, effort=5_000), 300, judge_sums)
