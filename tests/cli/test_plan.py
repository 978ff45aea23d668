"""``shuffledp plan``: the table, JSON, charts and what goes wrong."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from functools import cache

import pytest
from click.testing import CliRunner
from command_line import ask, run

from shuffledp import ShuffleAccountant, __version__, parse
from shuffledp.basics.extras import MissingExtraError
from shuffledp.basics.figures import Chart, Line
from shuffledp.cli import main
from shuffledp.cli.answers import chart_files
from shuffledp.cli.answers.plan_text import to_text
from shuffledp.cli.commands import plan as module

SHARES = ("plan", "-n", "1000", "--epsilon", "1", "--delta", "1e-6", "--domain", "10")
MEAN = ("plan", "--task", "mean", "-n", "1000", "--error", "0.02", "--delta", "1e-6")
WEAK = ("plan", "-n", "10", "--epsilon", "300", "--delta", "1e-6", "--domain", "3")
CHART = Chart("errors", "epsilon", "error", (Line("krr", (1.0,), (0.1,), "upper", "krr"),))


CACHED = cache(module.make_plan)


@pytest.fixture(autouse=True)
def each_plan_once(monkeypatch):
    """Text and JSON of a question are made of the same plan."""

    def once(*, on_done, **question):
        return CACHED(**question)

    monkeypatch.setattr(module, "make_plan", once)


@pytest.fixture
def quick_chart(monkeypatch):
    """A chart without its computation."""
    monkeypatch.setattr(module, "error_chart", lambda *arguments, **options: CHART)


def document(*arguments: str) -> dict:
    return json.loads(ask(*arguments, "--json"))


@pytest.mark.heavy
def test_table_of_shares():
    question, table, meaning = ask(*SHARES).split("\n\n")
    assert question.splitlines() == [
        "estimate  shares of 10 values",
        "users     1,000",
        "target    epsilon = 1, delta = 1e-6",
        "error     root mean square of the estimates, for any data",
    ]
    lines = table.splitlines()
    assert lines[0].split() == [
        *("mechanism", "epsilon0", "worst", "value", "bytes", "error", "published", "gain")
    ]
    assert lines[1].split() == [
        *("krr(k=10)", "3.508", "0.01693", "1", "0.008008", "0.008010", "1.00")
    ]
    assert len({len(line) for line in lines}) == 1
    assert any(line.startswith("olh(buckets=") for line in lines)
    sentences = " ".join(meaning.splitlines())
    assert sentences.startswith("Best: krr(k=10, epsilon0=3.5086")
    assert "With 1,000 users an estimated share is typically off by 0.008008, and the " in sentences
    assert "reports are (1, 1e-6)-differentially private." in sentences
    assert "error = 0.008010, with krr(k=10) (stronger_clone)." in sentences


@pytest.mark.heavy
def test_table_of_a_mean_asked_for_an_error():
    question, table, meaning = ask(*MEAN).split("\n\n")
    assert "target    error = 0.02, delta = 1e-6" in question
    assert "estimate  mean of values in [0, 1]" in question
    assert table.split()[:6] == ["mechanism", "epsilon0", "bytes", "epsilon", "published", "gain"]
    assert "an estimated mean is typically off by 0.02000" in " ".join(meaning.splitlines())
    assert "krr takes the value times k - 1" in meaning
    assert "discrete_laplace takes the value times its bound" in meaning


@pytest.mark.heavy
def test_shown_numbers_are_on_the_safe_side():
    for question, asked in ((SHARES, "error"), (MEAN, "epsilon")):
        rows = ask(*question).split("\n\n")[1].splitlines()[1:]
        for row, exact in zip(rows, document(*question)["options"], strict=True):
            cells = row.split()
            assert Decimal(cells[1]) <= Decimal(exact["epsilon0"])
            assert Decimal(cells[-3]) >= Decimal(exact[asked])
            assert float(cells[-3]) == pytest.approx(exact[asked], rel=2e-3)
            assert float(cells[-1]) == pytest.approx(exact["gain"], abs=0.005)


@pytest.mark.heavy
def test_lines_fit_a_terminal():
    for question in (SHARES, MEAN, WEAK):
        assert max(map(len, ask(*question).splitlines())) <= 88


@pytest.mark.heavy
def test_json():
    answer = document(*SHARES)
    options, left_out = answer.pop("options"), answer.pop("left_out")
    assert answer.pop("assumptions")
    assert answer == {
        "command": "plan",
        "task": "frequency",
        "n": 1000,
        "corrupted": 0,
        "corrupted_adaptively": 0,
        "domain_size": 10,
        "data": "any",
        "target_epsilon": 1.0,
        "target_error": None,
        "target_delta": 1e-6,
        "view": "multiset",
        "files": [],
        "version": __version__,
    }
    assert left_out == []
    assert [option["error"] for option in options] == sorted(o["error"] for o in options)
    for option in options:
        assert list(option) == [
            *("name", "mechanism", "epsilon0", "epsilon", "bound", "error", "worst_case"),
            *("expected", "report_bytes", "largest_shift", "previous", "gain"),
        ]
        randomizer = parse(option["mechanism"])
        assert randomizer.name == option["name"]
        assert randomizer.epsilon0 == option["epsilon0"]
        assert ShuffleAccountant(randomizer, 1000).get_epsilon(1e-6) <= 1 + 1e-4
        assert option["worst_case"]["rms_error"] == option["error"]
        assert set(option["worst_case"]) == {"squared_error", "rms_error", "max_error"}
        assert option["expected"] is None
        assert option["previous"]["epsilon0"] <= option["epsilon0"] * (1 + 1e-5)
        assert parse(option["previous"]["mechanism"]).name == option["name"]


@pytest.mark.heavy
def test_distribution_from_the_line_and_from_a_file(tmp_path):
    path = tmp_path / "shares.csv"
    path.write_text("0.5\n0.25\n0.25\n", encoding="utf-8")
    by_line = document(*WEAK, "--distribution", "0.5,0.25,0.25")
    assert by_line == document(*WEAK, "--distribution", str(path))
    assert by_line["data"] == "given distribution"
    assert by_line["options"][0]["expected"]["rms_error"] == by_line["options"][0]["error"]
    assert "for data of the given distribution" in ask(*WEAK, "--distribution", str(path))


@pytest.mark.heavy
def test_weak_target_says_so():
    text = ask(*WEAK)
    assert "Where epsilon0 = 300, larger ones are not looked at." in text
    assert "Not offered: subset: with so few values it is nothing else than krr." in text


@pytest.mark.heavy
def test_no_published_bound():
    made = CACHED(n=10, target_epsilon=300.0, target_delta=1e-6, domain_size=3)
    unknown = tuple(replace(option, previous=None, gain=None) for option in made.options)
    text = to_text(replace(made, options=unknown))
    assert all(row.split()[-2:] == ["-", "-"] for row in text.split("\n\n")[1].splitlines()[1:])
    assert "No published bound meets the target with any mechanism." in " ".join(text.split())


@pytest.mark.heavy
def test_target_nobody_meets():
    result = run("plan", "-n", "100", "--epsilon", "0", "--delta", "0", "--domain", "3")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: no mechanism meets the target; krr: no epsilon0 of at least 1e-9 meets the target\n"
    )


@pytest.mark.heavy
def test_chart_files(tmp_path, quick_chart, monkeypatch):
    drawn = []
    monkeypatch.setattr(chart_files, "draw", lambda chart, path: drawn.append((chart, path)))
    picture = tmp_path / "errors.png"
    text = run(*WEAK, "--chart", str(picture)).stdout
    assert [line for line in text.splitlines() if line.startswith("Written: ")] == [
        f"Written: {picture.with_suffix(suffix)}" for suffix in (".csv", ".json", ".png")
    ]
    assert drawn == [(CHART, picture)]
    assert picture.with_suffix(".csv").read_text(encoding="utf-8") == CHART.to_csv()
    assert json.loads(picture.with_suffix(".json").read_text(encoding="utf-8"))["lines"]
    numbers = tmp_path / "only.csv"
    files = json.loads(run(*WEAK, "--chart", str(numbers), "--json").stdout)["files"]
    assert files == [str(numbers)]


@pytest.mark.heavy
def test_chart_without_matplotlib(tmp_path, quick_chart, monkeypatch):
    def missing(chart, path):
        raise MissingExtraError("matplotlib")

    monkeypatch.setattr(chart_files, "draw", missing)
    line = [*WEAK, "--chart", str(tmp_path / "errors.png")]
    result = CliRunner().invoke(main, line, prog_name="shuffledp")
    assert result.exit_code == 1
    assert "pictures need matplotlib" in result.stderr
    assert "written without: " in result.stderr
    assert result.stdout.startswith("estimate  shares of 3 values")
    assert (tmp_path / "errors.csv").exists()


@pytest.mark.heavy
def test_chart_of_epsilon_0(tmp_path):
    question = ("plan", "-n", "9", "--epsilon", "0", "--delta", "1", "--domain", "3")
    result = run(*question, "--chart", str(tmp_path / "errors.csv"))
    assert result.exit_code == 1
    assert result.stderr == "Error: a chart shows multiples of epsilon, and epsilon is 0\n"


@pytest.mark.slow
def test_real_chart(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "errors.png"
    ask(*SHARES, "--chart", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    chart = json.loads(picture.with_suffix(".json").read_text(encoding="utf-8"))
    assert [len(line["y"]) for line in chart["lines"]] == [13] * 8
    for line in chart["lines"]:
        assert line["y"] == sorted(line["y"], reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-n", "0"), "Invalid value for '-n' / '--users'"),
        (("-n", "nan"), "Invalid value for '-n' / '--users'"),
        (("--epsilon", "nan"), "Invalid value for '--epsilon'"),
        (("--epsilon", "-1"), "Invalid value for '--epsilon'"),
        (("--delta", "2"), "Invalid value for '--delta'"),
        (
            ("--domain", "1"),
            "Invalid value for '--domain': domain must be at least 2",
        ),
        (("--domain", "2.5"), "Invalid value for '--domain'"),
        (("--domain", "nan"), "Invalid value for '--domain'"),
        (("--domain", "inf"), "Invalid value for '--domain'"),
        (("--domain", "ten"), "Invalid value for '--domain': domain must be a whole number"),
        (("--error", "-1"), "Invalid value for '--error': error must be greater than 0"),
        (("--error", "nan"), "Invalid value for '--error': error must be finite"),
        (("--error", "x"), "Invalid value for '--error': error must be a number, got 'x'"),
        (("--error", "0.1"), "give either --epsilon or --error"),
        (("--task", "median"), "'median' is not one of 'frequency', 'mean'"),
        (("--distribution", "0.5,0.6"), "the --domain = 10 values, got 2 shares"),
        (("--distribution", ",".join(["0.2"] * 10)), "distribution must sum to 1, got shares that"),
        (("--distribution", "0," * 9 + "nan"), "distribution[9] must be finite, got nan"),
        (("--distribution", "no/such/file"), "'no/such/file': No such file or directory"),
        (("--chart", "errors.txt"), "Invalid value for '--chart'"),
        (("--chart", "no/such/folder/errors.png"), "Invalid value for '--chart': cannot write"),
        (("--rtol", "0.1"), "No such option"),
        (("surplus",), "unexpected extra argument"),
    ],
)
def test_usage_errors(arguments, message):
    result = run(*SHARES, *arguments)
    assert result.exit_code == 2
    usage, _, error = result.stderr.partition("Error: ")
    assert usage.startswith("Usage: shuffledp plan ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-n", "9", "--delta", "0.1", "--domain", "3"), "give either --epsilon or --error"),
        (("-n", "9", "--delta", "0.1", "--epsilon", "1"), "the task frequency needs --domain"),
        (
            (
                "--task",
                "mean",
                "-n",
                "9",
                "--delta",
                "0.1",
                "--epsilon",
                "1",
                "--distribution",
                "1",
            ),
            "--distribution needs --domain",
        ),
        (("--delta", "0.1", "--epsilon", "1", "--domain", "3"), "Missing option '-n' / '--users'"),
        (("-n", "9", "--epsilon", "1", "--domain", "3"), "Missing option '--delta'"),
    ],
)
def test_missing_options(arguments, message):
    result = run("plan", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_help_fits_and_explains():
    text = ask("plan", "--help")
    for part in ("--error", "--distribution", "--chart", "--json", "n counts all users"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80


def test_completion_of_an_unfinished_line_reads_nothing():
    context = main.commands["plan"].make_context("plan", ["--domain", "x"], resilient_parsing=True)
    assert context.params["domain"] is None


def test_an_internal_error_is_one_line(monkeypatch):
    def fail(**arguments):
        raise RuntimeError("broken")

    monkeypatch.setattr(module, "make_plan", fail)
    result = CliRunner().invoke(main, SHARES)
    assert result.exit_code == 70
    assert result.stdout == ""
    assert re.search(r"error in shuffledp itself.*broken", result.stderr)
