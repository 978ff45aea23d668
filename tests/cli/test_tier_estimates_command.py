"""``shuffledp estimate`` for users of different levels: tiers that are known, and that are not."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from command_line import run

from shuffledp import Aggregator, estimate_pooled, estimate_tiers

CAREFUL, CARELESS = "krr(k=3, epsilon0=1)", "krr(k=3, epsilon0=4)"
COLOURS = ["red", "green", "blue"]


def collect(tmp_path, mechanism, n, seed, colours=COLOURS):
    """Randomize a table of n colours into a file of reports."""
    answers = colours * (n // 3)
    random.Random(seed).shuffle(answers)
    table = tmp_path / f"answers{seed}.csv"
    table.write_text("colour\n" + "\n".join(answers) + "\n", encoding="utf-8")
    reports = tmp_path / f"reports{seed}.csv"
    asked = ("--mechanism", mechanism, "--delta", "1e-6", "--column", "colour")
    done = run("randomize", str(table), *asked, "--values", ",".join(colours), "-o", str(reports))
    assert done.exit_code == 0, done.output
    return reports


def asked(*arguments):
    done = run("estimate", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def counts_of(path):
    lines = path.read_text(encoding="utf-8").split()[1:]
    return [lines.count(str(value)) for value in range(3)]


@pytest.mark.heavy
def test_files_of_known_tiers(tmp_path):
    files = [collect(tmp_path, CAREFUL, 300, 1), collect(tmp_path, CARELESS, 600, 2)]
    found = asked(*map(str, files), "--tiers")
    aggregators = [Aggregator(CAREFUL), Aggregator(CARELESS)]
    for aggregator, path, n in zip(aggregators, files, (300, 600), strict=True):
        aggregator.add_sum(counts_of(path), n)
    expected = estimate_tiers(aggregators)
    (section,) = found["estimates"]
    np.testing.assert_allclose(section["estimates"], expected.values)
    np.testing.assert_allclose(section["standard_errors"], expected.standard_errors)
    assert (section["column"], section["values"]) == ("colour", COLOURS)
    assert (found["n"], len(found["files"])) == (900, 2)
    assert found["mechanism"] == "krr(k=3, epsilon0=1.0); krr(k=3, epsilon0=4.0)"
    assert found["guarantee"]["epsilon"] == max(file["epsilon"] for file in found["files"])
    text = run("estimate", *map(str, files), "--tiers").stdout
    assert "the guarantee is that of the weakest file" in " ".join(text.split())


def test_different_mechanisms_are_refused_unless_they_are_tiers(tmp_path):
    files = [collect(tmp_path, CAREFUL, 30, 1), collect(tmp_path, CARELESS, 30, 2)]
    refused = run("estimate", *map(str, files))
    assert refused.exit_code == 1
    assert "must be of the same mechanism" in refused.stderr
    again = run("estimate", str(files[0]), str(files[0]), "--tiers")
    assert "hold the same reports" in again.stderr
    other = collect(tmp_path, CARELESS, 30, 3, ["rot", *COLOURS[1:]])
    unlike = run("estimate", str(files[0]), str(other), "--tiers")
    assert "must have the same columns and labels" in unlike.stderr


@pytest.fixture
def pooled(tmp_path):
    path = tmp_path / "sum.json"
    counts = {"n": 900, "counts": [420, 300, 180], "values": COLOURS}
    path.write_text(json.dumps(counts), encoding="utf-8")
    return str(path)


GROUPS = ("--group", f"{CAREFUL}=300", "--group", f"{CARELESS}=600")


def test_counts_of_unknown_tiers(pooled):
    found = asked("--from-counts", pooled, *GROUPS)
    reports = np.repeat(np.arange(3, dtype=np.uint8), [420, 300, 180])
    expected = estimate_pooled([(CAREFUL, 300), (CARELESS, 600)], reports)
    (section,) = found["estimates"]
    np.testing.assert_allclose(section["estimates"], expected.values)
    np.testing.assert_allclose(section["standard_errors"], expected.standard_errors)
    assert (found["view"], found["guarantee"], section["values"]) == ("sum", None, COLOURS)
    (note,) = found["warnings"]
    assert "standard errors would be 1.17 times smaller" in note


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--group", f"{CAREFUL}=300"), "as many as there are users, 300, got 900"),
        ((*GROUPS[:2], "--group", "krr(k=4, epsilon0=1)=600"), "look alike"),
        (("--group", "laplace(1)=900"), "mechanisms of frequencies"),
    ],
)
def test_tiers_that_do_not_fit(pooled, arguments, message):
    done = run("estimate", "--from-counts", pooled, *arguments)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from-counts", "s.json", "--mechanism", CAREFUL, *GROUPS), "one of --mechanism"),
        (("--from-counts", "s.json", "--mechanism", CAREFUL, "--tiers"), "--tiers belongs to"),
        (("--from-counts", "s.json", *GROUPS, "--corrupted", "3"), "not known for tiers"),
        (("r.csv", "--tiers", "--corrupted", "3"), "not known for tiers"),
        (("r.csv", *GROUPS), "belong to --from-counts"),
        (("--from-counts", "s.json", "--group", "krr(k=3)=9"), "with epsilon0"),
    ],
)
def test_options_that_do_not_belong_together(arguments, message):
    done = run("estimate", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
