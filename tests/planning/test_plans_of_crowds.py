"""Plans for users some of whom are corrupted: whom privacy is for, and what errors assume."""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import KRR, Aggregator, ShuffleAccountant, plan
from shuffledp.accounting import Setting
from shuffledp.accounting.crowd import Crowd
from shuffledp.cli import main
from shuffledp.mechanisms import DiscreteLaplace
from shuffledp.planning import error_chart
from shuffledp.planning.analysis import BestPublished, Guarantee
from shuffledp.planning.candidate import _shift
from shuffledp.planning.frequency_task import Frequency

N, F, DELTA = 1000, 100, 1e-4
MEAN = {"n": N, "target_delta": DELTA, "task": "mean", "domain_size": 2}


@cache
def made(**crowd):
    return plan(target_epsilon=0.5, **MEAN, **crowd)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "crowd", [{"corrupted": F}, {"corrupted": 0.1}, {"corrupted_adaptively": F}]
)
def test_privacy_is_that_of_the_honest(crowd):
    honest, found = made(), made(**crowd)
    for option in found.options:
        ours = ShuffleAccountant(option.ours.randomizer, N, **crowd)
        assert ours.get_epsilon(DELTA) <= option.ours.epsilon == 0.5
        more = type(option.ours.randomizer)(
            **{**vars(option.ours.randomizer), "epsilon0": option.ours.randomizer.epsilon0 * 1.001}
        )
        assert ShuffleAccountant(more, N, **crowd).get_epsilon(DELTA) > 0.5
        assert found.task.error(option.ours.randomizer) == option.ours.error  # of all n reports
    assert found.best.ours.error > honest.best.ours.error
    assert found.crowd == (Crowd(N, F) if "corrupted" in crowd else Crowd(N, 0, F))


@pytest.mark.heavy
def test_asked_backwards():
    error = made(corrupted=F).best.ours.error
    found = plan(target_error=error * (1 + 1e-9), **MEAN, corrupted=F)
    assert found.best.ours.epsilon == pytest.approx(0.5, rel=1e-3)
    ours = ShuffleAccountant(found.best.ours.randomizer, N, corrupted=F)
    assert found.best.ours.epsilon == ours.get_epsilon(DELTA)


def test_published_bounds_are_asked_about_the_honest():
    krr, crowd = KRR(k=4, epsilon0=1.0), {"corrupted": F}
    few, some = (BestPublished(Setting(n=n, **c), DELTA) for n, c in ((N - F, {}), (N, crowd)))
    assert some.least_epsilon(krr) == few.least_epsilon(krr)
    assert some.attempt(krr, 0.3) == few.attempt(krr, 0.3)
    adaptive = BestPublished(Setting(n=N, corrupted_adaptively=1), DELTA)
    assert adaptive.least_epsilon(krr) is None
    assert adaptive.attempt(krr, 3.0).proof is None
    assert made(corrupted_adaptively=F).best.previous is None
    ours = Guarantee(Setting(n=N, corrupted=F, corrupted_adaptively=3), DELTA)
    accountant = ShuffleAccountant(krr, N, corrupted=F, corrupted_adaptively=3)
    assert ours.least_epsilon(krr)[0] == accountant.get_epsilon(DELTA)


@pytest.mark.parametrize("mechanism", ["krr(k=4, epsilon0=1)", "oue(epsilon0=1, domain_size=4)"])
def test_shifts_are_those_of_the_worst_reports(mechanism):
    """As many reports as are corrupted support a value or do not, the others stay."""
    n, f = 50, 7
    found = []
    for supported in (10, 10 + f):
        aggregator = Aggregator(mechanism)
        aggregator.add_sum([supported, 30, 0, 20 - supported], n=n)
        found.append(aggregator.estimate().values[0])
    shift = _shift(aggregator.randomizer, f, n)
    assert found[1] - found[0] <= shift
    assert found[1] - found[0] == pytest.approx(shift)
    assert shift == aggregator.largest_shifts(f).max()


def test_a_mean_of_levels_is_moved_no_farther():
    n, f, krr = 50, 7, KRR(k=5, epsilon0=1.0)
    found = []
    for lowest in (20, 20 - f):  # so many reports of level 0 become level 1
        aggregator = Aggregator(krr)
        aggregator.add_sum([lowest, 0, 0, 0, n - lowest], n=n)
        found.append(aggregator.weighted(np.linspace(0, 1, 5)).values[0])
    assert found[1] - found[0] == pytest.approx(_shift(krr, f, n))
    assert _shift(DiscreteLaplace(epsilon0=1.0, bound=4), f, n) == math.inf


@pytest.mark.heavy
def test_charts_are_of_the_same_crowd():
    task = Frequency(n=N, domain_size=2)
    chart = error_chart(task, (1.0,), 0.0, setting=Setting(n=N, corrupted=F))
    assert "1,000 users, 100 of them corrupted" in chart.title
    target = {"target_delta": 0.0, "target_epsilon": 1.0, "domain_size": 2}
    options = plan(n=N, corrupted=F, **target).options
    lines = {line.label: line.y[0] for line in chart.lines}
    assert all(lines[option.name] == option.ours.error for option in options)


def ask(*options):
    line = ["plan", "-n", "1000", "--delta", "1e-4", "--epsilon", "0.5", "--task", "mean"]
    result = CliRunner().invoke(main, [*line, "--domain", "2", *options])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.heavy
def test_texts_say_who_is_corrupted_and_what_errors_assume():
    text = " ".join(ask("--corrupted", "10%").split())
    assert "users 1,000, 100 of them corrupted target" in text
    assert "With 1,000 users, 100 of them corrupted, an estimated mean is typically off" in text
    assert "Errors are those of the noise, if all 1,000 users report as planned." in text
    assert "100 corrupted users who choose their reports can move a mean by at most" in text
    assert "lying about their values moves it by no more than 0.1 on average" in text
    text = " ".join(ask("--corrupted-adaptively", "10").split())
    assert "Published bounds do not cover reports that are learned adaptively." in text
    assert "Poisoning" not in text
    assert "Poisoning" not in ask()
    assert "1,000 users, 100 of them corrupted" in made(corrupted=F)._repr_html_()


@pytest.mark.heavy
def test_json_says_it_too():
    answer = json.loads(ask("--corrupted", "100", "--json"))
    assert (answer["corrupted"], answer["corrupted_adaptively"]) == (100, 0)
    assert any("of 100 users, fixed before" in fact for fact in answer["assumptions"])
    shifts = {option["name"]: option["largest_shift"] for option in answer["options"]}
    assert shifts["krr"] == pytest.approx(
        0.1 / KRR(2, answer["options"][0]["epsilon0"]).support_advantage
    )
    assert shifts["discrete_laplace"] is None
    assert all(o["largest_shift"] is None for o in json.loads(ask("--json"))["options"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["-n", "10", "--delta", "1e-4", "--epsilon", "1", "--domain", "2", "--corrupted", "10"],
            "at most 9",
        ),
        (
            ["--study", "x.toml", "--corrupted", "1"],
            "leave out corrupted=1",
        ),
        (["--study", "x.toml", "--corrupted-adaptively", "1"], "leave out corrupted_adaptively=1"),
    ],
)
def test_refusals(options, said):
    result = CliRunner().invoke(main, ["plan", *options])
    assert result.exit_code == 2
    assert said in result.stderr
