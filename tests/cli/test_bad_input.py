"""Every argument of every command: missing, wrong type, out of range. Never a traceback."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import run
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ShuffleAccountant, __version__
from shuffledp.accounting import Report
from shuffledp.basics.errors import ContradictionError, NoAnswerError
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import NOTHING
from shuffledp.bounds.root import Root
from shuffledp.cli import main
from shuffledp.mechanisms import MECHANISMS

#: Every command with a valid value of every argument.
VALID = {
    "epsilon": {"MECHANISM": "krr(3, 1)", "--users": "9", "--delta": "0.1", "--rtol": "1e-3"},
    "delta": {"MECHANISM": "krr(3, 1)", "--users": "9", "--epsilon": "0.1", "--rtol": "1e-3"},
    "calibrate": {"FAMILY": "krr(3)", "--users": "9", "--epsilon": "1", "--delta": "0.1"},
    "users": {"MECHANISM": "krr(3, 1)", "--epsilon": "0.5", "--delta": "0.1"},
}

BAD_TEXTS = [
    "",
    " ",
    "krr",
    "krr(",
    "krr()",
    "krr(k=10",
    "krr(k=1, epsilon0=1)",
    "krr(k=2.5, epsilon0=1)",
    "krr(k='a', epsilon0=1)",
    "krr(k=3, epsilon0=0)",
    "krr(k=3, epsilon0=1e400)",
    "krr(k=3, epsilon0=301)",
    "krr(k=3, epsilon0=1, k=3)",
    "krr(k=3, epsilon0=1, size=3)",
    "krr(3, 1, 1)",
    "krr(k=3, epsilon0=__import__('os'))",
    "nosuch(epsilon0=1)",
    "laplace(epsilon0=1, domain='circle')",
    "unary(p=0.5, q=0.5)",
    "subset(epsilon0=1, domain_size=3, size=3)",
    "matrix('no/such/file.csv')",
    "matrix([[0.5, 0.6]])",
    "1",
    "krr(3, 1); krr(3, 1)",
    "\0",
]

BAD_NUMBERS = [
    "",
    " ",
    "x",
    "0x1",
    "1,5",
    "1e",
    "nan",
    "inf",
    "-inf",
    "-1",
    "1e-400",
    "None",
    "1 2",
]

BAD = {
    "MECHANISM": BAD_TEXTS,
    "FAMILY": [*BAD_TEXTS, "krr(k=3, epsilon0=1)", "gaussian()", "unary(p=0.7, q=0.2)"],
    "--users": [*BAD_NUMBERS, "0", "1.5", "10,000", "1e400", "1e9999999999", str(2**53 + 1), "0.5"],
    "--epsilon": [*BAD_NUMBERS, "1e400", "-1e-300"],
    "--delta": [*BAD_NUMBERS, "1.0000001", "2", "-1e-300"],
    "--rtol": [*BAD_NUMBERS, "0", "1e-11", "0.6"],
}


def assemble(command: str, values: dict[str, str]) -> list[str]:
    options = [f"{name}={value}" for name, value in values.items() if name.startswith("--")]
    texts = [value for name, value in values.items() if not name.startswith("--")]
    return [command, *options, "--", *texts]


def bad_values() -> Iterator[tuple[str, str, str]]:
    for command, valid in VALID.items():
        for name in valid:
            yield from ((command, name, value) for value in BAD[name])


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("command", VALID)
def test_valid_values_are_valid(command):
    assert run(*assemble(command, VALID[command])).exit_code == 0


@pytest.mark.parametrize(("command", "name", "value"), list(bad_values()))
@pytest.mark.parametrize("json", [[], ["--json"]], ids=["text", "json"])
def test_bad_values_are_usage_errors_that_name_the_argument(command, name, value, json):
    first, *rest = assemble(command, {**VALID[command], name: value})
    result = run(first, *json, *rest)
    assert result.exit_code == 2
    usage, _, error = result.stderr.partition("Error: ")
    assert usage.startswith(f"Usage: shuffledp {command} ")
    assert error.startswith("Invalid value for ")
    assert f"'{name}'" in error.partition(": ")[0]
    assert len(error) < 400


@pytest.mark.parametrize(
    ("command", "name"), [(command, name) for command in VALID for name in VALID[command]]
)
def test_missing_values(command, name):
    rest = {key: value for key, value in VALID[command].items() if key != name}
    result = run(*assemble(command, rest))
    if name == "--rtol":
        assert result.exit_code == 0
    else:
        assert result.exit_code == 2
        assert f"'{name}'" in result.stderr


@pytest.mark.parametrize("command", [*VALID, "mechanisms"])
@pytest.mark.parametrize("extra", ["--nosuch", "-x", "surplus"])
def test_unknown_arguments(command, extra):
    values = VALID.get(command, {})
    first, *rest = assemble(command, values)
    result = run(first, extra, *rest)
    assert result.exit_code == 2
    assert extra in result.stderr or "unexpected extra argument" in result.stderr


@pytest.mark.parametrize("command", ["nosuch", "Epsilon", "", "--nosuch"])
def test_unknown_commands(command):
    result = run(command)
    assert result.exit_code == 2
    assert "No such" in result.stderr


def test_no_command_shows_the_help():
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 2
    assert "Commands:" in result.output


@pytest.mark.parametrize("text", ["nosuch(epsilon0=1)", "KRR(k=3, epsilon0=1)"])
def test_unknown_mechanism_lists_the_known_ones(text):
    result = run("epsilon", text, "-n", "9", "--delta", "0.1")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in MECHANISMS)


def test_limit_of_n_is_named():
    result = run("epsilon", "krr(3, 1)", "-n", "1e16", "--delta", "0.1")
    assert "2**53 = 9007199254740992" in result.stderr


def test_a_bad_parameter_of_a_mechanism_is_named():
    result = run("epsilon", "krr(k=1, epsilon0=1)", "-n", "9", "--delta", "0.1")
    assert "k must be" in result.stderr


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize(
    "arguments",
    [
        ("users", "krr(k=10, epsilon0=1)", "--epsilon", "0", "--delta", "0"),
        ("calibrate", "krr(k=10)", "-n", "10", "--epsilon", "0", "--delta", "0"),
        ("epsilon", "matrix([[1, 0], [0, 1]])", "-n", "10", "--delta", "0.1"),
        ("epsilon", "matrix([[0.5, 0.5, 0], [0, 0.5, 0.5]])", "-n", "10", "--delta", "0"),
    ],
)
@pytest.mark.parametrize("json", [[], ["--json"]], ids=["text", "json"])
def test_questions_without_answer(arguments, json):
    result = run(*arguments, *json)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: no ")
    assert "please report" not in result.stderr
    assert result.stderr.count("\n") == 1


def answer_with(monkeypatch: pytest.MonkeyPatch, outcome: BaseException | Report) -> None:
    def epsilon_report(self: ShuffleAccountant, target_delta: float) -> Report:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(ShuffleAccountant, "epsilon_report", epsilon_report)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (NoAnswerError("too small"), 1, "Error: too small\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
        (OSError(errno.ENOSPC, "No space left"), 1, "cannot write the answer: No space left"),
        (OSError(errno.EIO, "Broken", "disk.csv"), 1, "cannot use 'disk.csv': Broken"),
        (ZeroDivisionError("division by zero"), 70, "please report it: ZeroDivisionError"),
        (MemoryError(), 70, "please report it: MemoryError"),
        (RecursionError(), 70, "please report it: RecursionError"),
        (ContradictionError("no"), 70, "please report it: ContradictionError('no') in shuffledp "),
        (ValueError("inside"), 70, "please report it: ValueError('inside')"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_errors_become_one_line(monkeypatch, error, code, message):
    answer_with(monkeypatch, error)
    result = run(*assemble("epsilon", VALID["epsilon"]))
    assert result.exit_code == code
    assert message in result.stderr
    assert bool(result.stderr) == bool(message)


def report(guarantee: Interval, lower_bound: float) -> Report:
    asked = ShuffleAccountant("krr(k=3, epsilon0=1)", 10).epsilon_report(1e-3)
    return replace(asked, guarantee=guarantee, lower_bound=lower_bound)


def test_an_internal_error_says_what_a_report_needs(monkeypatch):
    answer_with(monkeypatch, ContradictionError("two\nlines"))
    result = run("epsilon", "krr(k=3, epsilon0=2.5)", "-n", "1000", "--delta", "1e-6")
    assert result.exit_code == 70
    assert result.stderr.count("\n") == 1
    assert "ContradictionError('two\\nlines')" in result.stderr
    assert "shuffledp epsilon 'krr(k=3, epsilon0=2.5)' -n 1000 --delta 1e-6" in result.stderr
    assert f"shuffledp {__version__}, numpy {np.__version__}, Python " in result.stderr


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_a_traceback_is_shown_if_asked_for(monkeypatch, value, shown):
    answer_with(monkeypatch, ContradictionError("crossed"))
    arguments = assemble("epsilon", VALID["epsilon"])
    result = CliRunner().invoke(main, arguments, env={"SHUFFLEDP_TRACEBACK": value})
    assert result.exit_code == 70
    assert ("Traceback" in result.stderr) == shown
    assert ("in epsilon_report" in result.stderr) == shown
    assert result.stderr.splitlines()[-1].startswith("Error: no answer because of an error in ")


def test_contradicting_bounds_are_not_shown(monkeypatch):
    monkeypatch.setattr(ShuffleAccountant, "_epsilon_above", lambda *_: Root(0.2, NOTHING))
    monkeypatch.setattr(ShuffleAccountant, "_epsilon_below", lambda *_: Root(0.3, NOTHING))
    result = run(*assemble("epsilon", VALID["epsilon"]))
    assert result.exit_code == 70
    assert "the lower bound 0.3 exceeds the guarantee 0.2" in result.stderr


def test_infinite_lower_bound_is_explained(monkeypatch):
    infinity = float("inf")
    answer_with(monkeypatch, report(Interval(300.0, infinity), infinity))
    result = run(*assemble("epsilon", VALID["epsilon"]))
    assert result.exit_code == 1
    assert "larger delta at every epsilon" in result.stderr


WORDS = """
    epsilon delta calibrate users mechanisms -n --users --delta --epsilon --rtol --json -- --help
    5 1e4 0 1 0.1 -1 nan krr(3,1) krr(3) oue(2) matrix
"""


@pytest.mark.heavy
@settings(max_examples=150)
@given(st.lists(st.sampled_from(WORDS.split()) | st.text(max_size=8), max_size=9))
def test_no_line_of_arguments_breaks_it(arguments):
    check_fuzzed(arguments)


numbers = (
    st.floats().map(repr) | st.integers().map(str) | st.sampled_from(["0", "1", "1e-9", "1e9"])
)
mechanisms = st.builds(
    "{}({}={}, {})".format,
    st.sampled_from([name for name in MECHANISMS if name not in ("gaussian", "matrix")]),
    st.sampled_from(["k", "epsilon0", "domain_size", "p", "buckets", "size"]),
    numbers,
    st.sampled_from(["epsilon0=1", "k=4", "domain_size=5", "q=0.2", "buckets=3"])
    | st.builds("epsilon0={}".format, numbers),
)


@settings(max_examples=150)
@given(st.sampled_from(["epsilon", "delta"]), mechanisms, numbers, numbers)
def test_no_value_breaks_it(command, mechanism, n, level):
    option = "--delta" if command == "epsilon" else "--epsilon"
    check_fuzzed([command, f"-n={n}", f"{option}={level}", "--", mechanism])


def check_fuzzed(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code in (0, 1, 2)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert "please report it:" not in result.output  # the help names that exit code
    assert result.exit_code == 0 or result.stdout == ""
