"""Numbers that no double holds are refused at every door: no side is safe for all questions."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import (
    KRR,
    Gaussian,
    Group,
    Laplace,
    Ledger,
    MatrixRandomizer,
    MixedAccountant,
    ShuffleAccountant,
    UnaryEncoding,
    calibrate_epsilon0,
    compare,
    one_of,
    parallel,
    parse,
    plan,
    required_users,
    subsample,
)
from shuffledp.cli import main
from shuffledp.planning.distribution import read_distribution

NEARLY_1 = 1 - Fraction(1, 10**30)  # the nearest double is 1, at which everything is private
THIRD = Fraction(1, 3)


@pytest.fixture(scope="module")
def accountant():
    return ShuffleAccountant("krr(k=3, epsilon0=1)", 10)


@pytest.mark.parametrize(
    "ask",
    [
        lambda a: a.get_epsilon(NEARLY_1),
        lambda a: a.get_delta(NEARLY_1),
        lambda a: ShuffleAccountant("matrix([[1.0, 0.0], [0.0, 1.0]])", 5).get_epsilon(NEARLY_1),
        lambda a: a.epsilon_interval(NEARLY_1),
        lambda a: a.delta_lower_bound(THIRD),
        lambda a: a.epsilon_lower_bound(THIRD),
        lambda a: a.proved_log_delta(THIRD),
        lambda a: a.profile([0.5, THIRD]),
        lambda a: a.epsilon_report(THIRD),
        lambda a: a.meets(THIRD, 0.5),
        lambda a: a.meets(0.5, THIRD),
        lambda a: a.rounds(3).get_epsilon(NEARLY_1),
        lambda a: a.rounds(3).get_delta(2**53 + Fraction(1, 2)),
        lambda a: MixedAccountant([Group("krr(3, 1)", 5)]).get_epsilon(NEARLY_1),
        lambda a: calibrate_epsilon0("krr(3)", n=10, target_epsilon=THIRD, target_delta=0.1),
        lambda a: required_users("krr(3, 1)", target_epsilon=0.5, target_delta=NEARLY_1),
        lambda a: compare("krr(3, 1)", n=10, target_delta=NEARLY_1),
        lambda a: plan(n=10, domain_size=3, target_epsilon=1, target_delta=THIRD),
        lambda a: Ledger.create("never.jsonl", epsilon=THIRD, delta=0.1),
        lambda a: Ledger.create("never.jsonl", epsilon=1, delta=NEARLY_1),
        lambda a: ShuffleAccountant("krr(3, 1)", 10, rtol=THIRD),
    ],
)
def test_targets(ask, accountant):
    with pytest.raises(ValueError, match=r"must be a double, .* is the nearest, got Fraction\("):
        ask(accountant)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KRR(k=3, epsilon0=THIRD),
        lambda: Laplace(epsilon0=THIRD),
        lambda: Gaussian(sigma=2**53 + 1),
        lambda: UnaryEncoding(p=1 - THIRD, q=0.25),
        lambda: subsample(KRR(3, 1.0), rate=THIRD),
        lambda: parallel({"krr(3, 1)": THIRD, "krr(3, 2)": 1 - THIRD}),
        lambda: one_of({"krr(3, 1)": THIRD, "krr(3, 2)": 1 - THIRD}),
        lambda: MatrixRandomizer.from_function(lambda x, y: THIRD, range(2), range(3)),
    ],
)
def test_parameters_of_mechanisms(make):
    """What is sampled is what is accounted: the double, which has to be named."""
    with pytest.raises(ValueError, match=r"must be a double, .* is the nearest"):
        make()


@pytest.mark.skipif(np.finfo("g").nmant == 52, reason="extended precision is double here")
def test_a_matrix_of_other_numbers():
    third = np.longdouble(1) / 3
    with pytest.raises(ValueError, match="matrix must hold doubles, got others of type"):
        MatrixRandomizer(np.array([[third, 1 - third], [1 - third, third]]))
    assert MatrixRandomizer(np.eye(2, dtype=np.float32)) == MatrixRandomizer(np.eye(2))


@pytest.mark.parametrize("n", [10 + Fraction(1, 10**20), 10.5])
def test_numbers_of_users(n):
    with pytest.raises(ValueError, match="n must be an integer"):
        ShuffleAccountant("krr(k=3, epsilon0=1)", n)


@pytest.mark.parametrize("value", [1.0, np.float64(1), np.float32(1), Fraction(1), True])
@pytest.mark.parametrize("name", ["corrupted", "corrupted_adaptively"])
def test_one_corrupted_user_or_all_of_them(name, value):
    """0.9999 is a share of nearly all users, and 1 is one user; 1.0 could be either."""
    allowed = "must be (the integer 1 for one user|a real number)"
    for ask in (
        lambda: ShuffleAccountant("krr(k=3, epsilon0=1)", 10_000, **{name: value}),
        lambda: calibrate_epsilon0(
            "krr(3)", n=10, target_epsilon=1, target_delta=0.1, **{name: value}
        ),
        lambda: required_users("krr(3, 1)", target_epsilon=1, target_delta=0.1, **{name: value}),
        lambda: compare("krr(3, 1)", n=10, target_delta=0.1, **{name: value}),
    ):
        with pytest.raises((TypeError, ValueError), match=f"{name} {allowed}"):
            ask()


def test_one_corrupted_user_and_nearly_all_of_them():
    some, most = (
        ShuffleAccountant("krr(k=10, epsilon0=2)", 10_000, corrupted=share)
        for share in (np.int64(1), 0.9999)
    )
    assert (some.crowd.corrupted, most.crowd.corrupted) == (1, 9999)
    with pytest.raises(ValueError, match=r"corrupted must be the integer 1 .* got 1.0"):
        MixedAccountant([Group("krr(3, 1)", 5)], corrupted=1.0)


def asked(*options):
    line = ["epsilon", "krr(k=10, epsilon0=2)", "-n", "1000", "--json", *options]
    return CliRunner().invoke(main, line)


@pytest.mark.parametrize("text", ["1.0", "1.", "1e0", "100%", "01", "\u0661", "\uff11", "1.0e-0"])
@pytest.mark.parametrize("option", ["--corrupted", "--corrupted-adaptively"])
def test_one_corrupted_user_on_the_command_line(option, text):
    result = asked("--delta", "1e-6", option, text)
    assert result.exit_code == 2
    assert "must be a" in result.output
    assert (
        json.loads(asked("--delta", "1e-6", option, "1").output)[option[2:].replace("-", "_")] == 1
    )


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("0.1", 0.1),
        ("1e-6", 1e-6),
        ("0.99999999999999999999999", 0.9999999999999999),
        ("0.10000000000000000001", 0.1),  # the double below 0.1 is no better
        ("0.3000000000000000000000000000001", 0.3),
    ],
)
def test_texts_with_more_digits_than_a_double(text, used):
    result = asked("--delta", text)
    assert result.exit_code == 0
    assert json.loads(result.output)["target_delta"] == used
    assert Fraction(repr(used)) <= Fraction(text)


@pytest.mark.parametrize(
    "text", ["\u0660.\u0665", "0.1_5", "0x1", "1e-\u0666", "infinity", "\u00bd"]
)
def test_digits_of_other_scripts(text):
    for options in (["--delta", text], ["--delta", "0.1", "--rtol", text]):
        result = asked(*options)
        assert result.exit_code == 2
        assert "must be a number" in result.output


@pytest.mark.parametrize("text", ["\u0661\u0660", "1_0", "1__000", "0b1"])
def test_whole_numbers_in_other_writings(text):
    for line in (
        ["epsilon", "krr(3, 1)", "-n", text, "--delta", "0.1"],
        ["rounds", "krr(3, 1)", "-n", "10", "--times", text, "--delta", "0.1"],
        ["curve", "krr(3, 1)", "-n", "10", "--delta", "0.1", "--points", text],
        ["audit", "krr(3, 1)", "-n", "10", "--delta", "0.1", "--seed", text],
        ["explore", "--port", text],
    ):
        result = CliRunner().invoke(main, line)
        assert result.exit_code == 2
        assert "must be a whole number such as 10000, 1e4 or 10_000" in result.output


def test_mechanisms_and_their_files_in_other_digits(tmp_path):
    with pytest.raises(ValueError, match="mechanism must look like"):
        parse("krr(k=3, epsilon0=\u0661)")
    for text in ("\u0661 0\n0 \u0661", "1_0 0\n0 1_0"):
        (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"does not hold a matrix: '.*' is not a number"):
            MatrixRandomizer.from_file(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="distribution must be shares"):
        read_distribution("0.5,\u0660.\u0665")
