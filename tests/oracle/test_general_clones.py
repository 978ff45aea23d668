"""Bounds of given decompositions against the truth of their pair of inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest

from oracle.channel import Value
from oracle.clones import random_clone
from oracle.judge import Verdict, judge_upper
from oracle.random_mechanisms import Generator
from oracle.reader import read
from oracle.truth import Truth
from shuffledp import GeneralClone, MatrixRandomizer
from shuffledp.mechanisms import Pair


@dataclass(frozen=True)
class Bound:
    """The bound of one decomposition for n users."""

    clone: GeneralClone
    n: int

    def get_delta(self, target_epsilon: float) -> float:
        return self.clone.delta_interval(self.n, target_epsilon).upper

    def get_epsilon(self, target_delta: float) -> float:
        return self.clone.epsilon_interval(self.n, target_delta).upper


def first_to_second(first: Value, second: Value) -> bool:
    return (first, second) == (0, 1)


def judge_clones(seed: int, count: int) -> None:
    random, verdict = Random(seed), Verdict()
    for _ in range(count):
        given, n = random_clone(random), random.randint(1, 4)
        clone = GeneralClone(
            MatrixRandomizer(np.array(given.rows)),
            Pair(0, 1),
            np.array(given.components),
            np.array(given.a),
            np.array(given.b),
            np.array(given.c),
        )
        channel = replace(read(f"matrix({given.rows})"), related=first_to_second)
        epsilons = [0.0, random.uniform(0, 2), 10 ** random.uniform(-6, 1)]
        deltas = [10 ** random.uniform(-9, 0), 0.0]
        judge_upper(str(given), Bound(clone, n), Truth(channel, n), epsilons, deltas, verdict)
    assert not verdict.violations, "\n".join(verdict.violations)
    assert not verdict.refusals, "\n".join(verdict.refusals)


def judge_named_clones(seed: int, count: int) -> None:
    generator, verdict = Generator(seed), Verdict()
    for _ in range(count):
        rows, n = (
            generator.matrix(generator.random.choice((2, 2, 3))),
            generator.random.choice((1, 2, 3)),
        )
        channel = replace(read(f"matrix({rows})"), related=first_to_second)
        epsilons = generator.epsilons(channel, 3)
        for name in ("primary", "simplified", "standard", "stronger"):
            try:
                clone = getattr(GeneralClone, name)(MatrixRandomizer(np.array(rows)), Pair(0, 1))
            except ValueError:
                continue  # rows that are equal, or not pure LDP
            text = f"{name} clone of matrix({rows})"
            judge_upper(text, Bound(clone, n), Truth(channel, n), epsilons, [1e-6], verdict)
    assert not verdict.violations, "\n".join(verdict.violations)
    assert verdict.questions > 4 * count


@pytest.mark.heavy
def test_random_decompositions() -> None:
    judge_clones(301, 60)


def test_named_decompositions() -> None:
    judge_named_clones(303, 20)


@pytest.mark.slow
def test_named_decompositions_of_many_matrices() -> None:
    judge_named_clones(304, 500)


@pytest.mark.slow
def test_many_random_decompositions() -> None:
    judge_clones(302, 1000)
