"""From answers to reports to estimates, for every kind of mechanism and file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from answers import MECHANISMS, answers, make_reports

from shuffledp import Aggregator, Estimate, ShuffleAccountant, parse
from shuffledp.deployment.files import chunk, estimate_files, sidecar_path
from shuffledp.deployment.files import randomization as module
from shuffledp.deployment.files.report_files import reports_in


def leaves(estimates):
    if isinstance(estimates, Estimate):
        return [estimates]
    return [leaf for entry in estimates for leaf in leaves(entry)]


def read_reports(path, randomizer):
    dtype = randomizer.report_dtype
    return np.concatenate(list(reports_in(path, dtype).chunks(64)))


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("text", MECHANISMS)
def test_reports_are_those_of_the_mechanism_in_another_order(tmp_path, text, suffix):
    columns, out = answers(MECHANISMS[text]), tmp_path / f"reports{suffix}"
    sidecar = make_reports(out, text, columns)
    randomizer = parse(text)
    reports = read_reports(out, randomizer)
    inputs = [np.array(own) for name, own in columns.items() if name != "name"]
    if text.startswith("joint(joint"):
        inputs = [(inputs[0], inputs[1]), inputs[2]]
    values = inputs if len(inputs) > 1 else inputs[0]
    expected = randomizer.randomize(values, np.random.default_rng(1))
    assert sorted(one.tobytes() for one in reports) == sorted(one.tobytes() for one in expected)
    assert (reports != expected).any()
    assert (sidecar.mechanism, sidecar.n) == (str(randomizer), expected.size)

    aggregator = Aggregator(randomizer)
    aggregator.add(reports)
    estimation = estimate_files([out])
    assert estimation.n == expected.size
    for section, own in zip(estimation.sections, leaves(aggregator.estimate()), strict=True):
        np.testing.assert_allclose(section.estimate.values, own.values, rtol=1e-12)
        np.testing.assert_allclose(section.estimate.standard_errors, own.standard_errors, rtol=1e-9)


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "text", ["krr(k=4, epsilon0=2.0)", "oue(epsilon0=2.0, domain_size=11)", "laplace(epsilon0=2.0)"]
)
def test_files_larger_than_memory(tmp_path, monkeypatch, text, suffix):
    monkeypatch.setattr(chunk, "CHUNK_ROWS", 7)
    monkeypatch.setattr(module, "buckets_for", lambda rows, dtype: 5)
    columns, out = answers(MECHANISMS[text]), tmp_path / f"reports{suffix}"
    sidecar = make_reports(out, text, columns)
    assert sidecar.n == len(columns["name"])
    aggregator = Aggregator(parse(text))
    aggregator.add(read_reports(out, parse(text)))
    [section] = estimate_files([out]).sections
    np.testing.assert_allclose(section.estimate.values, aggregator.estimate().values, rtol=1e-12)


def test_estimates_are_near_the_truth(tmp_path):
    columns = {"answer": np.repeat([0, 1, 2], [6000, 3000, 1000]).tolist()}
    make_reports(tmp_path / "reports.csv", "krr(k=3, epsilon0=4)", columns)
    [section] = estimate_files([tmp_path / "reports.csv"]).sections
    error = np.abs(section.estimate.values - [0.6, 0.3, 0.1])
    assert (error < 4 * section.estimate.standard_errors).all()
    assert (section.estimate.standard_errors < 0.01).all()


def test_secure_bits_are_the_default(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for out in (first, second):
        assert not make_reports(out, "krr(k=4, epsilon0=2)", answers((4,)), seed=None).seeded
    assert first.read_bytes() != second.read_bytes()


def test_a_seed_repeats_everything(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    sidecars = [make_reports(out, "krr(k=4, epsilon0=2)", answers((4,))) for out in (first, second)]
    assert first.read_bytes() == second.read_bytes()
    assert all(sidecar.seeded and "seed" in sidecar.warnings[0] for sidecar in sidecars)


def test_nothing_but_reports_is_written(tmp_path):
    make_reports(tmp_path / "reports.csv", "krr(k=4, epsilon0=2)", answers((4,)))
    lines = (tmp_path / "reports.csv").read_text().splitlines()
    assert lines[0] == "report"
    assert set(lines[1:]) == {"0", "1", "2", "3"}
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"answers.csv", "reports.csv", "reports.csv.json"}


def test_the_guarantee_is_that_of_the_accountant(tmp_path):
    sidecar = make_reports(tmp_path / "reports.csv", "krr(k=4, epsilon0=2)", answers((4,)))
    report = ShuffleAccountant(parse("krr(k=4, epsilon0=2)"), sidecar.n).epsilon_report(1e-6)
    assert sidecar.guarantee.epsilon == report.guarantee.upper
    assert sidecar.guarantee.lower_bound == report.lower_bound
    written = json.loads(sidecar_path(tmp_path / "reports.csv").read_text())
    assert written["guarantee"]["epsilon"] == report.guarantee.upper
    assert written["assumptions"] == [*report.assumptions, "a fact"]
    assert written["relation"] == report.relation.to_dict()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels(tmp_path, suffix):
    columns = {"colour": ["red"] * 600 + ["grün"] * 300 + ["a, b"] * 100}
    out = tmp_path / f"reports{suffix}"
    sidecar = make_reports(out, "krr(k=3, epsilon0=6)", columns, [["a, b", "grün", "red"]])
    assert sidecar.columns[0].labels == ("a, b", "grün", "red")
    [section] = estimate_files([out]).sections
    assert section.values == ["a, b", "grün", "red"]
    np.testing.assert_allclose(section.estimate.values, [0.1, 0.3, 0.6], atol=0.05)


@pytest.mark.parametrize(
    "text",
    [
        "blh(epsilon0=4)",
        "joint(olh(epsilon0=4), krr(k=2, epsilon0=4))",
        "parallel(0.5*krr(k=3, epsilon0=4), 0.5*blh(epsilon0=4))",
    ],
)
def test_labels_stand_in_for_a_domain_size(tmp_path, text):
    columns = {"colour": ["red"] * 1200 + ["green"] * 600 + ["blue"] * 200}
    labels = [["red", "green", "blue"], None]
    if text.startswith("joint"):
        columns["answer"] = [0, 1] * 1000
    make_reports(tmp_path / "reports.csv", text, columns, labels[: len(columns)])
    section = estimate_files([tmp_path / "reports.csv"]).sections[0]
    assert section.values == ["red", "green", "blue"]
    error = np.abs(section.estimate.values - [0.6, 0.3, 0.1])
    assert (error < 4 * section.estimate.standard_errors).all()
    assert not section.estimate.whole_domain


def test_a_matrix_needs_its_file_no_more(tmp_path):
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("0.7,0.3\n0.2,0.8\n")
    sidecar = make_reports(tmp_path / "reports.csv", f"matrix({str(matrix)!r})", answers((2,)))
    matrix.unlink()
    assert sidecar.mechanism == "matrix([[0.7, 0.3], [0.2, 0.8]])"
    assert estimate_files([tmp_path / "reports.csv"]).n == sidecar.n


def test_parts_that_tell_different_things_have_sections_of_their_own(tmp_path):
    text = "parallel(0.5*krr(k=2, epsilon0=1.0), 0.5*laplace(epsilon0=1.0))"
    make_reports(tmp_path / "reports.csv", text, answers((2,)))
    sections = estimate_files([tmp_path / "reports.csv"]).sections
    assert [section.mechanism for section in sections] == [
        "krr(k=2, epsilon0=1.0)",
        "laplace(epsilon0=1.0)",
    ]
    assert [section.is_mean for section in sections] == [False, True]
    assert [section.column.name for section in sections] == ["answer0", "answer0"]


def test_parts_with_inputs_of_their_own(tmp_path):
    text = "one_of(0.5*krr(k=2, epsilon0=1), 0.5*joint(krr(k=3, epsilon0=1), krr(4, 1)))"
    make_reports(tmp_path / "reports.csv", text, answers((2, 3, 4)))
    sections = estimate_files([tmp_path / "reports.csv"]).sections
    assert [len(section.values) for section in sections] == [2, 3, 4]
    assert [section.column.name for section in sections] == ["answer0", "answer1", "answer2"]
