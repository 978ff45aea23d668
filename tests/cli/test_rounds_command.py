"""``shuffledp rounds``: the answers of the library, rounded to the safe side; what is refused."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from command_line import ask, run

from shuffledp import Rounds, ShuffleAccountant
from shuffledp.accounting.assumptions import ROUNDS

YEAR = ("rounds", "krr(k=10, epsilon0=2)", "-n", "1e4", "--times", "52")
WEEKLY = ShuffleAccountant("krr(k=10, epsilon0=2)", 10_000)


def test_epsilon_of_a_year():
    text = ask(*YEAR, "--delta", "1e-6")
    answer = json.loads(ask(*YEAR, "--delta", "1e-6", "--json"))
    upper = WEEKLY.rounds(52).get_epsilon(1e-6)
    assert answer["guarantee"]["upper"] == upper
    lines = dict(line.split(maxsplit=1) for line in text.partition("\n\n")[0].splitlines())
    shown = Decimal(lines["guarantee"].split()[-1])
    assert Decimal(upper) <= shown <= Decimal(upper) * Decimal("1.001")
    assert lines["rounds"] == "52 of krr(k=10, epsilon0=2.0) with 10,000 users"
    assert lines["one"].split()[-1] == "0.07981"
    assert Decimal(lines["added"].split()[3]) >= Decimal(answer["naive"])
    for fact in ROUNDS:
        assert fact in " ".join(text.split())
        assert fact in answer["assumptions"]
    assert max(map(len, text.splitlines())) <= 100
    assert answer["command"] == "rounds"
    assert answer["times"] == 52
    assert answer["target_delta"] == 1e-6
    assert answer["target_epsilon"] is None


@pytest.mark.heavy
def test_delta_of_several_kinds():
    survey = ("--round", "4", "krr(k=4, epsilon0=3)", "20000")
    answer = json.loads(ask(*YEAR, *survey, "--epsilon", "1", "--json"))
    rounds = Rounds([(WEEKLY, 52), (ShuffleAccountant("krr(k=4, epsilon0=3)", 20_000), 4)])
    assert answer["guarantee"]["upper"] == rounds.get_delta(1.0)
    assert [kind["times"] for kind in answer["rounds"]] == [52, 4]
    assert answer["quantity"] == "delta"
    text = ask(*YEAR, *survey, "--epsilon", "1")
    assert "After 56 rounds all shuffled reports together are (1, " in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
    only = json.loads(ask("rounds", *survey, "--epsilon", "0.3", "--json"))
    assert only["times"] == 4


@pytest.mark.heavy
def test_how_many_rounds_fit():
    question = ("rounds", "krr(k=10, epsilon0=2)", "-n", "1e4", "--epsilon", "1", "--delta", "1e-6")
    text = ask(*question)
    assert "rounds       112  (the largest safe number)" in text
    answer = json.loads(ask(*question, "--json"))
    assert (answer["times"], answer["target_epsilon"], answer["target_delta"]) == (112, 1, 1e-6)
    assert answer["guarantee"]["upper"] <= 1


def test_participation():
    limited = ask(*YEAR, "--at-most", "4", "--delta", "1e-6")
    assert "at most      4 of them for each user" in limited
    assert "each user takes part in at most 4 of the rounds" in " ".join(limited.split())
    answer = json.loads(ask(*YEAR, "--at-most", "4", "--delta", "1e-6", "--json"))
    assert answer["guarantee"]["upper"] == WEEKLY.rounds(4).get_epsilon(1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--delta", "0.1"), "rounds are missing"),
        ((*YEAR[1:], "--delta", "1e-6", "--epsilon", "1"), "how many rounds of MECHANISM fit"),
        (YEAR[1:], "one of '--delta' and '--epsilon' is needed"),
        ((*YEAR[1:4], "--delta", "0.1"), "MECHANISM and '--times' belong together"),
        (("--times", "3", "--delta", "0.1"), "MECHANISM and '--times' belong together"),
        ((YEAR[1], "--times", "3", "--delta", "0.1"), "MECHANISM and '-n'"),
        ((*YEAR[1:4], "--times", "0", "--delta", "0.1"), "rounds must be at least 1"),
        ((*YEAR[1:4], "--times", "-5", "--delta", "0.1"), "rounds must be at least 1"),
        ((*YEAR[1:4], "--times", "2e9", "--delta", "0.1"), "at most 1000000000"),
        ((*YEAR[1:4], "--times", "2.5", "--delta", "0.1"), "rounds must be a whole number"),
        (("--round", "4", "nosuch(1)", "10", "--delta", "0.1"), "nosuch"),
        (("--round", "0", "krr(3, 1)", "10", "--delta", "0.1"), "times must be at least 1"),
        (("--round", "1", "krr(3, 1)", "0", "--delta", "0.1"), "n must be at least 1"),
        ((*YEAR[1:], "--epsilon", "-1"), "epsilon must be between 0 and 1e+12"),
        ((*YEAR[1:], "--at-most", "0", "--delta", "0.1"), "at-most must be at least 1"),
    ],
)
def test_wrong_lines(arguments, message):
    result = run("rounds", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_no_answer():
    matrix = "matrix([[0.5, 0.5, 0], [0.3, 0.4, 0.3]])"
    result = run("rounds", matrix, "-n", "5", "--times", "2", "--delta", "1e-3", "--rtol", "0.1")
    assert result.exit_code == 1
    assert "no finite epsilon can be certified" in result.stderr
    budget = ("--epsilon", "0.01", "--delta", "1e-6")
    result = run("rounds", "krr(k=10, epsilon0=2)", "-n", "100", *budget)
    assert result.exit_code == 1
    assert "not even one round" in result.stderr


@pytest.mark.heavy
def test_calibrate_and_users_take_rounds():
    target = ("--epsilon", "1", "--delta", "1e-6", "--rounds", "4")
    answer = json.loads(ask("calibrate", "krr(k=10)", "-n", "1000", *target, "--json"))
    assert answer["epsilon0"] > 1
    assert answer["times"] == 4
    assert answer["guarantee"]["upper"] <= 1
    text = ask("users", "krr(k=10, epsilon0=2)", *target)
    assert "After 4 rounds all shuffled reports together are (" in " ".join(text.split())


@pytest.mark.heavy
def test_some_rounds_of_several_kinds():
    kinds = ("--round", "5", "krr(3, 1)", "100", "--round", "3", "krr(3, 1)", "200")
    result = run("rounds", *kinds, "--at-most", "2", "--delta", "0.001", "--json")
    answer = json.loads(result.stdout)
    assert answer["at_most"] == 2
    rounds = Rounds(
        [(ShuffleAccountant("krr(3, 1)", n), times) for n, times in ((100, 5), (200, 3))], at_most=2
    )
    assert answer["guarantee"]["upper"] == rounds.get_epsilon(0.001)


def test_corrupted_users_of_every_round():
    """Shares are of the users of each kind of round."""
    line = ("rounds", "krr(k=3, epsilon0=1)", "-n", "500", "--times", "2", "--delta", "1e-4")
    other = ("--round", "2", "krr(k=2, epsilon0=1)", "201", "--rtol", "0.05", "--bound", "blanket")
    answer = json.loads(ask(*line, *other, "--corrupted", "10%", "--json"))
    krr, bit = (
        ShuffleAccountant(text, n, bound="blanket", corrupted=f)
        for text, n, f in (("krr(k=3, epsilon0=1)", 500, 50), ("krr(k=2, epsilon0=1)", 201, 21))
    )
    rounds = Rounds([(krr, 2), (bit, 2)], rtol=0.05)
    assert answer["guarantee"]["upper"] == rounds.get_epsilon(1e-4)
    assert [kind["corrupted"] for kind in answer["rounds"]] == [50, 21]
    fewer = [(ShuffleAccountant("krr(k=3, epsilon0=1)", 450, bound="blanket"), 2)]
    fewer += [(ShuffleAccountant("krr(k=2, epsilon0=1)", 180, bound="blanket"), 2)]
    assert rounds.get_epsilon(1e-4) == Rounds(fewer, rtol=0.05).get_epsilon(1e-4)
    text = " ".join(ask(*line, *other, "--corrupted", "10%").split())
    assert "2 of krr(k=3, epsilon0=1.0) with 500 users, 50 of them corrupted" in text
    assert "in each round of krr(k=2, epsilon0=1.0) the analyst knows or sets" in text
    assert "n = 201, 21 of them corrupted" in str(rounds.epsilon_report(1e-4))


@pytest.mark.parametrize("order", [(0, 7), (7, 0)])
def test_rounds_of_other_crowds_are_other_rounds(order):
    """Laws of one round are remembered, each for its own crowd."""
    found = {}
    for f in order:
        for name in ("corrupted", "corrupted_adaptively"):
            one = ShuffleAccountant("krr(k=3, epsilon0=1.5)", 80, bound="blanket", **{name: f})
            found[name, f] = one.rounds(3, rtol=0.05).get_epsilon(1e-3)
    fewer = ShuffleAccountant("krr(k=3, epsilon0=1.5)", 73, bound="blanket")
    assert found["corrupted", 0] == found["corrupted_adaptively", 0]
    assert found["corrupted", 0] < found["corrupted", 7] < found["corrupted_adaptively", 7]
    assert found["corrupted", 7] == fewer.rounds(3, rtol=0.05).get_epsilon(1e-3)
    both = Rounds([(fewer, 1), (ShuffleAccountant(fewer.randomizer, 80, corrupted=7), 1)])
    assert len(both.kinds) == 2


def test_how_many_rounds_of_corrupted_users():
    line = ("rounds", "krr(k=3, epsilon0=1)", "-n", "500", "--epsilon", "0.5", "--delta", "1e-4")
    line += ("--rtol", "0.05", "--bound", "blanket")
    answer = json.loads(ask(*line, "--corrupted", "400", "--json"))
    one = ShuffleAccountant("krr(k=3, epsilon0=1)", 500, bound="blanket", corrupted=400)
    assert one.rounds(answer["times"], rtol=0.05).get_epsilon(1e-4) <= 0.5
    assert answer["times"] < json.loads(ask(*line, "--json"))["times"]
    assert "users        500, 400 of them corrupted" in ask(*line, "--corrupted", "400")
    none = run(*line, "--corrupted", "500")
    assert none.exit_code == 2
    assert "corrupted must be an integer of at least 0 and at most 499" in none.stderr
