"""``shuffledp randomize`` and ``shuffledp estimate``: what people see, and what goes wrong."""

from __future__ import annotations

import csv
import io
import json
import re
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import run

from shuffledp import KRR, Aggregator, ShuffleAccountant, __version__
from shuffledp.cli import main

MECHANISM = "krr(k=3, epsilon0=2)"
ROWS = "".join(f"{i},{['red', 'green', 'blue'][i % 3]},{i % 3}\n" for i in range(90))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(f"id,colour,age\n{ROWS}")
    return tmp_path


@pytest.fixture(scope="module")
def several_reports(tmp_path_factory):
    """A folder of reports that do not go together."""
    path = tmp_path_factory.mktemp("several")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        (path / "people.csv").write_text("id,age\n0,0\n1,1\n")
        made()
        made(out="other.csv", mechanism="krr(k=4, epsilon0=2)")
        made(out="id.csv", column="id")
        made(out="mean.csv", mechanism="discrete_laplace(epsilon0=1, bound=1)")
        made(out="singular.csv", mechanism="matrix([[0.5, 0.5], [0.5, 0.5]])")
    return path


def randomize(*arguments, column="age", mechanism=MECHANISM, out="reports.csv"):
    line = ["people.csv", "--column", column, "--mechanism", mechanism, "--delta", "1e-6"]
    return CliRunner().invoke(
        main, ["randomize", *line, "--out", out, *arguments], prog_name="shuffledp"
    )


def made(*arguments, **options):
    result = randomize(*arguments, **options)
    assert result.exit_code == 0, result.stderr
    return result


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def reports_of(path):
    return np.array([int(line) for line in path.read_text().split()[1:]], dtype=np.uint8)


def aggregated(*paths):
    aggregator = Aggregator(KRR(k=3, epsilon0=2.0))
    for path in paths:
        aggregator.add(reports_of(path))
    return aggregator.estimate()


@pytest.mark.heavy
def test_randomize_says_how_private_the_reports_are(folder):
    result = made()
    report = ShuffleAccountant(KRR(k=3, epsilon0=2.0), 90).epsilon_report(1e-6)
    assert result.stderr == ""
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines()[:4])
    assert lines["mechanism"] == "krr(k=3, epsilon0=2.0)"
    assert lines["users"] == "90"
    shown = float(lines["guarantee"].removeprefix("epsilon = "))
    assert 0 <= shown - report.guarantee.upper < 1e-3
    assert "differentially private for neighbouring" in " ".join(result.stdout.split())
    assert names(folder) == ["people.csv", "reports.csv", "reports.csv.json"]


def test_randomize_prints_the_sidecar_as_json(folder):
    document = json.loads(made("--json").stdout)
    assert document == json.loads((folder / "reports.csv.json").read_text())
    assert document["version"] == __version__
    assert "every row of the input is another user" in document["assumptions"]
    assert "n counts all users, the one whose data changes included" in document["assumptions"]


def test_estimate_prints_a_table(folder):
    made()
    text = run("estimate", "reports.csv").stdout
    estimate = aggregated(folder / "reports.csv")
    interval = estimate.confidence_interval(0.95)
    table = [line.split() for line in text.split("\n\n")[1].splitlines()]
    assert table[0] == ["age", "frequency", "standard", "error", "95%", "interval"]
    assert [row[0] for row in table[1:]] == ["0", "1", "2"]
    for column, expected in (
        (1, estimate.values),
        (2, estimate.standard_errors),
        (3, interval.lower),
        (5, interval.upper),
    ):
        np.testing.assert_allclose([float(row[column]) for row in table[1:]], expected, atol=0.006)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_estimate_for_programs(folder, option):
    made()
    output = run("estimate", "reports.csv", option, "--project", "--confidence", "0.9").stdout
    estimate = aggregated(folder / "reports.csv")
    interval = estimate.confidence_interval(0.9)
    expected = {
        "estimates": estimate.values,
        "standard_errors": estimate.standard_errors,
        "lower": interval.lower,
        "upper": interval.upper,
        "projected_biased": estimate.projected(),
    }
    if option == "--json":
        document = json.loads(output)
        assert (document["n"], document["confidence"]) == (90, 0.9)
        assert document["files"][0]["file"] == "reports.csv"
        [found] = document["estimates"]
        assert (found["column"], found["kind"]) == ("age", "frequencies")
        assert found["values"] == ["0", "1", "2"]
        assert {name: found[name] for name in expected} == {
            name: numbers.tolist() for name, numbers in expected.items()
        }
    else:
        rows = list(csv.DictReader(io.StringIO(output)))
        assert [row["value"] for row in rows] == ["0", "1", "2"]
        assert {row["column"] for row in rows} == {"age"}
        titles = dict.fromkeys(expected) | {"estimates": "estimate"}
        titles |= {"standard_errors": "standard_error"}
        for name, numbers in expected.items():
            found = [float(row[titles[name] or name]) for row in rows]
            assert found == numbers.tolist()


def test_projection_is_called_biased(folder):
    made()
    text = run("estimate", "reports.csv", "--project").stdout
    assert "projected (biased)" in text
    assert "Projected frequencies are biased" in text
    assert "biased" not in run("estimate", "reports.csv").stdout


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("values", ["red, green,blue", "labels.txt"])
def test_labels_from_a_list_or_a_file(folder, values):
    (folder / "labels.txt").write_text("red\ngreen\nblue\n")
    made("--values", values, column="colour")
    lines = run("estimate", "reports.csv").stdout.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == ["colour", "red", "green", "blue"]


def test_a_joint_mechanism_has_one_table_per_attribute(folder):
    arguments = ("--column", "age", "--values", "red,green,blue", "--values", "", "--seed", "1")
    mechanism = f"joint({MECHANISM}, discrete_laplace(epsilon0=2, bound=2))"
    made(*arguments, column="colour", mechanism=mechanism, out="reports.parquet")
    text = run("estimate", "reports.parquet").stdout
    assert "\ncolour  frequency" in text
    assert re.search(r"\nage: mean \S+, standard error \S+, 95% interval \S+ to \S+\n", text)
    assert len(run("estimate", "reports.parquet", "--csv").stdout.splitlines()) == 5


def test_parts_that_tell_different_things_are_told_apart(folder):
    (folder / "people.csv").write_text("id,colour,age\n" + ROWS.replace(",2\n", ",1\n"))
    mechanism = "parallel(0.5*krr(k=2, epsilon0=2), 0.5*discrete_laplace(epsilon0=2, bound=1))"
    made(mechanism=mechanism)
    text = run("estimate", "reports.csv").stdout
    assert "\nage (krr(k=2, epsilon0=2.0))  frequency" in text
    assert "\nage (discrete_laplace(epsilon0=2.0, bound=1)): mean " in text


@pytest.mark.heavy
def test_several_files(folder):
    made()
    made(out="more.csv")
    text = run("estimate", "reports.csv", "more.csv").stdout
    assert "users      180" in text
    assert "that of the weakest file" in " ".join(text.split())
    document = json.loads(run("estimate", "reports.csv", "more.csv", "--json").stdout)
    expected = aggregated(folder / "reports.csv", folder / "more.csv")
    assert document["estimates"][0]["estimates"] == expected.values.tolist()
    assert document["guarantee"]["epsilon"] == document["files"][0]["epsilon"]
    assert [file["n"] for file in document["files"]] == [90, 90]


def test_a_single_report_of_a_sample_has_unknown_errors(folder):
    (folder / "people.csv").write_text("age\n1\n0\n2\n")
    made("--seed", "4", mechanism=f"subsample({MECHANISM}, rate=0.5)")
    found = json.loads(run("estimate", "reports.csv", "--json").stdout)["estimates"][0]
    assert found["standard_errors"] == found["upper"] == [None] * 3
    assert "unknown to unknown" in run("estimate", "reports.csv").stdout


def test_warnings_are_shown_and_recorded(folder):
    warning = "guarantee does not hold: only for simulations"
    (folder / "people.csv").write_text("age\n" + "1\n0\n" * 150)
    result = made("--seed", "1", mechanism=MECHANISM)
    assert result.stderr.startswith("Warning: ")
    assert warning in " ".join(result.stderr.split())
    sidecar = json.loads((folder / "reports.csv.json").read_text())
    assert warning in sidecar["warnings"][0]
    assert sidecar["seeded"]
    assert warning in " ".join(run("estimate", "reports.csv").stdout.split())


@pytest.mark.parametrize("mechanism", ["laplace(epsilon0=2)", "gaussian(sigma=5)"])
def test_noise_is_written_on_a_grid_and_needs_no_warning(folder, mechanism):
    (folder / "people.csv").write_text("age\n" + "1\n0\n" * 150)
    assert made(mechanism=mechanism).stderr == ""
    lines = (folder / "reports.csv").read_text().splitlines()
    assert all(re.fullmatch(r"-?\d+", line) for line in lines[1:])
    sidecar = json.loads((folder / "reports.csv.json").read_text())
    assert (sidecar["warnings"], sidecar["seeded"]) == ([], False)
    found = json.loads(run("estimate", "reports.csv", "--json").stdout)["estimates"][0]
    assert abs(found["estimates"][0] - 0.5) < 6 * found["standard_errors"][0]


BAD_TABLES = {
    "nothing": ("", "is empty: there is no line with titles"),
    "titles only": ("id,age\n", "has no rows"),
    "outside the domain": ("age\n0\n3\n", "row 2, column 'age': values must be integers from 0"),
    "not a number": ("age\n0\nold\n", "row 2, column 'age': 'old' is not a whole number"),
    "an empty cell": ("id,age\n1,0\n2,\n", "row 2, column 'age': the cell is empty"),
    "an empty row": ("age\n0\n\n1\n", "row 2 is empty"),
    "a missing column": ("id,Age\n1,0\n", "there is no column 'age'; its columns are 'id', 'Age'"),
    "a column twice": ("age,age\n1,0\n", "2 columns are called 'age'"),
    "a short row": ("id,age\n1,0\n2\n", "row 2 has 1 cell, but the file has 2 titles"),
    "a long row": ("id,age\n1,0,5\n", "row 1 has 3 cells, but the file has 2 titles"),
    "an open quote": ('id,age\n1,0\n"2,0\n', "line 3: unexpected end of data"),
    "other bytes": (b"age\n\xff\xfe\n", "is not a CSV file in UTF-8"),
    "a NUL": (b"age\n\0\n", "'people.csv'"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(folder, name):
    content, message = BAD_TABLES[name]
    raw = content if isinstance(content, bytes) else content.encode()
    (folder / "people.csv").write_bytes(raw)
    result = randomize()
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: 'people.csv'")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert names(folder) == ["people.csv"]


@pytest.mark.parametrize(
    ("arguments", "options", "message", "code"),
    [
        (("--column", "id"), {}, "columns must be as many as krr(k=3, epsilon0=2.0) reads, 1", 2),
        ((), {"mechanism": "krr(k=3)"}, "epsilon0", 2),
        ((), {"mechanism": "any_pure_ldp(epsilon0=1)"}, "can run", 2),
        ((), {"mechanism": "oue(epsilon0=1)"}, "domain_size", 2),
        ((), {"out": "reports.txt"}, "must end in .csv or .parquet, got 'reports.txt'", 2),
        ((), {"out": "no/reports.csv"}, "cannot write 'no/reports.csv': No such file", 1),
        ((), {"out": "people.csv"}, "it is the file that is read", 1),
        (("--values", "red"), {}, "must be a file with one label per line, or labels", 2),
        (("--values", "people.csv"), {}, "must be as many as", 2),
        (("--values", "a,b,c", "--values", "a,b,c"), {}, "once for each of 1 columns", 2),
        (("--values", "a,b,c"), {}, "'0' is not one of 'a', 'b', 'c'", 1),
        (("--values", "a,b,a"), {}, "must differ", 2),
        (("--seed", "-1"), {}, "--seed", 2),
        (("--seed", "x"), {}, "--seed", 2),
        (("--delta", "2"), {}, "--delta", 2),
        (
            ("--delta", "0"),
            {"mechanism": "gaussian(sigma=5)", "column": "zero"},
            "no finite epsilon can be certified",
            1,
        ),
    ],
    ids=str,
)
def test_bad_arguments(folder, arguments, options, message, code):
    if options.get("column") == "zero":
        (folder / "people.csv").write_text("zero\n0\n")
    result = randomize(*arguments, **options)
    assert result.exit_code == code
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert names(folder) == ["people.csv"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nobody.csv", "cannot read 'nobody.csv': No such file or directory"),
        ("nobody.parquet", "cannot read 'nobody.parquet': No such file or directory"),
        ("folder.csv", "'folder.csv' has no files that end in .csv or .parquet"),
        ("people.parquet", "'people.parquet' is not a Parquet file, or damaged"),
    ],
)
def test_inputs_that_cannot_be_read(folder, source, message):
    (folder / "folder.csv").mkdir()
    (folder / "people.parquet").write_text("age\n0\n")
    line = ("--column", "age", "--mechanism", MECHANISM, "--delta", "1e-6", "--out", "reports.csv")
    result = run("randomize", source, *line)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1
    assert names(folder) == ["folder.csv", "people.csv", "people.parquet"]


def test_wrong_endings(folder):
    (folder / "people.txt").write_text("age\n0\n")
    line = ("--column", "age", "--mechanism", MECHANISM, "--delta", "1e-6", "--out", "reports.csv")
    result = run("randomize", "people.txt", *line)
    assert result.exit_code == 2
    assert "must end in .csv or .parquet, got 'people.txt'" in result.stderr


@pytest.mark.heavy
def test_existing_reports_need_force(folder):
    made()
    result = randomize()
    assert result.exit_code == 1
    assert result.stderr == "Error: 'reports.csv' exists already; force replaces it\n"
    made("--force")


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        ((), "give either REPORTS or --from-counts", 2),
        (("nobody.csv",), "cannot read 'nobody.csv'", 1),
        (("people.csv",), "has no sidecar", 1),
        (("",), "the file name must end in .csv or .parquet", 1),
        ((".",), "has no sidecar", 1),
        (("reports.csv", "reports.csv"), "hold the same reports", 1),
        (("reports.csv", "other.csv"), "must be of the same mechanism as 'reports.csv'", 1),
        (("reports.csv", "id.csv"), "must have the same columns and labels", 1),
        (("reports.csv", "--confidence", "1"), "confidence must be strictly between 0 and 1", 2),
        (("reports.csv", "--confidence", "x"), "--confidence", 2),
        (("reports.csv", "--csv", "--json"), "give one of --json and --csv", 2),
        (("mean.csv", "--project"), "--project needs the frequencies of a whole domain", 2),
        (("singular.csv",), "linearly dependent", 1),
    ],
    ids=str,
)
def test_bad_estimates(several_reports, monkeypatch, arguments, message, code):
    monkeypatch.chdir(several_reports)
    result = run("estimate", *arguments)
    assert result.exit_code == code
    assert message in result.stderr


@pytest.mark.heavy
def test_without_pyarrow(folder, monkeypatch):
    made(out="reports.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = 'Error: Parquet files need pyarrow: pip install "shuffledp[parquet]"\n'
    for result in (randomize(out="more.parquet"), run("estimate", "reports.parquet")):
        assert result.exit_code == 1
        assert result.stderr == message
    (folder / "people.parquet").write_bytes(b"")
    line = ("--column", "age", "--mechanism", MECHANISM, "--delta", "1e-6", "--out", "more.csv")
    assert run("randomize", "people.parquet", *line).stderr == message
    made(out="more.csv")
    assert "users      90" in run("estimate", "more.csv").stdout
