"""What the four questions print, compared with what the library answers."""

from __future__ import annotations

import json
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from pathlib import Path

import pytest
from command_line import ask

from shuffledp import (
    ShuffleAccountant,
    __version__,
    calibrate_epsilon0,
    parse,
    required_users,
)
from shuffledp.accounting.assumptions import ONE_RANDOMIZER, assumptions_of

QUESTIONS = {
    "epsilon": ("epsilon", "krr(k=10, epsilon0=2)", "-n", "10000", "--delta", "1e-6"),
    "epsilon of a matrix": (
        "epsilon",
        "matrix([[.7,.2,.1],[.2,.5,.3]])",
        "-n",
        "9",
        "--delta",
        "0",
    ),
    "epsilon, wide": ("epsilon", "oue(4)", "-n", "1e4", "--delta", "1e-3", "--rtol", "0.3"),
    "delta": ("delta", "laplace(epsilon0=1)", "-n", "1000", "--epsilon", "0.2"),
    "delta, narrow": ("delta", "blh(1)", "-n", "500", "--epsilon", "0.1", "--rtol", "1e-7"),
    "delta of nothing": ("delta", "matrix([[1, 0], [1, 0]])", "-n", "5", "--epsilon", "0"),
    "calibrate": ("calibrate", "krr(k=10)", "-n", "1000", "--epsilon", "1", "--delta", "1e-6"),
    "calibrate, retuned": ("calibrate", "olh()", "-n", "300", "--epsilon", "1", "--delta", "1e-3"),
    "calibrate, composed": (
        ("calibrate", "joint(krr(k=4), oue())", "-n", "500", "--epsilon", "1", "--delta", "1e-5")
    ),
    "users": ("users", "oue(epsilon0=4)", "--epsilon", "0.5", "--delta", "1e-8"),
    "users, one": ("users", "krr(k=3, epsilon0=1)", "--epsilon", "1", "--delta", "0"),
}
ASKED = [
    pytest.param(question, id=name, marks=[pytest.mark.heavy] if "retuned" in name else [])
    for name, question in QUESTIONS.items()
]

FIELDS = [
    "command",
    "mechanism",
    "relation",
    "ldp_level",
    "ldp_level_reason",
    "n",
    "corrupted",
    "corrupted_adaptively",
    "view",
    "target_epsilon",
    "target_delta",
    "quantity",
    "guarantee",
    "lower_bound",
    "worst_pair",
    "pairs",
    "datasets",
    "bound",
    "bound_reason",
    "rtol",
    "rtol_reached",
    "assumptions",
    "version",
]


def read_json(text: str) -> dict[str, object]:
    """Read JSON in which NaN and Infinity, which are no JSON, are errors."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def rows(text: str) -> dict[str, str]:
    """The aligned lines before the first empty one."""
    head = text.partition("\n\n")[0]
    return dict(re.split(r"  +", line, maxsplit=1) for line in head.splitlines())


def meaning(text: str) -> str:
    return " ".join(text.partition("\n\n")[2].split())


def shown(value: str) -> Decimal:
    """The number in ``epsilon = 0.1  (...)``."""
    return Decimal(value.split()[2])


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("arguments", ASKED)
def test_text_and_json_agree_and_round_to_the_safe_side(arguments):
    answer = read_json(ask(*arguments, "--json"))
    text = ask(*arguments)
    lines = rows(text)
    upper, lower = Decimal(answer["guarantee"]["upper"]), Decimal(answer["lower_bound"])
    guarantee, bound = shown(lines["guarantee"]), shown(lines["lower bound"])
    assert upper <= guarantee <= upper * (1 + Decimal("1e-3"))
    assert lower * (1 - Decimal("1e-3")) <= bound <= lower
    worst = f"worst pair: {answer['worst_pair']}; {answer['pairs']}; {answer['bound']} bound"
    assert f"({worst})" in lines["guarantee"]
    assert f"(datasets: {answer['datasets']})" in lines["lower bound"]
    assert lines["mechanism"] == answer["mechanism"]
    assert lines["users"].split()[0] == f"{answer['n']:,}"
    assert "gap" in lines
    users = "1 user" if answer["n"] == 1 else f"{answer['n']:,} users"
    assert f"With {users} the shuffled reports are (" in meaning(text)
    reason = answer["bound_reason"]
    assert ("Note:" in text) == (reason is not None or not answer["rtol_reached"])
    assert (reason is None) or f"the blanket bound stands, because {reason}." in meaning(text)


@pytest.mark.heavy(keep=6)
@pytest.mark.parametrize("arguments", ASKED)
def test_lines_are_short_and_aligned(arguments):
    text = ask(*arguments)
    head = text.partition("\n\n")[0].splitlines()
    assert max(map(len, text.splitlines())) <= 100
    assert len({re.match(r"[a-z0-9 ]*?  +", line).end() for line in head}) == 1


@pytest.mark.parametrize("arguments", ASKED)
def test_json_fields_are_stable(arguments):
    command = arguments[0]
    answer = read_json(ask(*arguments, "--json"))
    extra = {
        "calibrate": {"family", "epsilon0", "accuracy"},
        "users": {"accuracy"},
        "delta": {"log_guarantee", "log_guarantee_reason", "log_lower_bound"},
    }.get(command, set())
    assert set(answer) == set(FIELDS) | extra
    assert answer["command"] == command
    assert answer["version"] == __version__
    assert answer["assumptions"] == list(assumptions_of([parse(answer["mechanism"])]))
    assert answer["quantity"] == ("delta" if command == "delta" else "epsilon")
    assert (answer["target_epsilon"] is None) == (command == "epsilon")
    assert (answer["target_delta"] is None) == (command == "delta")
    assert type(answer["n"]) is int
    assert set(answer["guarantee"]) == {"lower", "upper"}
    assert 0 <= answer["lower_bound"] <= answer["guarantee"]["upper"]
    assert 0 <= answer["guarantee"]["lower"] <= answer["guarantee"]["upper"]
    assert str(parse(answer["mechanism"])) == answer["mechanism"]


def test_epsilon_is_that_of_the_library():
    answer = read_json(ask(*QUESTIONS["epsilon"], "--json"))
    report = ShuffleAccountant(parse("krr(k=10, epsilon0=2)"), 10_000).epsilon_report(1e-6)
    assert answer["guarantee"] == {
        "lower": report.guarantee.lower,
        "upper": report.guarantee.upper,
    }
    assert answer["lower_bound"] == report.lower_bound
    assert answer["mechanism"] == "krr(k=10, epsilon0=2.0)"
    assert (answer["n"], answer["target_delta"], answer["ldp_level"]) == (10_000, 1e-6, 2.0)


def test_delta_is_that_of_the_library():
    answer = read_json(ask(*QUESTIONS["delta"], "--json"))
    accountant = ShuffleAccountant(parse("laplace(epsilon0=1)"), 1000)
    delta, log = accountant.delta_interval(0.2), accountant.log_delta_interval(0.2)
    assert answer["guarantee"] == {"lower": delta.lower, "upper": delta.upper}
    assert answer["log_guarantee"] == {"lower": log.lower, "upper": log.upper}
    assert answer["log_guarantee_reason"] is None


@pytest.mark.heavy
def test_rtol_is_passed_on_and_decides_the_digits():
    arguments = ("epsilon", "krr(10, 2)", "-n", "1000", "--delta", "1e-6", "--bound", "blanket")
    wide = read_json(ask(*arguments, "--rtol", "0.1", "--json"))
    narrow = read_json(ask(*arguments, "--rtol", "1e-9", "--json"))
    assert (wide["rtol"], narrow["rtol"]) == (0.1, 1e-9)
    spread = narrow["guarantee"]["upper"] - narrow["guarantee"]["lower"]
    assert spread <= 1e-9 * narrow["guarantee"]["upper"]
    text = ask(*arguments, "--rtol", "1e-9")
    assert len(shown(rows(text)["guarantee"]).as_tuple().digits) >= 9


@pytest.mark.heavy
def test_the_bound_is_passed_on():
    for command in (
        ("epsilon", "krr(2, 2)", "-n", "1000", "--delta", "1e-6"),
        ("delta", "krr(2, 2)", "-n", "1000", "--epsilon", "0.3"),
        ("calibrate", "krr(k=2)", "-n", "1000", "--epsilon", "0.3", "--delta", "1e-6"),
        ("users", "krr(2, 2)", "--epsilon", "0.5", "--delta", "1e-6"),
    ):
        blanket = read_json(ask(*command, "--bound", "blanket", "--json"))
        best = read_json(ask(*command, "--json"))
        assert (blanket["bound"], best["bound"]) == ("blanket", "exact")
        assert read_json(ask(*command, "--bound", "best", "--json")) == best
        assert "exact bound" not in ask(*command, "--bound", "blanket")


@pytest.mark.heavy
def test_why_the_blanket_stands():
    arguments = ("epsilon", "gaussian(sigma=5)", "-n", "1000", "--delta", "1e-6")
    reason = read_json(ask(*arguments, "--json"))["bound_reason"]
    assert reason == "which backgrounds are worst for the swap bound is not known"
    assert f"Note: the blanket bound stands, because {reason}." in meaning(ask(*arguments))
    blanket = ask(*arguments, "--bound", "blanket")
    assert "Note:" not in blanket


def test_calibrated_level_is_safe_and_rounded_down():
    answer = read_json(ask(*QUESTIONS["calibrate"], "--json"))
    exact = calibrate_epsilon0("krr(k=10)", n=1000, target_epsilon=1, target_delta=1e-6).epsilon0
    assert answer["family"] == "krr(k=10)"
    assert answer["epsilon0"] == exact
    assert answer["guarantee"]["upper"] <= 1
    lines = rows(ask(*QUESTIONS["calibrate"]))
    level = Decimal(lines["epsilon0"].split()[0])
    assert level <= Decimal(exact)
    assert exact - float(level) <= 1e-3 * exact
    accountant = ShuffleAccountant(parse(f"krr(k=10, epsilon0={level})"), 1000)
    assert accountant.get_delta(1.0) <= 1e-6


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1", "0.123456789"])
def test_the_text_shows_the_target_that_is_met(epsilon):
    question = ("calibrate", "krr(k=10)", "-n", "1000", "--epsilon", epsilon, "--delta", "1e-6")
    text = ask(*question)
    assert rows(text)["guarantee"].startswith(f"epsilon = {epsilon} ")
    assert f"({epsilon}, 1e-6)-differentially private" in meaning(text)
    assert read_json(ask(*question, "--json"))["guarantee"]["upper"] <= float(epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", "0.123456789"])
def test_the_text_never_shows_more_than_the_target(epsilon):
    question = ("users", "krr(k=10, epsilon0=2)", "--epsilon", epsilon, "--delta", "1e-6")
    assert shown(rows(ask(*question))["guarantee"]) <= Decimal(epsilon)
    assert read_json(ask(*question, "--json"))["guarantee"]["upper"] <= float(epsilon)


@pytest.mark.heavy
def test_a_level_that_must_not_be_rounded_is_shown_in_full():
    """olh() re-tunes its buckets: a smaller epsilon0 may be less private."""
    lines = rows(ask(*QUESTIONS["calibrate, retuned"]))
    answer = read_json(ask(*QUESTIONS["calibrate, retuned"], "--json"))
    assert lines["epsilon0"].split()[0] == repr(answer["epsilon0"])
    assert lines["family"] == "olh()"


@pytest.mark.heavy
def test_composed_families_are_calibrated_part_by_part():
    answer = read_json(ask(*QUESTIONS["calibrate, composed"], "--json"))
    level = answer["epsilon0"]
    assert answer["mechanism"] == f"joint(krr(k=4, epsilon0={level!r}), oue(epsilon0={level!r}))"
    assert answer["ldp_level"] == 2 * level
    shown_level = rows(ask(*QUESTIONS["calibrate, composed"]))["epsilon0"].split()[0]
    assert level * (1 - 1e-3) <= float(shown_level) <= level


def test_users_are_the_smallest_number():
    answer = read_json(ask(*QUESTIONS["users"], "--json"))
    found = required_users("oue(epsilon0=4)", target_epsilon=0.5, target_delta=1e-8)
    assert answer["n"] == found.n
    assert answer["guarantee"]["upper"] <= 0.5
    lines = rows(ask(*QUESTIONS["users"]))
    assert "smallest safe number" in lines["users"]
    assert lines["target"] == "epsilon = 0.5, delta = 1e-8"


@pytest.mark.parametrize("text", ["10000", "1e4", "10_000", "10000.0", " 10000 ", "+1E+4"])
def test_spellings_of_n(text):
    arguments = ("epsilon", "krr(10, 2)", "--users", text, "--delta", "1e-6", "--json")
    assert read_json(ask(*arguments))["n"] == 10_000


@pytest.mark.parametrize("n", [1, 2**53])
def test_ends_of_the_range_of_n(n):
    answer = read_json(ask("delta", "krr(3, 1)", "-n", str(n), "--epsilon", "0.5", "--json"))
    assert answer["n"] == n


@pytest.mark.heavy
@pytest.mark.parametrize(("n", "epsilon"), [("1e6", "1.2"), ("1e9", "0.2"), ("2**53", "1")])
def test_delta_below_the_smallest_double_is_shown(n, epsilon):
    users = str(2**53) if n == "2**53" else n
    arguments = ("delta", "krr(k=10, epsilon0=2)", "-n", users, "--epsilon", epsilon)
    answer = read_json(ask(*arguments, "--json"))
    assert answer["guarantee"]["lower"] == 0 < answer["guarantee"]["upper"] < 1e-322
    assert answer["lower_bound"] == 0
    text = ask(*arguments)
    above, below = (
        re.search(rf"{end} +delta = (\S+)", text).group(1) for end in ("guarantee", "lower bound")
    )
    context = Context(prec=40, Emin=MIN_EMIN, Emax=MAX_EMAX)
    upper, lower = (context.ln(Decimal(shown)) for shown in (above, below))
    log, leak = Decimal(answer["log_guarantee"]["upper"]), Decimal(answer["log_lower_bound"])
    assert lower <= leak < lower + Decimal("0.01")
    assert log <= upper < log + Decimal("0.01")
    assert leak < log < -10000
    assert f"({epsilon}, {above})-differentially private;" in meaning(text)
    assert f"no analysis can prove less than delta = {below}." in meaning(text)


def test_delta_of_zero_has_no_logarithm():
    arguments = ("delta", "krr(k=10, epsilon0=2)", "-n", "50", "--epsilon", "2.5")
    answer = read_json(ask(*arguments, "--json"))
    assert answer["guarantee"] == {"lower": 0, "upper": 0}
    assert answer["log_guarantee"] == {"lower": None, "upper": None}
    assert answer["log_lower_bound"] is None
    assert "0" in answer["log_guarantee_reason"]
    assert "are (2.5, 0)-differentially private for" in meaning(ask(*arguments))


def test_mechanism_that_is_not_pure_has_no_level():
    arguments = ("delta", "gaussian(sigma=1)", "-n", "1000", "--epsilon", "0.2", "--rtol", "0.1")
    answer = read_json(ask(*arguments, "--json"))
    assert answer["ldp_level"] is None
    assert "not pure LDP" in answer["ldp_level_reason"]


@pytest.mark.heavy
def test_missed_rtol_is_said_in_words():
    arguments = (
        "delta",
        "krr(k=3, epsilon0=1)",
        "-n",
        "1e15",
        "--epsilon",
        "0.1",
        "--rtol",
        "1e-10",
    )
    assert read_json(ask(*arguments, "--json"))["rtol_reached"] is False
    assert "is wider than rtol = 1e-10." in meaning(ask(*arguments))


def test_long_mechanisms_are_shortened_for_people_only():
    row = [0.05] * 20
    arguments = ("delta", f"matrix({[row, row]})", "-n", "5", "--epsilon", "0")
    assert rows(ask(*arguments))["mechanism"].endswith(" more characters)")
    assert read_json(ask(*arguments, "--json"))["mechanism"] == f"matrix({[row, row]})"


def test_matrix_from_a_file(tmp_path: Path):
    file = tmp_path / "channel.csv"
    file.write_text("0.7,0.2,0.1\n0.2,0.5,0.3\n", encoding="utf-8")
    written_out = ask(*QUESTIONS["epsilon of a matrix"])
    from_file = ask("epsilon", f"matrix({str(file)!r})", "-n", "9", "--delta", "0")
    assert rows(from_file)["guarantee"] == rows(written_out)["guarantee"]


def test_what_only_the_swap_bound_of_a_level_assumes_is_printed():
    question = ("epsilon", "any_pure_ldp(epsilon0=1)", "-n", "1000", "--delta", "1e-6")
    assert f"This assumes that {ONE_RANDOMIZER}." in " ".join(ask(*question).split())
    assert json.loads(ask(*question, "--json"))["assumptions"][-1] == ONE_RANDOMIZER
    assert "This assumes" not in ask(*question, "--bound", "blanket")
