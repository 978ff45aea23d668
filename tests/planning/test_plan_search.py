"""The search: exhaustive where it says so, certified always, and no shape is assumed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from shuffledp import (
    KRR,
    DiscreteLaplace,
    LocalHash,
    ShuffleAccountant,
    SubsetSelection,
    calibrate_epsilon0,
)
from shuffledp.accounting import Setting
from shuffledp.accounting.calibration.level import Trial
from shuffledp.basics.errors import MAX_EPSILON0, NoAnswerError
from shuffledp.comparison.published import BASELINES
from shuffledp.planning.analysis import BestPublished, Guarantee
from shuffledp.planning.family_search import accurate_epsilon0, least_epsilon, least_error, runs
from shuffledp.planning.frequency_task import Frequency
from shuffledp.planning.mean_task import Mean

N, EPSILON, DELTA = 1000, 0.3, 1e-6


@dataclass(frozen=True)
class Toy:
    """A mechanism that is safe up to an epsilon0 of its own."""

    epsilon0: float
    choice: int

    @property
    def report_dtype(self):
        return np.dtype("u1")


@dataclass(frozen=True)
class ToyTask:
    """Errors without any order among the choices."""

    factors: tuple[float, ...]

    def error(self, toy):
        return self.factors[toy.choice] / toy.epsilon0


@dataclass
class ToyAnalysis:
    limits: tuple[float, ...]
    evaluations: int = 0

    def attempt(self, toy, epsilon):
        self.evaluations += 1
        return Trial.of("toy" if toy.epsilon0 <= self.limits[toy.choice] * epsilon else None)

    def excess(self, toy, epsilon):
        return 0.0

    def least_epsilon(self, toy):
        return toy.epsilon0 / self.limits[toy.choice], "toy"


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_choices_in_no_order(seed):
    rng = np.random.default_rng(seed)
    limits, factors = rng.uniform(1, 5, 60), rng.uniform(1, 5, 60)
    families = [partial(Toy, choice=i) for i in range(60)]
    task, analysis = ToyTask(tuple(factors)), ToyAnalysis(tuple(limits))
    best = int(np.argmin(factors / limits))
    found = least_error(families, task, analysis, 0.5)
    assert (found.randomizer.choice, found.bound, found.epsilon) == (best, "toy", 0.5)
    assert 0.5 * limits[best] * (1 - 1e-5) <= found.randomizer.epsilon0 <= 0.5 * limits[best]
    assert analysis.evaluations < 60 + 10 * 25
    back = least_epsilon(families, task, analysis, task.error(found.randomizer))
    assert back.randomizer.choice == best
    assert back.epsilon == pytest.approx(0.5, rel=2e-5)


def test_nothing_safe_and_everything_safe():
    families, task = [partial(Toy, choice=0)], ToyTask((1.0,))
    assert least_error(families, task, ToyAnalysis((0.0,)), 1.0) is None
    found = least_error(families, task, ToyAnalysis((1e9,)), 1.0)
    assert found.randomizer.epsilon0 == MAX_EPSILON0
    tiny = least_error(families, task, ToyAnalysis((1e-3,)), 1e-5)
    assert tiny.randomizer.epsilon0 == pytest.approx(1e-8, rel=2e-5)


def test_accurate_epsilon0():
    family, task = partial(Toy, choice=0), ToyTask((1.0,))
    assert accurate_epsilon0(family, task, 1 / 3.0) == pytest.approx(3.0, rel=2e-9)
    assert task.error(family(accurate_epsilon0(family, task, 0.123))) <= 0.123
    assert accurate_epsilon0(family, task, 1 / 301) is None
    assert accurate_epsilon0(family, task, 1e12) == 1e-9
    assert least_epsilon([family], task, ToyAnalysis((1.0,)), 1 / 301) is None


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["krr", "olh", "subset"])
def test_agrees_with_calibration_of_every_choice(name):
    task = Frequency(n=N, domain_size=20)
    families = task.mechanisms()[name][:14]
    target = {"n": N, "target_epsilon": EPSILON, "target_delta": DELTA}
    all_choices = []
    for family in families:
        text = re.sub(r"epsilon0=1\.0(, )?", "", str(family(1.0)))
        mechanism = calibrate_epsilon0(text, **target).mechanism
        all_choices.append((task.error(mechanism), mechanism))
    error, mechanism = min(all_choices, key=lambda pair: pair[0])
    found = least_error(families, task, Guarantee(Setting(n=N), DELTA), EPSILON).randomizer
    assert found.epsilon0 == pytest.approx(mechanism.epsilon0, rel=3e-5)
    assert found.epsilon0 <= mechanism.epsilon0 * (1 + 1e-5)
    assert task.error(found) == pytest.approx(error, rel=1e-4)
    assert str(found).split("epsilon0")[0] == str(mechanism).split("epsilon0")[0]


@pytest.mark.heavy
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
)
def test_a_finer_grid_gains_little(seed):
    """Between the choices that are tried nothing much better hides."""
    rng = np.random.default_rng(seed)
    n, epsilon = int(10 ** rng.uniform(2, 6)), float(10 ** rng.uniform(-2, 0.5))
    size = int(10 ** rng.uniform(1, 5))
    task, analysis = Frequency(n, size), Guarantee(Setting(n=n), 1e-6)
    found = least_error(task.mechanisms()["olh"], task, analysis, epsilon)
    buckets = found.randomizer.buckets
    finer = {max(3, round(buckets * 1.2 ** (i / 5))) for i in range(-6, 7)}
    families = [partial(LocalHash, buckets=g, domain_size=size) for g in sorted(finer)]
    better = least_error(families, task, analysis, epsilon)
    assert task.error(better.randomizer) >= task.error(found.randomizer) * 0.99


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    "mechanism",
    [KRR(5, 1.0), LocalHash(1.0, 3, 50), SubsetSelection(1.0, 50, 4), DiscreteLaplace(1.0, 3)],
    ids=lambda mechanism: mechanism.name,
)
def test_hopeless_means_hopeless(mechanism):
    """What the estimate rejects the certified bound rejects, too."""
    for epsilon in (0.0, 0.03, 0.1, 0.2, 0.5, 1.0, 1.5):
        exact = ShuffleAccountant(mechanism, N).get_delta(epsilon)
        for factor in (1e-3, 0.5, 0.99, 1.01, 1e3):
            delta = min(exact * factor, 1.0)
            proof = Guarantee(Setting(n=N), delta).attempt(mechanism, epsilon).proof
            assert (proof == "guarantee") == (exact <= delta)


def published(mechanism, n, epsilon):
    """All upper bounds that are valid as published."""
    names = [name for name, bound in BASELINES.items() if bound.kind == "upper" and bound.sound]
    names.remove("restored_generic")
    if not isinstance(mechanism, KRR):
        names.remove("stronger_clone")
    found = {}
    for name in names:
        try:
            found[name] = BASELINES[name](mechanism, n).get_delta(epsilon)
        except NoAnswerError:
            continue
    return found


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize(
    "mechanism",
    [KRR(5, 1.0), LocalHash(1.0, 3, 50), DiscreteLaplace(1.0, 3), KRR(2, 0.5)],
    ids=str,
)
@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.3])
def test_best_published_bound(mechanism, epsilon):
    deltas = published(mechanism, 2000, epsilon)
    best = min(deltas.values())
    assert (
        BestPublished(Setting(n=2000), best * (1 - 1e-9)).attempt(mechanism, epsilon).proof is None
    )
    name = BestPublished(Setting(n=2000), best).attempt(mechanism, epsilon).proof
    assert deltas[name] == best
    if best < 1:
        least, name = BestPublished(Setting(n=2000), best).least_epsilon(mechanism)
        assert least <= epsilon * (1 + 1e-3)
        assert name in deltas


def test_delta_1_needs_no_evaluation(monkeypatch):
    monkeypatch.setattr(ShuffleAccountant, "get_delta", None)
    assert Guarantee(Setting(n=10), 1.0).attempt(KRR(3, 1.0), 0.0).proof == "guarantee"


def test_no_finite_epsilon(monkeypatch):
    monkeypatch.setattr(ShuffleAccountant, "get_epsilon", lambda self, delta: math.inf)
    assert Guarantee(Setting(n=10), 1e-6).least_epsilon(KRR(3, 1.0)) is None


@pytest.mark.heavy
def test_only_what_runs_is_offered():
    assert runs(LocalHash(1.0, buckets=4, domain_size=10**6))
    assert not runs(LocalHash(1.0, buckets=2**40, domain_size=10**6))
    task = Mean(n=50, domain_size=None)
    too_many = [partial(LocalHash, buckets=2**40, domain_size=10**6)]
    hashing = Frequency(50, 10**6)
    assert least_error(too_many, hashing, Guarantee(Setting(n=50), 1e-3), 1.0) is None
    assert least_epsilon(too_many, hashing, Guarantee(Setting(n=50), 1e-3), 10.0) is None
    assert (
        least_error(task.mechanisms()["krr"], task, Guarantee(Setting(n=50), 1e-3), 1.0) is not None
    )
