"""A caller whose NumPy raises at every underflow gets an answer from every door nevertheless."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

import shuffledp
from shuffledp import Aggregator, Group, ShuffleAccountant, parse
from shuffledp.basics.errors import NoAnswerError
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import epsilon_above, epsilon_below
from shuffledp.bounds.swap.curve import Swapped
from shuffledp.comparison.published import BASELINES
from shuffledp.decomposition import Decomposition
from shuffledp.deployment.files import Guarantee
from shuffledp.deployment.study import (
    Attribute,
    Shuffle,
    Study,
    StudyDesign,
    estimate_reports,
    plan_study,
    randomize_frame,
)
from shuffledp.mechanisms.base import SlotLaws

KRR, BITS, NOISE = "krr(k=4, epsilon0=2)", "oue(epsilon0=2, domain_size=30)", "laplace(epsilon0=1)"
SUMS = (
    NOISE,
    "gaussian(sigma=2)",
    "discrete_laplace(epsilon0=2, bound=4)",
)
COLLECTED = (
    KRR,
    BITS,
    NOISE,
    "krr(k=3, epsilon0=300)",
    "subset(epsilon0=2, domain_size=20)",
    "blh(epsilon0=2, domain_size=20)",
    "hadamard(epsilon0=2, domain_size=20)",
    "gaussian(sigma=2)",
    "discrete_laplace(epsilon0=2, bound=4)",
)
#: Published bounds that are formulas.
FORMULAS = ("erlingsson", "generic_hoeffding", "generic_bennett", "standard_clone_closed_form")
USERS = (3, 1000, 10**12)
GROUPS = [Group(KRR, 500), Group("krr(k=4, epsilon0=4)", 300)]
TARGET = {"target_epsilon": 0.5, "target_delta": 1e-6}


def check(ask: Callable[[], object]) -> None:
    """Asking must not raise; answers are the affair of other tests."""
    with np.errstate(all="raise"):
        ask()


@pytest.mark.parametrize("n", USERS)
@pytest.mark.parametrize("mechanism", [KRR, "blh(epsilon0=2)", NOISE])
def test_curves(mechanism: str, n: int) -> None:
    randomizer = parse(mechanism)
    law = randomizer.decomposition(randomizer.neighbours()[0])
    for search in (epsilon_above, epsilon_below):
        check(lambda s=search: s(Decomposed(law, n, 1e-4), 1e-6, 1e-4))
    for log_delta in (Decomposed.above, Decomposed.below, Decomposed.estimate):
        check(lambda f=log_delta: f(Decomposed(law, n, 1e-4), 0.123))


@pytest.mark.parametrize("n", USERS)
def test_swapped_curves(n: int) -> None:
    rows = [[0.5, 0.2, 0.3], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]]
    common = [min(column) for column in zip(*rows, strict=True)]
    blanket, *types = (
        Decomposition.from_coefficients(rows[0], rows[1], row) for row in (common, *rows)
    )
    check(lambda: epsilon_above(Swapped(SlotLaws(blanket, tuple(types)), n, 1e-4), 1e-6, 1e-4))


@pytest.mark.parametrize("n", USERS)
@pytest.mark.parametrize("mechanism", SUMS)
def test_sums(mechanism: str, n: int) -> None:
    check(lambda: ShuffleAccountant(mechanism, n, view="sum").epsilon_report(1e-6))


@pytest.mark.parametrize("name", FORMULAS)
def test_published_bounds(name: str) -> None:
    def ask(n: int) -> None:
        try:
            BASELINES[name](parse("krr(k=10, epsilon0=0.4)"), n).get_epsilon(1e-6)
        except NoAnswerError:
            return

    for n in (10, 10**4, 10**12):
        check(lambda n=n: ask(n))


@pytest.mark.heavy
@pytest.mark.parametrize("task", ["frequency", "mean"])
def test_plans(task: str) -> None:
    check(lambda: shuffledp.plan(n=1000, domain_size=30, task=task, **TARGET))


@pytest.mark.parametrize("mechanism", [KRR, NOISE])
def test_audits(mechanism: str) -> None:
    rng = np.random.default_rng(1)
    options = {"target_delta": 1e-3, "trials": 200, "rng": rng}
    check(lambda: shuffledp.audit(mechanism, 20, **options))


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("mechanism", [KRR, "gaussian(sigma=2)"])
def test_certificates(mechanism: str) -> None:
    proved: list[shuffledp.Certificate] = []
    check(lambda: proved.append(shuffledp.certify(mechanism, 1000, target_delta=1e-6)))
    check(lambda: shuffledp.verify(proved[0]))


@pytest.mark.parametrize("mechanism", COLLECTED)
def test_collections(mechanism: str) -> None:
    randomizer, rng = parse(mechanism), np.random.default_rng(1)

    def collect() -> None:
        reports = shuffledp.shuffle(randomizer.randomize(np.zeros(500, dtype=int), rng), rng)
        aggregator = Aggregator(randomizer)
        aggregator.add(reports)
        aggregator.estimate().confidence_interval(simultaneous=True)
        shuffledp.simulate(randomizer, np.zeros(500, dtype=int), rng=rng)

    check(collect)


def test_tiers_of_reports() -> None:
    rng = np.random.default_rng(1)
    tiers = [Aggregator(group.randomizer) for group in GROUPS]
    for tier, group in zip(tiers, GROUPS, strict=True):
        tier.add(group.randomizer.randomize(np.zeros(group.n, dtype=int), rng))
    check(lambda: shuffledp.estimate_tiers(tiers))


def attributes() -> Sequence[Attribute]:
    regions = Attribute.categories("region", ["north", "south", "west"], missing="leave out")
    return regions, Attribute.number("age", 20, 80)


def test_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Guarantee(2.0, 1e-6, 1.9)
    monkeypatch.setattr(
        "shuffledp.deployment.study.study_randomization._certify", lambda *_: (known, (known,) * 2)
    )
    parts = {"region": "krr(k=4, epsilon0=4.5)", "age": "krr(k=6, epsilon0=4.5)"}
    shuffles = tuple(Shuffle((name,), parse(text)) for name, text in parts.items())
    asked = Study(tuple(attributes()), 2000, 2.0, 1e-6)
    design = StudyDesign(asked, "separate shuffles", shuffles, 2.0, {})
    regions, ages = ["north", "south", None, "west"], [20.0, 40.0, 50.0, 80.0]
    frame = pd.DataFrame({"region": regions * 500, "age": ages * 500})

    def run() -> None:
        found = estimate_reports(randomize_frame(design, frame, np.random.default_rng(1)))
        found.answers["region"].top(3)
        assert found.answers["age"].mean is not None

    check(run)


def test_plans_of_studies() -> None:
    one, _ = attributes()
    check(lambda: plan_study(Study((one,), 2000, 2.0, 1e-6)))
