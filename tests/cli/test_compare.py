"""``shuffledp compare``: the table, JSON, CSV and what goes wrong."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from decimal import Decimal

import pytest
from click.testing import CliRunner
from command_line import ask, run

from shuffledp import KRR, Relation, ShuffleAccountant, __version__, compare, parse
from shuffledp.basics.errors import NoAnswerError
from shuffledp.cli import main
from shuffledp.comparison.published import BASELINES

KRR_QUESTION = ("compare", "krr(k=10, epsilon0=2)", "-n", "10000", "--delta", "1e-6")
GAUSSIAN_QUESTION = ("compare", "gaussian(sigma=1)", "-n", "1e4", "--delta", "1e-6")
NAMES = ["guarantee", "blanket", "lower_bound", *BASELINES]


def bounds(*arguments: str) -> dict[str, dict]:
    return {row["bound"]: row for row in json.loads(ask(*arguments, "--json"))["bounds"]}


def test_table():
    question, table, missing = ask(*KRR_QUESTION).split("\n\n")
    assert question.splitlines() == [
        "mechanism  krr(k=10, epsilon0=2.0)",
        "users      10,000",
        "delta      1e-6",
    ]
    lines = table.splitlines()
    assert lines[0].split("  ")[0] == "bound on epsilon"
    assert lines[1].split() == ["shuffledp,", "guarantee", "0.07981", "1", "1.000"]
    assert lines[2].split()[:3] == ["shuffledp,", "optimal", "blanket"]
    assert lines[3].split()[:3] == ["shuffledp,", "lower", "bound"]
    assert len({len(line) for line in lines}) == 1
    assert any(line.startswith("Ghazi et al. 2020, uniform background (lower)") for line in lines)
    assert missing == ("No answer:\n  Erlingsson et al. 2019: it needs epsilon0 below 1/2, got 2\n")


def test_shown_numbers_are_on_the_safe_side():
    exact = bounds(*KRR_QUESTION)
    table = ask(*KRR_QUESTION).split("\n\n")[1].splitlines()[1:]
    answered = [row for row in exact.values() if row["epsilon"] is not None]
    assert len(table) == len(answered)
    for line, row in zip(table, answered, strict=True):
        assert line.startswith(row["title"])
        shown = Decimal(line.split()[-3])
        if row["kind"] == "upper":
            assert shown >= Decimal(row["epsilon"])
        else:
            assert shown <= Decimal(row["epsilon"])
        assert float(shown) == pytest.approx(row["epsilon"], rel=2e-3)


@pytest.mark.heavy
def test_lines_fit_a_terminal():
    for question in (KRR_QUESTION, GAUSSIAN_QUESTION):
        assert max(map(len, ask(*question).splitlines())) <= 88


def test_json():
    document = json.loads(ask(*KRR_QUESTION, "--json"))
    rows = document.pop("bounds")
    assert document.pop("assumptions")
    assert document == {
        "command": "compare",
        "mechanism": "krr(k=10, epsilon0=2.0)",
        "relation": Relation().to_dict(),
        "ldp_level": 2.0,
        "ldp_level_reason": None,
        "n": 10000,
        "corrupted": 0,
        "corrupted_adaptively": 0,
        "rounds": 1,
        "at_most": None,
        "target_delta": 1e-6,
        "quantity": "epsilon",
        "view": "multiset",
        "rtol": 1e-4,
        "version": __version__,
    }
    assert [row["bound"] for row in rows] == NAMES
    report = ShuffleAccountant(KRR(k=10, epsilon0=2.0), 10_000).epsilon_report(1e-6)
    ours, lower = report.guarantee.upper, report.lower_bound
    for row in rows:
        if row["epsilon"] is None:
            assert row["reason"]
            assert row["ratio_to_ours"] is row["ratio_to_lower_bound"] is None
            continue
        assert row["reason"] is None
        assert row["ratio_to_ours"] == pytest.approx(row["epsilon"] / ours)
        assert row["ratio_to_lower_bound"] == pytest.approx(row["epsilon"] / lower)
        if row["kind"] == "upper":
            assert row["epsilon"] >= report.guarantee.lower
        else:
            assert row["epsilon"] <= ours


def test_every_row_is_the_answer_of_its_analysis():
    rows = bounds("compare", "rappor(epsilon0=1)", "-n", "5000", "--delta", "1e-5")
    for name, analysis in BASELINES.items():
        bound = analysis(parse("rappor(epsilon0=1)"), 5000)
        if rows[name]["epsilon"] is None:
            with pytest.raises(NoAnswerError, match=re.escape(rows[name]["reason"])):
                bound.get_epsilon(1e-5)
        else:
            assert bound.get_epsilon(1e-5) == pytest.approx(rows[name]["epsilon"], rel=1e-12)
        assert rows[name]["title"] == analysis.title
        assert rows[name]["kind"] == analysis.kind


def test_csv_holds_what_json_holds():
    text = ask(*KRR_QUESTION, "--csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    exact = bounds(*KRR_QUESTION)
    assert [row["bound"] for row in rows] == NAMES
    for row in rows:
        assert row.pop("mechanism") == "krr(k=10, epsilon0=2.0)"
        assert (row.pop("n"), row.pop("target_delta")) == ("10000", "1e-06")
        assert row.pop("view") == "multiset"
        assert row.pop("corrupted") == row.pop("corrupted_adaptively") == "0"
        assert (row.pop("rounds"), row.pop("at_most")) == ("1", "")
        assert row.pop("relation") == exact[row["bound"]]["relation"]["text"]
        for key, value in row.items():
            wanted = exact[row["bound"]][key]
            if isinstance(wanted, float):
                assert float(value) == wanted
            else:
                assert value == (wanted or "")
    assert text.endswith("\n")
    assert "\r" not in text


@pytest.mark.heavy
def test_mechanism_without_a_level():
    rows = bounds(*GAUSSIAN_QUESTION)
    document = json.loads(ask(*GAUSSIAN_QUESTION, "--json"))
    assert document["ldp_level"] is None
    assert document["ldp_level_reason"] == "the mechanism is not pure LDP"
    assert rows["guarantee"]["epsilon"] > rows["lower_bound"]["epsilon"] > 0
    assert all(rows[name]["epsilon"] is None and rows[name]["reason"] for name in BASELINES)


@pytest.mark.heavy
def test_no_finite_epsilon_is_said_in_every_format():
    question = ("compare", "matrix([[0.5, 0.5, 0], [0.3, 0.3, 0.4]])", "-n", "9", "--delta", "0.1")
    rows = bounds(*question)
    assert rows["guarantee"]["epsilon"] is None
    assert rows["guarantee"]["reason"].startswith("every epsilon has a larger delta")
    assert "shuffledp, guarantee: every epsilon has a larger delta" in ask(*question)
    assert "inf" not in ask(*question, "--csv")


def test_nothing_to_reveal():
    question = ("compare", "matrix([[0.5, 0.5], [0.5, 0.5]])", "-n", "9", "--delta", "0.1")
    rows = bounds(*question)
    assert rows["guarantee"]["epsilon"] == 0
    assert rows["guarantee"]["ratio_to_ours"] is None
    assert ask(*question).splitlines()[5].split()[-3:] == ["0", "-", "-"]


def test_delta_0():
    rows = bounds("compare", "krr(3, 1)", "-n", "100", "--delta", "0")
    assert rows["guarantee"]["epsilon"] == 1
    assert rows["blanket_bennett"]["reason"].endswith("delta is 0 even without a shuffler")


def test_composition():
    rows = bounds("compare", "joint(krr(4, 0.5), oue(0.5))", "-n", "2000", "--delta", "1e-6")
    assert rows["blanket_bennett"]["epsilon"] > rows["guarantee"]["epsilon"]
    assert rows["standard_clone"]["epsilon"] > rows["guarantee"]["epsilon"]


@pytest.mark.heavy
def test_rtol_is_passed_on():
    coarse = compare(KRR(k=10, epsilon0=2.0), 10_000, 1e-6, rtol=0.1)
    fine = compare(KRR(k=10, epsilon0=2.0), 10_000, 1e-6, rtol=1e-8)
    assert fine.rtol == 1e-8
    for rough, exact in zip(coarse.rows, fine.rows, strict=True):
        if exact.epsilon is not None:
            assert math.isclose(rough.epsilon, exact.epsilon, rel_tol=0.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--json", "--csv"), "--json and --csv exclude each other"),
        (("-n", "0"), "Invalid value for '-n' / '--users'"),
        (("--delta", "2"), "Invalid value for '--delta'"),
        (("--rtol", "1"), "Invalid value for '--rtol'"),
        (("--epsilon", "1"), "No such option"),
        (("krr(3, 1)",), "unexpected extra argument"),
    ],
)
def test_usage_errors(arguments, message):
    result = run(*KRR_QUESTION, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nosuch(1)", "-n", "9", "--delta", "0.1"), "Invalid value for 'MECHANISM'"),
        (("krr(3, 1)", "--delta", "0.1"), "Missing option '-n' / '--users'"),
        (("krr(3, 1)", "-n", "9"), "Missing option '--delta'"),
        (("-n", "9", "--delta", "0.1"), "Missing argument 'MECHANISM'"),
    ],
)
def test_missing_and_unreadable_arguments(arguments, message):
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_help_explains_the_question_and_the_numbers():
    text = ask("compare", "--help")
    for part in ("MECHANISM is what each user runs", "--json", "--csv", "n counts all users"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80


def test_an_internal_error_is_one_line(monkeypatch):
    def fail(self, delta):
        raise RuntimeError("broken")

    monkeypatch.setattr(ShuffleAccountant, "get_epsilon", fail)
    result = CliRunner().invoke(main, KRR_QUESTION)
    assert result.exit_code == 70
    assert result.stdout == ""
    assert "error in shuffledp itself" in result.stderr
