"""``shuffledp ledger`` and ``randomize --ledger``."""

from __future__ import annotations

import json

import pytest
from command_line import run

from shuffledp import Ledger, Rounds, ShuffleAccountant
from shuffledp.basics.rounding import round_up
from shuffledp.deployment.ledger.ledger import FILTER, NO_FILTER

BUDGET = ("--epsilon", "1", "--delta", "1e-6")
KIND = ("krr(k=3, epsilon0=1)", "-n", "1000")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "spent.jsonl"
    assert run("ledger", "new", str(path), "--epsilon", "0.5", "--delta", "1e-6").exit_code == 0
    return path


def answer(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.heavy
def test_rounds_are_recorded_and_shown(path):
    before = answer("ledger", "show", str(path))
    assert "No rounds were recorded yet." in before
    answer("ledger", "add", str(path), *KIND)
    text = answer("ledger", "add", str(path), *KIND, "--times", "3")
    rounds = Rounds([(ShuffleAccountant("krr(k=3, epsilon0=1)", 1000), 4)])
    epsilon = round_up(rounds.get_epsilon(1e-6))
    assert f"spent      epsilon = {epsilon} at delta = 1e-6\n" in text
    assert f"After 4 rounds all shuffled reports together are ({epsilon}, 1e-6)-" in " ".join(
        text.split()
    )
    assert "that needs a privacy filter, and this ledger is none" in " ".join(text.split())
    document = json.loads(answer("ledger", "show", str(path), *KIND, "--json"))
    assert document["spent"] == {
        "epsilon": rounds.get_epsilon(1e-6),
        "delta": rounds.get_delta(0.5),
    }
    fitting = Ledger(path).fitting("krr(k=3, epsilon0=1)", 1000)
    assert document["fitting"]["times"] == fitting > 0
    assert document["times"] == 4
    assert f"still fit  {fitting} of " in answer("ledger", "show", str(path), *KIND)


@pytest.mark.heavy
def test_the_budget_is_kept(path):
    before = path.read_bytes()
    result = run("ledger", "add", str(path), *KIND, "--times", "1e6")
    assert result.exit_code == 1
    assert "does not allow 1,000,000 more rounds" in result.stderr
    assert path.read_bytes() == before
    text = answer("ledger", "add", str(path), *KIND, "--times", "1e6", "--beyond")
    assert "The budget is exceeded." in " ".join(text.split())
    assert json.loads(answer("ledger", "show", str(path), "--json"))["exceeded"]


def test_no_finite_epsilon(path):
    matrix = "matrix([[1.0, 0.0], [0.0, 1.0]])"
    text = answer("ledger", "add", str(path), matrix, "-n", "5", "--beyond")
    assert "No finite epsilon can be certified at delta = 1e-6. The budget is exceeded." in text
    assert json.loads(answer("ledger", "show", str(path), "--json"))["spent"]["epsilon"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("new", "x.jsonl"), 2, "needs both '--epsilon' and '--delta'"),
        (("new", "x.jsonl", "--epsilon", "1"), 2, "needs both"),
        (("new", "x.jsonl", "--epsilon", "-1", "--delta", "0.1"), 2, "between 0 and 1e+12"),
        (("new", "x.jsonl", *KIND), 2, "MECHANISM is not for 'ledger new'"),
        (("add", "x.jsonl"), 2, "belong together"),
        (("add", "x.jsonl", KIND[0]), 2, "belong together"),
        (("add", "x.jsonl", *KIND, "--times", "0"), 2, "rounds must be at least 1"),
        (("add", "x.jsonl", *KIND, "--delta", "1"), 2, "--delta is not for 'ledger add'"),
        (("show", "x.jsonl", "--times", "2"), 2, "--times is not for 'ledger show'"),
        (("show", "x.jsonl", "--beyond"), 2, "--beyond is not for 'ledger show'"),
        (("show", "x.jsonl", "-n", "2"), 2, "belong together"),
        (("show", "x.jsonl"), 1, "cannot read"),
        (("add", "x.jsonl", *KIND), 1, "cannot read"),
        (("forget", "x.jsonl"), 2, "'forget' is not one of"),
    ],
)
def test_bad_input(tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    result = run("ledger", *arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


def test_new_replaces_nothing(path):
    before = path.read_bytes()
    result = run("ledger", "new", str(path), "--epsilon", "1", "--delta", "1e-6")
    assert result.exit_code == 1
    assert "exists already; a ledger is never replaced" in result.stderr
    assert path.read_bytes() == before


def test_a_changed_ledger(path):
    path.write_text(path.read_text().replace("0.5", "9.5"))
    result = run("ledger", "show", str(path))
    assert result.exit_code == 1
    assert "line 1: its checksum is wrong" in result.stderr


@pytest.mark.heavy
def test_randomize_with_a_ledger(path, tmp_path):
    people, out = tmp_path / "people.csv", tmp_path / "out.csv"
    people.write_text("age\n" + "0\n1\n2\n" * 300)
    line = ("randomize", str(people), "--column", "age", "--mechanism", "krr(3, 1)")
    line = (*line, "--delta", "1e-6", "--out", str(out), "--ledger")
    refused = run(*line, str(path), "--seed", "1")
    assert refused.exit_code == 2
    assert "no --ledger records such reports" in " ".join(refused.stderr.split())
    assert run(*line, str(tmp_path / "none")).exit_code == 1
    assert run(*line, str(people)).exit_code == 1
    assert not out.exists()
    answer(*line, str(path))
    assert [(entry.n, entry.times) for entry in Ledger(path).recorded] == [(900, 1)]
    fitting = Ledger(path).fitting("krr(3, 1)", 900)
    Ledger(path).add("krr(3, 1)", 900, fitting)
    before = path.read_bytes(), out.read_bytes()
    result = run(*line, str(path), "--force")
    result = run(*line, str(path), "--force") if result.exit_code == 0 else result
    assert result.exit_code == 1
    assert "does not allow 1 more round of" in result.stderr
    assert path.read_bytes().startswith(before[0])


@pytest.mark.heavy
def test_an_adaptive_ledger(tmp_path):
    path = str(tmp_path / "free.jsonl")
    run("ledger", "new", path, *BUDGET, "--adaptive", "--bound", "blanket")
    text = run("ledger", "add", path, "krr(3, 1)", "-n", "1000", "--times", "2").stdout
    assert "those to come included, are (1, 1e-6)-differentially private" in " ".join(text.split())
    assert FILTER in " ".join(text.split())
    assert NO_FILTER not in " ".join(text.split())
    found = json.loads(run("ledger", "show", path, "krr(3, 1)", "-n", "1000", "--json").stdout)
    ledger = Ledger(path)
    assert found["spent"] is None
    assert found["renyi"] == {
        "order": ledger.budget.order,
        "spent": ledger.spent_divergence(),
        "allowed": ledger.budget.filter.allowed,
    }
    assert found["fitting"]["times"] == ledger.fitting("krr(3, 1)", 1000) > 0
    assert FILTER in found["assumptions"]
    assert not any("planned in advance" in fact for fact in found["assumptions"])
    assert run("ledger", "add", path, "krr(3, 1)", "-n", "2", "--times", "9").exit_code == 1
