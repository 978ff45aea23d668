"""Messages of the command line: what was meant, options as typed, singular and plural."""

from __future__ import annotations

import re

import pytest
from command_line import ask, run

QUESTION = ("epsilon", "krr(k=3, epsilon0=1)")
GIVEN = ("-n", "10", "--delta", "0.1")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("--detla", "0.1"), "--delta"),
        (("--DELTA", "0.1"), "--delta"),
        (("--Delta=0.1",), "--delta"),
        (("-delta", "0.1"), "--delta"),
        (("-rtol=0.1",), "--rtol"),
        (("--n", "10"), "-n"),
        (("--user", "10"), "--users"),
        (("--hlep",), "--help"),
    ],
)
def test_misspelt_options_have_one_guess(typed, meant):
    result = run(*QUESTION, *typed)
    assert result.exit_code == 2
    said = result.stderr.splitlines()[-1]
    word = typed[0].partition("=")[0]
    assert said == f"Error: No such option '{word}'; did you mean {meant}?"


def test_options_like_no_other_have_no_guess():
    result = run(*QUESTION, "--zzz", "1")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert "did you mean" not in result.stderr


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("KRR(k=3, epsilon0=1)", "did you mean krr?"),
        ("grr(3, 1)", "did you mean krr?"),
        ("optimal_local_hashing(1)", "did you mean olh?"),
        ("matrix(m.csv)", "quote it if it is a text: 'm.csv'"),
        ("laplace(1, domain=interval)", "quote it if it is a text: 'interval'"),
    ],
)
def test_mechanisms_that_cannot_be_read(mechanism, message):
    result = run("epsilon", mechanism, *GIVEN)
    assert result.exit_code == 2
    assert message in result.stderr


def test_one_user_is_one_user():
    text = " ".join(ask(*QUESTION, "-n", "1", "--delta", "0.1").split())
    assert "With 1 user the shuffled reports are" in text
    text = " ".join(ask(*QUESTION, "-n", "2", "--delta", "0.1").split())
    assert "With 2 users the shuffled reports are" in text


@pytest.mark.heavy
def test_a_long_mechanism_says_how_much_is_left_out():
    rows = [[0.5 - i / 100, 0.5 + i / 100] for i in range(10)]
    line = ask("epsilon", f"matrix({rows})", *GIVEN).splitlines()[0]
    assert re.fullmatch(r"mechanism    matrix\(\[.*\.\.\. \(\d+ more characters\)", line)


def test_shares_are_called_as_typed():
    options = ("-n", "100", "--epsilon", "1", "--delta", "0.1", "--domain", "3")
    result = run("plan", *options, "--distribution", "0.5,0.5")
    assert result.exit_code == 2
    assert (
        "--distribution must hold one share for each of the --domain = 3 values, got 2 shares"
        in result.stderr
    )


def test_labels_are_listed_with_values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("colour\nred\n")
    options = ("--column", "colour", "--delta", "0.1", "--out", "b.csv")
    result = run("randomize", "a.csv", "--mechanism", "krr(3, 1)", *options)
    assert "if the column holds labels, list them with --values" in result.stderr
    result = run("randomize", "a.csv", "--mechanism", "oue(1)", *options)
    assert "must be listed with --values" in result.stderr


@pytest.mark.parametrize("command", [("curve", "krr(3, 1)", "--delta", "0.1"), ("randomize",)])
def test_endless_file_names_are_not_repeated_in_full(command):
    option = ("--out",) if command[0] == "curve" else ()
    result = run(*command, *option, "9" * 5000)
    assert result.exit_code == 2
    assert "more characters)" in result.stderr
    assert len(result.stderr) < 1000
