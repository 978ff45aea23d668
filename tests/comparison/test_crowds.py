"""Corrupted users in comparisons and curves: every bound answers for those it covers."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from shuffledp import KRR, RAPPOR, ShuffleAccountant, compare, curve
from shuffledp.accounting import Setting
from shuffledp.accounting.crowd import Corruption, Crowd
from shuffledp.basics.errors import NoAnswerError
from shuffledp.cli import main
from shuffledp.comparison import BOUNDS, OURS, Question
from shuffledp.comparison.published import BASELINES
from shuffledp.comparison.published.baseline import users_covered
from shuffledp.comparison.question import answer

N, F = 2000, 300
MECHANISM = RAPPOR(epsilon0=0.4)
SETTING = Setting(mechanism=KRR(k=3, epsilon0=1.0), n=60)
QUESTION = Question(SETTING, "epsilon", 1e-3, ("guarantee", "ghazi_uniform"))


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("view", ["multiset", "sum"])
@pytest.mark.parametrize(("quantity", "target"), [("epsilon", 1e-6), ("delta", 0.01)])
def test_users_fixed_in_advance_are_not_there_for_anybody(quantity, target, view):
    few = Setting(mechanism=MECHANISM, n=N - F, view=view)
    many = replace(few, n=N, corrupted=F)
    first, second = (
        answer(Question(setting, quantity, target, tuple(BOUNDS))) for setting in (few, many)
    )
    assert first == second


def test_published_upper_bounds_do_not_cover_reports_learned_after_the_fact():
    krr = KRR(k=4, epsilon0=0.4)
    asked = {"corrupted": F, "corrupted_adaptively": 9}
    question = Question(Setting(mechanism=krr, n=N, **asked), "epsilon", 1e-6, tuple(BOUNDS))
    found = dict(zip(BOUNDS, answer(question), strict=True))
    ours = ShuffleAccountant(krr, N, **asked)
    assert found["guarantee"].number == ours.get_epsilon(1e-6)
    assert found["blanket"].number == ours.get_epsilon(1e-6)  # which is what "best" falls back on
    assert found["lower_bound"].number == ours.epsilon_lower_bound(1e-6)
    for name in BOUNDS.keys() - set(OURS):
        if BOUNDS[name].kind == "upper":
            assert found[name].number is None
            assert found[name].reason == "it does not cover reports that are learned adaptively"
        else:
            fewer = BASELINES[name](krr, N - F - 9)
            assert found[name].number == fewer.get_epsilon(1e-6)
            assert found[name].number <= found["guarantee"].number


def test_who_is_covered():
    for name, analysis in BASELINES.items():
        assert users_covered(analysis, Crowd(10)) == 10
        assert users_covered(analysis, Crowd(10, 3)) == 7
        if BOUNDS[name].kind == "lower":
            assert users_covered(analysis, Crowd(10, 3, 2)) == 5
        else:
            with pytest.raises(NoAnswerError, match="adaptively"):
                users_covered(analysis, Crowd(10, 3, 2))


def test_a_share_is_one_of_the_users_at_each_point():
    found = curve("krr(k=3, epsilon0=1)", x=[11, 100, 1000], target_delta=1e-4, corrupted=0.1)
    asked = [ShuffleAccountant("krr(k=3, epsilon0=1)", n) for n in (9, 90, 900)]
    assert found.curves[0].y.tolist() == [one.get_epsilon(1e-4) for one in asked]
    assert found.curves[2].y.tolist() == [one.epsilon_lower_bound(1e-4) for one in asked]
    assert "10% of the users corrupted" in found.title
    fact = "the analyst knows or sets the reports of 10% of the users, fixed before"
    assert any(note.startswith(fact) for note in found.notes)
    assert found.to_dict()["corrupted"] == 0.1


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("against", "options"),
    [
        ("delta", {"x": [1e-6, 1e-3]}),
        ("epsilon", {"x": [0.0, 0.5]}),
        ("epsilon", {"bounds": "blanket", "rtol": 0.1}),
        ("epsilon0", {"x": [0.5, 2.0], "target_delta": 1e-4}),
        ("rounds", {"x": [1, 3], "target_delta": 1e-4, "bounds": "blanket", "rtol": 0.05}),
    ],
)
def test_along_the_other_axes_n_stays(against, options):
    mechanism = "krr(k=3)" if against == "epsilon0" else "krr(k=3, epsilon0=1)"
    some = curve(mechanism, against, n=100, corrupted=0.3, **options)
    few = curve(mechanism, against, n=70, **options)
    assert some.course.x == few.course.x
    for ours, theirs in zip(some.curves, few.curves, strict=True):
        assert ours.values == theirs.values
    assert "100 users, 30 of them corrupted" in some.title
    assert "corrupted" not in few.title
    assert few.notes == ()


def test_adaptive_corruption_along_a_curve():
    found = curve("krr(k=3, epsilon0=1)", x=[500], target_delta=1e-4, corrupted_adaptively=0.02)
    wanted = ShuffleAccountant("krr(k=3, epsilon0=1)", 500, corrupted_adaptively=10)
    assert found.curves[0].y.tolist() == [wanted.get_epsilon(1e-4)]
    assert found.title.endswith("2% of the users corrupted adaptively")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"corrupted": 10}, "corrupted must be .* at most 9, got 10, where there are 10 users"),
        ({"corrupted": 0.95}, "at least one of n = 10 users honest, got 10 and 0, where"),
        ({"corrupted": -1}, "corrupted must be"),
        ({"corrupted_adaptively": 2.5}, "corrupted_adaptively must be"),
    ],
)
def test_somebody_is_honest_at_every_point(options, said):
    with pytest.raises(ValueError, match=said):
        curve("krr(k=3, epsilon0=1)", x=[10, 100], target_delta=1e-4, **options)
    with pytest.raises(ValueError, match=said.partition(", where")[0]):
        compare("krr(k=3, epsilon0=1)", 10, 1e-4, **options)


@pytest.mark.parametrize(
    ("corruption", "words"),
    [
        (Corruption(), ""),
        (Corruption(5000), "5,000 users corrupted"),
        (Corruption(1), "1 user corrupted"),
        (Corruption(0.07), "7% of the users corrupted"),
        (Corruption(Fraction(1, 8), 3), "12.5% of the users corrupted, 3 adaptively"),
        (Corruption(0, 0.3), "30% of the users corrupted adaptively"),
        (Corruption(2, 0.29), "2 users corrupted, 29% adaptively"),
    ],
)
def test_corruption_in_words(corruption, words):
    assert str(corruption) == words
    assert len(corruption.assumptions) == bool(corruption.corrupted) + bool(
        corruption.corrupted_adaptively
    )


def ask(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout


COMPARE = ("compare", "krr(k=10, epsilon0=2)", "-n", "1000", "--delta", "1e-6")


def test_comparisons_say_who_is_corrupted():
    text = ask(*COMPARE, "--corrupted", "5%")
    assert "users      1,000, 50 of them corrupted\n" in text
    assert text.endswith("Published bounds are those of 950 honest users.\n")
    document = json.loads(
        ask(*COMPARE, "--corrupted", "50", "--corrupted-adaptively", "1%", "--json")
    )
    assert (document["corrupted"], document["corrupted_adaptively"]) == (50, 10)
    assert len([fact for fact in document["assumptions"] if "reports of" in fact]) == 2
    table = ask(*COMPARE, "--corrupted", "50", "--csv").splitlines()
    assert "n,corrupted,corrupted_adaptively,rounds,at_most,target_delta" in table[0]
    assert ",1000,50,0," in table[1]
    found = compare("krr(k=10, epsilon0=2)", 1000, 1e-6, corrupted=50, corrupted_adaptively=2)
    assert "1,000 users, 50 of them corrupted, 2 corrupted adaptively" in found.title
    assert str(found).endswith("Published lower bounds are those of 948 honest users.")


def test_curves_say_who_is_corrupted(tmp_path):
    line = ["curve", "krr(k=3, epsilon0=1)", "--delta", "1e-3", "--from", "60", "--points", "1"]
    document = json.loads(ask(*line, "--corrupted", "5%", "--corrupted-adaptively", "2", "--json"))
    assert (document["corrupted"], document["corrupted_adaptively"]) == (0.05, 2)
    assert any("5% of the users" in fact for fact in document["assumptions"])
    result = CliRunner().invoke(main, [*line, "--corrupted", "5%"])
    assert "the reports of 5% of the users" in result.stderr
    ask(*line, "--corrupted", "5%", "--out", str(tmp_path / "c.json"))
    assert json.loads((tmp_path / "c.json").read_text())["corrupted"] == 0.05


@pytest.mark.parametrize(
    "line",
    [
        (*COMPARE, "--corrupted", "1000"),
        (*COMPARE, "--corrupted", "99.99%"),
        ("curve", "krr(3, 1)", "--delta", "1e-3", "--from", "60", "--corrupted", "60"),
        ("curve", "krr(3, 1)", "--against", "epsilon", "-n", "60", "--corrupted", "60"),
    ],
)
def test_command_lines_without_an_honest_user(line):
    result = CliRunner().invoke(main, list(line))
    assert result.exit_code == 2
    assert "corrupted" in result.stderr
    assert "Traceback" not in result.stderr
