"""Published bounds, and the one that knows the level alone, against the truth."""

from __future__ import annotations

import pytest

from oracle.judge import Verdict, judge_lower, judge_upper, upper_level
from oracle.random_mechanisms import Generator
from oracle.truth import Truth
from shuffledp import ShuffleAccountant, parse
from shuffledp.basics.errors import MAX_EPSILON0, MIN_EPSILON0
from shuffledp.comparison.published import BASELINES


def judge_bounds(generator: Generator, count: int, epsilons: int, deltas: int) -> None:
    verdict = Verdict()
    for instance in generator.instances(count):
        truth = Truth(instance.channel, instance.n)
        points = generator.epsilons(instance.channel, epsilons)
        targets = generator.deltas(deltas)
        try:
            mechanism = parse(instance.text)
        except ValueError:
            continue
        for name, analysis in BASELINES.items():
            baseline, text = analysis(mechanism, instance.n), f"{name} of {instance.text}"
            if analysis.kind == "upper":
                judge_upper(text, baseline, truth, points, targets, verdict)
            elif instance.channel.whole:
                answers = baseline.get_delta, baseline.get_epsilon
                judge_lower(text, *answers, truth, points, targets, verdict)
        level = upper_level(instance.channel)
        if level is not None and MIN_EPSILON0 <= level <= MAX_EPSILON0:
            text = f"any_pure_ldp(epsilon0={level!r})"
            accountant = ShuffleAccountant(parse(text), instance.n)
            judge_upper(f"{text} for {instance.text}", accountant, truth, points, targets, verdict)
    assert not verdict.violations, "\n".join(verdict.violations)
    assert len(verdict.refusals) < verdict.questions


@pytest.mark.heavy
def test_published_bounds_of_single_mechanisms() -> None:
    judge_bounds(Generator(201, (), effort=2_000), 6, 2, 1)


@pytest.mark.heavy
def test_published_bounds_of_compositions() -> None:
    judge_bounds(Generator(202, ("joint", "subsample"), effort=2_000), 6, 2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3001, 3004))
def test_published_bounds_of_many_mechanisms(seed: int) -> None:
    judge_bounds(Generator(seed), 100, 4, 2)
