"""``shuffledp estimate --from-counts`` and ``--corrupted``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import run

from shuffledp import Aggregator

KRR = "krr(k=3, epsilon0=2)"
COUNTS = [610, 250, 140]


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def ask(path, mechanism, *more):
    result = run("estimate", "--from-counts", path, "--mechanism", mechanism, *more)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_estimates_and_errors_are_those_of_the_sum(write):
    aggregator = Aggregator(KRR)
    aggregator.add_sum(COUNTS, 1000)
    expected = aggregator.estimate()
    table = "value,count,n\nred,610,1000\nblue,250,1000\ngreen,140,1000\n"
    for path in (
        write("sum.json", json.dumps({"n": 1000, "counts": COUNTS})),
        write("sum.csv", table),
    ):
        answer = json.loads(ask(path, KRR, "--json"))
        (found,) = answer["estimates"]
        np.testing.assert_array_equal(found["estimates"], expected.values)
        np.testing.assert_array_equal(found["standard_errors"], expected.standard_errors)
        assert (answer["n"], answer["view"], answer["guarantee"]) == (1000, "sum", None)
        assert "the analyst sees nothing but the sum of the reports" in answer["assumptions"]
    assert found["values"] == ["red", "blue", "green"]


def test_text_and_labels(write):
    text = json.dumps({"n": 1000, "counts": COUNTS, "values": ["a", "b", "c"]})
    shown = ask(write("sum.json", text), KRR)
    assert "users      1,000" in shown
    assert "guarantee" not in shown
    assert [line.split()[0] for line in shown.splitlines()[3:]] == ["counts", "a", "b", "c"]


def test_a_domain_that_the_mechanism_does_not_know(write):
    answer = json.loads(
        ask(
            write("s.json", '{"n": 100, "counts": [50, 30]}'),
            "olh(epsilon0=1, buckets=4)",
            "--json",
        )
    )
    assert answer["estimates"][0]["values"] == ["0", "1"]


@pytest.mark.parametrize("content", ['{"n": 100, "sum": 3506176}', "sum,n\n3506176,100\n"])
def test_sums_of_noise(write, content):
    name = "s.json" if content.startswith("{") else "s.csv"
    answer = json.loads(ask(write(name, content), "laplace(epsilon0=1)", "--json"))
    assert answer["estimates"][0]["estimates"] == [0.535]
    assert answer["estimates"][0]["kind"] == "mean"


def test_poisoning(write):
    path = write("sum.json", json.dumps({"n": 1000, "counts": COUNTS}))
    aggregator = Aggregator(KRR)
    aggregator.add_sum(COUNTS, 1000)
    shown = " ".join(ask(path, KRR, "--corrupted", "1%").split())
    assert "10 corrupted users who choose their reports can move a frequency by at most" in shown
    assert "0.01470; lying about their values moves it by no more than 0.01 on average." in shown
    answer = json.loads(ask(path, KRR, "--corrupted", "10", "--json"))
    assert answer["corrupted"] == 10
    shifts = aggregator.largest_shifts(10).tolist()
    assert answer["estimates"][0]["largest_shifts"] == shifts
    noise = write("noise.json", '{"n": 100, "sum": 3506176}')
    assert "by any amount" in ask(noise, "laplace(epsilon0=1)", "--corrupted", "1")
    answer = json.loads(ask(noise, "laplace(epsilon0=1)", "--corrupted", "1", "--json"))
    assert answer["estimates"][0]["largest_shifts"] == [None]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.txt", "", "must be a JSON or CSV file"),
        ("s.json", "[1]", "one object"),
        ("s.json", "{", "holds no published sum"),
        ("s.json", '{"n": 10}', "one of counts and sum"),
        ("s.json", '{"n": 10, "sum": 1, "counts": [1]}', "one of counts and sum"),
        ("s.json", '{"n": 10, "m": 1, "counts": [1]}', "no fields but"),
        ("s.json", '{"n": true, "counts": [1]}', "n must be whole numbers"),
        ("s.json", '{"n": 10, "counts": [1.5, 2, 3]}', "counts must be whole numbers"),
        ("s.json", '{"n": 10, "counts": []}', "counts must be a list"),
        ("s.json", '{"n": 10, "counts": [3, 3, 3]}', "must have the sum n = 10"),
        ("s.json", '{"n": 10, "counts": [5, 5]}', "one count per value"),
        ("s.json", '{"n": 10, "counts": [5, 5, 11]}', "total"),
        ("s.json", '{"n": 10, "counts": [5, 5, 0], "values": ["a"]}', "as many as counts"),
        ("s.json", '{"n": 10, "counts": [5, 5, 0], "values": ["a", "a", "b"]}', "must differ"),
        ("s.json", '{"n": 10, "sum": NaN}', "NaN is not a number"),
        ("s.json", '{"n": 10, "attributes": []}', "attributes must be a list of objects"),
        ("s.json", '{"n": 10, "attributes": [3]}', "attributes must be a list of objects"),
        ("s.json", '{"n": 10, "sum": 3, "attributes": [{"sum": 3}]}', "no fields but attributes"),
        ("s.json", '{"attributes": [{"sum": 3}]}', "n must be whole numbers"),
        (
            "s.json",
            '{"n": 10, "attributes": [{"n": 10, "sum": 3}]}',
            "attribute 0: it must have no",
        ),
        ("s.json", '{"n": 10, "attributes": [{"sum": 3}, {}]}', "attribute 1: it must have one of"),
        ("s.json", '{"n": 9, "attributes": [{"name": 1, "sum": 3}]}', "name must be a text"),
        ("s.json", '{"n": 10, "sum": 3}', "no sum of reports"),
        ("s.csv", "", "its titles must be"),
        ("s.csv", "value,count\n1,2\n", "its titles must be"),
        ("s.csv", "value,count,n\na,5,10\nb,5,11\n", "n must be the same"),
        ("s.csv", "value,count,n\na,5,10\nb,5\n", "as many cells"),
        ("s.csv", "value,count,n\na,x,10\n", "count must be a number"),
        ("s.csv", "value,count,n\n", "n must be the same"),
        ("s.csv", "sum,n\n1,2\n3,2\n", "in one row"),
    ],
)
def test_bad_files(write, name, content, message):
    path = write(name, content)
    result = run("estimate", "--from-counts", path, "--mechanism", KRR)
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ((), "either REPORTS or --from-counts"),
        (("r.csv", "--from-counts", "s.json"), "either REPORTS or --from-counts"),
        (("--from-counts", "s.json"), "needs --mechanism or --group"),
        (("r.csv", "--mechanism", KRR), "belong to --from-counts"),
    ],
)
def test_bad_lines(line, message):
    result = run("estimate", *line)
    assert result.exit_code == 2
    assert message in result.stderr


def test_more_corrupted_users_than_there_are(write):
    path = write("sum.json", json.dumps({"n": 1000, "counts": COUNTS}))
    result = run("estimate", "--from-counts", path, "--mechanism", KRR, "--corrupted", "1000")
    assert result.exit_code == 2
    assert "corrupted" in result.stderr


def test_files_of_reports_can_be_poisoned_too(tmp_path):
    answers = tmp_path / "answers.csv"
    answers.write_text("colour\n" + "0\n1\n2\n0\n" * 25)
    reports = tmp_path / "reports.csv"
    line = ("--mechanism", KRR, "--column", "colour", "--delta", "1e-6", "-o", str(reports))
    made = run("randomize", str(answers), *line)
    assert made.exit_code == 0, made.output
    answer = json.loads(run("estimate", str(reports), "--corrupted", "5", "--json").stdout)
    assert answer["view"] == "multiset"
    aggregator = Aggregator(KRR)
    aggregator.add_sum([50, 25, 25], 100)
    assert answer["estimates"][0]["largest_shifts"] == aggregator.largest_shifts(5).tolist()


@pytest.mark.parametrize(
    ("content", "mechanism", "message"),
    [
        ('{"n": 9, "sum": 4.5}', "krr(k=3, epsilon0=2)", "add up to counts, got a sum"),
        ('{"n": 9, "counts": [5, 4]}', "laplace(1)", "add up to a sum, got counts"),
        (
            '{"n": 9, "counts": [5, 4]}',
            "joint(krr(2, 1), krr(2, 1))",
            "it reports 2 attributes, got the sums of 1",
        ),
        (
            '{"n": 9, "attributes": [{"counts": [5, 4]}, {"counts": [9, 0]}]}',
            "krr(2, 1)",
            "it reports 1 attribute, got the sums of 2",
        ),
        (
            '{"n": 9, "attributes": [{"counts": [5, 4]}, {"counts": [9, 1]}]}',
            "joint(krr(2, 1), krr(2, 1))",
            "attribute 1 of joint: total must have the sum n = 9",
        ),
        (
            '{"n": 9, "attributes": [{"sum": 5}, {"counts": [9, 0]}]}',
            "joint(krr(2, 1), krr(2, 1))",
            "add up to counts, got a sum",
        ),
        (
            '{"n": 9, "attributes": [{"counts": [5, 4]}, {"counts": [9, 0]}]}',
            "joint(krr(2, 1), subsample(krr(2, 1), rate=0.5))",
            "attribute 1 of joint: the sum of reports of subsample",
        ),
    ],
)
def test_the_wrong_kind_of_sum(tmp_path, content, mechanism, message):
    path = tmp_path / "sum.json"
    path.write_text(content)
    result = run("estimate", "--from-counts", str(path), "--mechanism", mechanism)
    assert result.exit_code == 1
    assert message in result.output


JOINT = "joint(krr(k=3, epsilon0=2), joint(laplace(epsilon0=1), oue(epsilon0=1, domain_size=2)))"


def test_sums_of_several_attributes_are_those_of_each(write):
    colour = {"name": "colour", "counts": COUNTS, "values": ["red", "blue", "green"]}
    sums = [colour, {"sum": 33570816}, {"counts": [600, 450]}]
    path = write("sum.json", json.dumps({"n": 1000, "attributes": sums}))
    answer = json.loads(ask(path, JOINT, "--corrupted", "10", "--json"))
    assert [one["column"] for one in answer["estimates"]] == [
        "colour",
        "attribute 1",
        "attribute 2",
    ]
    parts = (KRR, "laplace(epsilon0=1)", "oue(epsilon0=1, domain_size=2)")
    for part, one, found in zip(parts, sums, answer["estimates"], strict=True):
        alone = Aggregator(part)
        alone.add_sum(one.get("counts", one.get("sum")), 1000)
        estimate = alone.estimate()
        np.testing.assert_array_equal(found["estimates"], estimate.values)
        np.testing.assert_array_equal(found["standard_errors"], estimate.standard_errors)
        shifts = [None if np.isinf(x) else x for x in alone.largest_shifts(10)]
        assert found["largest_shifts"] == shifts
    assert answer["estimates"][0]["values"] == ["red", "blue", "green"]
    assert "can move the mean of attribute 1 by any amount" in " ".join(
        ask(path, JOINT, "--corrupted", "10").split()
    )


def test_tiers_have_one_attribute(write):
    path = write("s.json", '{"n": 9, "attributes": [{"counts": [5, 4]}, {"counts": [9, 0]}]}')
    groups = ("--group", "krr(2, 1)=4", "--group", "krr(2, 2)=5")
    result = run("estimate", "--from-counts", path, *groups)
    assert result.exit_code == 1
    assert "it reports 1 attribute, got the sums of 2" in result.stderr
