"""``--view sum`` on the command line: what is answered, and what every answer says about it."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from command_line import run

from shuffledp import ShuffleAccountant, compare, curve, plan

NOISE, CROWD = "laplace(1)", ("-n", "1000", "--delta", "1e-6")


def ask(*arguments):
    result = run(*arguments, "--view", "sum")
    assert result.exit_code == 0, result.output
    return result


def asked(*arguments):
    return json.loads(ask(*arguments, "--json").stdout)


def test_compare():
    sums, multiset = (
        {row.bound: row for row in compare(NOISE, 1000, 1e-6, view=view).rows}
        for view in ("sum", "multiset")
    )
    accountant = ShuffleAccountant(NOISE, 1000, view="sum")
    assert sums["guarantee"].epsilon == accountant.get_epsilon(1e-6)
    assert sums["lower_bound"].epsilon == accountant.epsilon_lower_bound(1e-6)
    for name, row in sums.items():
        if name in ("guarantee", "lower_bound"):
            continue
        if row.kind == "lower":
            assert row.epsilon is None
        else:
            assert (row.epsilon, row.reason) == (multiset[name].epsilon, multiset[name].reason)
            assert row.epsilon is None or row.epsilon >= sums["guarantee"].epsilon


def test_lower_bounds_of_the_multiset_stand_where_the_sum_tells_as_much():
    sums, multiset = (compare("krr(3, 1)", 100, 1e-6, view=view) for view in ("sum", "multiset"))
    assert sums.rows == multiset.rows


def test_compare_says_what_is_seen():
    text = ask("compare", NOISE, *CROWD).stdout
    assert "The analyst sees the sum of the reports alone." in text
    assert "only the sum is seen" in compare(NOISE, 100, 1e-6, view="sum").title
    answer = asked("compare", NOISE, *CROWD)
    assert answer["view"] == "sum"
    assert "the analyst sees nothing but the sum of the reports" in answer["assumptions"]
    table = run("compare", NOISE, *CROWD, "--view", "sum", "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert {row["view"] for row in rows} == {"sum"}


def test_curve():
    points = [100, 1000]
    found = curve(["laplace(1)", "subset(1, 8)"], x=points, target_delta=1e-6, view="sum")
    ours = {(item.mechanism, item.bound): item.y for item in found.curves}
    noise = [ShuffleAccountant("laplace(1)", n, view="sum").get_epsilon(1e-6) for n in points]
    assert ours["laplace(epsilon0=1.0)", "guarantee"].tolist() == noise
    blanket = ShuffleAccountant("laplace(1)", 100, bound="blanket").get_epsilon(1e-6)
    assert ours["laplace(epsilon0=1.0)", "blanket"][0] == blanket > noise[0]
    assert not ours["subset(epsilon0=1.0, domain_size=8)", "lower_bound"].any()
    assert found.title.endswith("only the sum is seen")
    assert [note for note in found.notes if "the guarantee is that of the multiset" in note]
    answer = found.to_dict()
    assert (answer["view"], len(answer["seen"])) == ("sum", 1)


def test_curve_on_the_command_line():
    line = ("curve", "discrete_laplace(1, 2)", "--delta", "1e-6", "--from", "50", "--to", "100")
    answer = asked(*line, "--points", "2", "--bound", "guarantee")
    assert answer["view"] == "sum"
    assert "the analyst sees nothing but the sum of the reports" in answer["assumptions"]
    assert answer["seen"] == []


@pytest.mark.heavy
def test_plans_for_sums_are_never_worse():
    target = {"n": 300, "target_epsilon": 0.5, "target_delta": 1e-6, "task": "mean"}
    sums, multiset = (
        {option.name: option for option in plan(**target, domain_size=3, view=view).options}
        for view in ("sum", "multiset")
    )
    assert sums["discrete_laplace"].ours.error < multiset["discrete_laplace"].ours.error
    assert sums["krr"].ours == multiset["krr"].ours
    assert sums["krr"].previous == multiset["krr"].previous
    best = sums["discrete_laplace"].ours.randomizer
    assert ShuffleAccountant(best, 300, view="sum").get_epsilon(1e-6) <= 0.5


@pytest.mark.heavy
def test_plan_on_the_command_line():
    line = ("plan", "--task", "mean", "--domain", "3", "-n", "300", "--delta", "1e-6")
    text = " ".join(ask(*line, "--epsilon", "0.5").stdout.split())
    assert "and the sum of the reports is (0.5, 1e-6)-differentially private" in text
    assert "The guarantee of the multiset stands for krr." in text


@pytest.mark.heavy
def test_plan_for_programs():
    line = ("plan", "--task", "mean", "--domain", "3", "-n", "300", "--delta", "1e-6")
    answer = asked(*line, "--error", "0.1")
    assert answer["view"] == "sum"
    assert "the analyst sees nothing but the sum of the reports" in answer["assumptions"]


def test_rounds():
    text = ask("rounds", "discrete_laplace(1, 2)", *CROWD, "--times", "3", "--rtol", "0.05").stdout
    assert "After 3 rounds all sums together are (" in " ".join(text.split())
    assert "- the analyst sees the sum of the reports alone" in text
    line = ("rounds", "discrete_laplace(1, 2)", *CROWD, "--times", "3", "--rtol", "0.05", "--json")
    multiset = json.loads(run(*line).stdout)
    sums = json.loads(run(*line, "--view", "sum").stdout)
    assert (multiset["rounds"][0]["view"], sums["rounds"][0]["view"]) == ("multiset", "sum")
    assert sums["guarantee"]["upper"] < multiset["lower_bound"]


def test_certificates_of_sums_that_are_not_known_are_those_of_the_multiset():
    result = run("certify", "krr(3, 1)", *CROWD, "--view", "sum")
    assert result.exit_code == 2
    assert "certificates of the multiset hold for the sum as well" in result.stderr


@pytest.mark.parametrize("command", ["compare", "delta", "epsilon"])
def test_unknown_views_are_refused(command):
    what = ("--epsilon", "1") if command == "delta" else ("--delta", "1e-6")
    result = run(command, NOISE, "-n", "100", *what, "--view", "histogram")
    assert result.exit_code == 2
    assert "--view" in result.stderr


def test_calibrate_and_users():
    target = ("--epsilon", "0.2", "--delta", "1e-6")
    found = asked("calibrate", "discrete_laplace(bound=2)", "-n", "300", *target)
    accountant = ShuffleAccountant(found["mechanism"], 300, view="sum")
    assert math.isclose(accountant.get_epsilon(1e-6), found["guarantee"]["upper"])
    assert (found["view"], found["bound"]) == ("sum", "exact")
    enough = asked("users", "discrete_laplace(1, 2)", *target)
    fewer = ShuffleAccountant("discrete_laplace(1, 2)", enough["n"] - 1, view="sum")
    assert fewer.epsilon_lower_bound(1e-6) > 0.2
