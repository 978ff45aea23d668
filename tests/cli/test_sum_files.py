"""``randomize --view sum``: nothing but the sum is written, and estimates are made from it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import run

from shuffledp import Aggregator, ShuffleAccountant
from shuffledp.deployment.files import sidecar_path

ROWS = [[0.7 if x == y else 0.1 for y in range(4)] for x in range(4)]
MATRIX = f"matrix({ROWS})"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("colour,age\n" + "red,3\ngreen,1\nblue,0\nred,2\n" * 50, encoding="utf-8")
    return path


def publish(table, mechanism, column="colour", *more):
    out = table.with_name("sum.json")
    line = ("randomize", str(table), "--column", column, "--mechanism", mechanism)
    return out, run(*line, "--delta", "1e-6", "--view", "sum", "-o", str(out), *more)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("mechanism", "column", "more"),
    [
        ("oue(epsilon0=3, domain_size=3)", "colour", ("--values", "red,green,blue")),
        ("krr(k=3, epsilon0=3)", "colour", ("--values", "red,green,blue")),
        ("discrete_laplace(epsilon0=2, bound=3)", "age", ()),
        (MATRIX, "age", ()),
    ],
)
def test_the_sum_alone_is_written_and_enough(table, mechanism, column, more):
    out, done = publish(table, mechanism, column, *more)
    assert done.exit_code == 0, done.output
    assert "Nothing but the sum of the reports was written." in done.stdout
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content.keys() - {"values"} in ({"n", "counts"}, {"n", "sum"})
    assert sorted(path.name for path in table.parent.iterdir()) == [
        "answers.csv",
        "sum.json",
        "sum.json.json",
    ]
    sidecar = json.loads(sidecar_path(out).read_text(encoding="utf-8"))
    accountant = ShuffleAccountant(mechanism, 200, view="sum")
    assert (sidecar["view"], sidecar["n"]) == ("sum", 200)
    assert sidecar["guarantee"]["epsilon"] == accountant.get_epsilon(1e-6)
    assumed = accountant.epsilon_report(1e-6).assumptions
    assert set(assumed) <= set(sidecar["assumptions"])
    found = json.loads(run("estimate", "--from-counts", str(out), "--json").stdout)
    assert ", the sum alone\n" in run("estimate", "--from-counts", str(out)).stdout
    aggregator = Aggregator(mechanism)
    aggregator.add_sum(content.get("counts", content.get("sum")), 200)
    np.testing.assert_array_equal(found["estimates"][0]["estimates"], aggregator.estimate().values)
    assert (found["view"], found["mechanism"]) == ("sum", sidecar["mechanism"])
    assert found["guarantee"]["epsilon"] == sidecar["guarantee"]["epsilon"]
    assert found["estimates"][0]["column"] == column
    if more:
        assert found["estimates"][0]["values"] == ["red", "green", "blue"]


def test_a_changed_sum_is_found_out(table):
    out, _ = publish(table, "krr(k=3, epsilon0=3)", "colour", "--values", "red,green,blue")
    other = run("estimate", "--from-counts", str(out), "--mechanism", "krr(k=3, epsilon0=4)")
    assert "is of krr(k=3, epsilon0=3.0), not of" in other.stderr
    out.write_text(out.read_text(encoding="utf-8").replace("200", "201"), encoding="utf-8")
    changed = run("estimate", "--from-counts", str(out))
    assert changed.exit_code == 1
    assert "was changed" in changed.stderr


def test_what_does_not_fit_is_refused(table):
    line = ("randomize", str(table), "--column", "colour", "--mechanism", "krr(k=3, epsilon0=3)")
    line += ("--values", "red,green,blue", "--delta", "1e-6")
    for more, message in (
        (("--view", "sum", "-o", "reports.csv"), "ends in .json"),
        (("-o", "reports.json"), "must end in .csv or .parquet"),
        (("--view", "sum", "-o", "s.json", "--ledger", "l.jsonl"), "not for sums"),
    ):
        done = run(*line, *more)
        assert done.exit_code == 2
        assert message in " ".join(done.stderr.split())
    plan = run("randomize", str(table), "--plan", "p.json", "--view", "sum", "-o", "s.json")
    assert "--view does not go with --plan" in plan.stderr
    one_of = "one_of(0.5*krr(k=3, epsilon0=3), 0.5*krr(k=4, epsilon0=1))"
    labels = ("--values", "red,green,blue", "--values", "")
    _, done = publish(table, one_of, "colour", "--column", "age", *labels)
    assert done.exit_code == 2
    assert "is not what estimates need" in done.stderr


def test_totals_are_what_add_sum_takes():
    for text, reports in (
        ("krr(k=3, epsilon0=1)", np.array([0, 2, 2], dtype=np.uint8)),
        ("discrete_laplace(epsilon0=1, bound=4)", np.array([-(2**40), 5, 2**41])),
    ):
        first, second = Aggregator(text), Aggregator(text)
        first.add(reports)
        second.add_sum(first.total, 3)
        assert second.total == first.total
    with pytest.raises(TypeError, match="is not what estimates need"):
        _ = Aggregator("joint(krr(k=2, epsilon0=1), subsample(krr(2, 1), rate=0.5))").total


@pytest.mark.heavy
def test_a_sum_for_each_attribute(table):
    joint = "joint(oue(epsilon0=3, domain_size=3), discrete_laplace(epsilon0=2, bound=3))"
    labels = ("--values", "red,green,blue", "--values", "")
    out, done = publish(table, joint, "colour", "--column", "age", *labels)
    assert done.exit_code == 0, done.output
    content = json.loads(out.read_text(encoding="utf-8"))
    first, second = content["attributes"]
    assert (first["name"], second["name"]) == ("colour", "age")
    assert first["values"] == ["red", "green", "blue"]
    sidecar = json.loads(sidecar_path(out).read_text(encoding="utf-8"))
    accountant = ShuffleAccountant(joint, 200, view="sum")
    assert sidecar["guarantee"]["epsilon"] == accountant.get_epsilon(1e-6)
    found = json.loads(run("estimate", "--from-counts", str(out), "--json").stdout)
    assert (found["view"], found["n"]) == ("sum", 200)
    aggregator = Aggregator(joint)
    aggregator.add_sum([first["counts"], second["sum"]], 200)
    for one, estimate in zip(found["estimates"], aggregator.estimate(), strict=True):
        np.testing.assert_array_equal(one["estimates"], estimate.values)
        np.testing.assert_array_equal(one["standard_errors"], estimate.standard_errors)
    assert [one["column"] for one in found["estimates"]] == ["colour", "age"]
    assert found["estimates"][0]["values"] == ["red", "green", "blue"]


def test_reports_that_have_no_sum_are_refused_before_the_work(table):
    out, done = publish(table, "subsample(krr(k=4, epsilon0=1), rate=0.5)", "age")
    assert done.exit_code != 0
    assert "is not what estimates need" in done.stderr
    assert not out.exists()
