"""``shuffledp curve``: numbers, files, and what goes wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from blankets import blanket_accountant
from click.testing import CliRunner, Result
from command_line import ask, run

from shuffledp import KRR, ShuffleAccountant, __version__, parse
from shuffledp.basics.errors import NoAnswerError
from shuffledp.cli import main
from shuffledp.cli import terminal as terminal_module
from shuffledp.cli.commands import curve as module
from shuffledp.cli.terminal import counter
from shuffledp.comparison import BOUNDS
from shuffledp.comparison.published import BASELINES

TEXT = "krr(k=10, epsilon0=2)"
USERS = ("curve", TEXT, "--delta", "1e-6", "--from", "1e3", "--to", "1e5", "--points", "3")
RAPPOR = ("curve", "rappor(epsilon0=0.7)", "--delta", "1e-6", "--points", "3", "--to", "1e5")


def run_with_notes(*arguments: str) -> Result:
    """Run a command that says on standard error which curves have gaps."""
    result = CliRunner().invoke(main, arguments, prog_name="shuffledp")
    assert result.exit_code == 0, result.stderr
    return result


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_the_numbers_of_the_accountant():
    table = rows(ask(*USERS))
    assert [row["label"] for row in table] == [
        *["guarantee"] * 3,
        *["optimal blanket"] * 3,
        *["lower bound"] * 3,
    ]
    assert {row["group"] for row in table} == {"krr(k=10, epsilon0=2.0)"}
    assert [row["x"] for row in table[:3]] == ["1000", "10000", "100000"]
    for upper, blanket, lower in zip(table[:3], table[3:6], table[6:], strict=True):
        report = ShuffleAccountant(KRR(k=10, epsilon0=2.0), int(upper["x"])).epsilon_report(1e-6)
        assert float(upper["y"]) == report.guarantee.upper
        assert float(lower["y"]) == report.lower_bound
        accountant = blanket_accountant(KRR(k=10, epsilon0=2.0), int(upper["x"]))
        assert float(blanket["y"]) == accountant.get_epsilon(1e-6)


def test_json():
    document = json.loads(ask(*USERS, "--json"))
    shown = document.pop("curves")
    assert document.pop("assumptions")
    assert document == {
        "command": "curve",
        "against": "users",
        "quantity": "epsilon",
        "n": None,
        "corrupted": 0,
        "corrupted_adaptively": 0,
        "rounds": 1,
        "at_most": None,
        "target_delta": 1e-6,
        "view": "multiset",
        "seen": [],
        "rtol": 1e-4,
        "version": __version__,
    }
    assert [curve["bound"] for curve in shown] == ["guarantee", "blanket", "lower_bound"]
    for curve in shown:
        assert curve["mechanism"] == "krr(k=10, epsilon0=2.0)"
        assert curve["x"] == [1000, 10000, 100000]
        assert curve["y"] == [
            float(r["y"]) for r in rows(ask(*USERS)) if r["label"] == curve["label"]
        ]
        assert curve["reasons"] == [None] * 3
        assert curve["rtol_reached"] == [True] * 3


@pytest.mark.heavy
def test_all_bounds_and_their_gaps():
    result = run_with_notes(*RAPPOR, "--bound", "all")
    document = json.loads(ask(*RAPPOR, "--bound", "all", "--json"))
    assert [curve["bound"] for curve in document["curves"]] == list(BOUNDS)
    table = iter(rows(result.stdout))
    for curve in document["curves"]:
        for n, y, reason in zip(curve["x"], curve["y"], curve["reasons"], strict=True):
            assert next(table)["y"] == ("" if y is None else repr(y))
            assert (y is None) == (reason is not None)
            if curve["bound"] in BASELINES:
                analysis = BASELINES[curve["bound"]](parse("rappor(epsilon0=0.7)"), n)
                if y is None:
                    with pytest.raises(NoAnswerError, match=re.escape(reason)):
                        analysis.get_epsilon(1e-6)
                else:
                    assert analysis.get_epsilon(1e-6) == y
    gaps = [curve for curve in document["curves"] if None in curve["y"]]
    notes = result.stderr.splitlines()
    assert len(notes) == len(gaps) > 1
    for note, curve in zip(notes, gaps, strict=True):
        missing = sum(y is None for y in curve["y"])
        assert note.startswith(f"{curve['label']}: no answer at {missing} of 3 points, first at ")
        assert note.endswith(next(filter(None, curve["reasons"])))


def test_bounds_come_in_order_and_once():
    names = ("blanket_bennett", "guarantee", "blanket_bennett")
    options = [word for name in names for word in ("--bound", name)]
    document = json.loads(ask(*USERS, *options, "--json"))
    assert [curve["bound"] for curve in document["curves"]] == ["guarantee", "blanket_bennett"]


def test_against_epsilon0():
    question = ("--against", "epsilon0", "-n", "1e4", "--delta", "1e-6", "--points", "3")
    table = rows(ask("curve", "krr(k=10)", "blh()", *question, "--from", "0.5", "--to", "2"))
    assert [row["label"] for row in table[::3]] == [
        "krr(k=10): guarantee",
        "krr(k=10): optimal blanket",
        "krr(k=10): lower bound",
        "blh(): guarantee",
        "blh(): optimal blanket",
        "blh(): lower bound",
    ]
    assert [float(row["x"]) for row in table[:3]] == [0.5, 1.0, 2.0]
    for row in table[:3]:
        accountant = ShuffleAccountant(KRR(k=10, epsilon0=float(row["x"])), 10_000)
        assert float(row["y"]) == accountant.get_epsilon(1e-6)


def test_against_delta():
    question = ("--against", "delta", "-n", "1e4", "--points", "4")
    table = rows(ask("curve", TEXT, *question))
    assert [float(row["x"]) for row in table[:4]] == [1e-12, 1e-9, 1e-6, 1e-3]
    accountant = ShuffleAccountant(KRR(k=10, epsilon0=2.0), 10_000)
    for row in table[:4]:
        assert float(row["y"]) == accountant.get_epsilon(float(row["x"]))


def test_the_privacy_profile_ends_where_delta_is_small():
    document = json.loads(
        ask("curve", TEXT, "--against", "epsilon", "-n", "1e4", "--points", "3", "--json")
    )
    assert document["quantity"] == "delta"
    upper, blanket, lower = document["curves"]
    accountant = ShuffleAccountant(KRR(k=10, epsilon0=2.0), 10_000)
    assert upper["x"][0] == 0.0
    assert upper["x"][2] == pytest.approx(accountant.get_epsilon(1e-12), rel=0.25)
    assert upper["y"] == [accountant.get_delta(x) for x in upper["x"]]
    assert lower["y"] == [accountant.delta_lower_bound(x) for x in upper["x"]]
    asked = blanket_accountant(KRR(k=10, epsilon0=2.0), 10_000)
    assert blanket["y"] == [asked.get_delta(x) for x in upper["x"]]
    assert 1e-16 < upper["y"][2] <= 1e-12


@pytest.mark.parametrize(
    "text",
    ["matrix([[0.5, 0.5, 0], [0.3, 0.3, 0.4]])", "matrix([[0.5, 0.5], [0.5, 0.5]])"],
    ids=["exposed", "nothing-to-reveal"],
)
def test_a_profile_without_a_natural_end_goes_to_1(text):
    document = json.loads(
        ask("curve", text, "--against", "epsilon", "-n", "9", "--points", "2", "--json")
    )
    assert document["curves"][0]["x"] == [0.0, 1.0]


@pytest.mark.parametrize("ends", [("5000", "5000"), ("5000", "6000")], ids=["equal", "from"])
def test_a_single_point(ends):
    points = "1" if ends[0] != ends[1] else "50"
    table = rows(
        ask(
            "curve", TEXT, "--delta", "1e-6", "--from", ends[0], "--to", ends[1], "--points", points
        )
    )
    assert [row["x"] for row in table] == ["5000"] * 3


def test_the_same_twice():
    assert run(*USERS).stdout == run(*USERS).stdout


def test_other_names_of_equal_text_stay_apart():
    rows_of = [[0.5 - i * 1e-9, 0.5 + i * 1e-9] for i in range(1, 9)]
    first, second = (f"matrix({[*rows_of, [p, 1 - p]]})" for p in (0.4, 0.3))
    document = json.loads(
        ask("curve", first, second, "--delta", "0.1", "--points", "1", "--json", "--rtol", "0.5")
    )
    names = list(dict.fromkeys(curve["mechanism"] for curve in document["curves"]))
    assert names[1] == f"{names[0]} (2)"
    assert len(names[0]) <= 72
    assert re.fullmatch(r"matrix\(.*\.\.\. \(\d+ more characters\)", names[0])


def test_rtol_is_passed_on_and_missing_it_is_said():
    question = ("curve", "krr(3, 1)", "--against", "epsilon", "-n", "1e15", "--rtol", "1e-10")
    result = run_with_notes(*question, "--points", "2", "--to", "0.1", "--bound", "guarantee")
    note = r"guarantee: valid but wider than rtol = 1e-10 at [12] of 2 points\n"
    assert re.fullmatch(note, result.stderr)


def test_no_answer_at_all_is_an_error(tmp_path):
    result = run(*USERS, "--bound", "erlingsson", "--out", str(tmp_path / "a.csv"))
    assert result.exit_code == 1
    assert "no answer at 3 of 3 points" in result.stderr
    assert "it needs epsilon0 below 1/2, got 2" in result.stderr
    assert list(tmp_path.iterdir()) == []


class TestFiles:
    def test_numbers(self, tmp_path):
        names = [str(tmp_path / name) for name in ("a.csv", "b.JSON")]
        assert ask(*USERS, "-o", names[0], "--out", names[1]).splitlines() == names
        assert (tmp_path / "a.csv").read_text() == ask(*USERS)
        assert (tmp_path / "b.JSON").read_text() == ask(*USERS, "--json")
        assert len(list(tmp_path.iterdir())) == 2

    @pytest.mark.heavy
    def test_a_picture_has_its_numbers_beside_it(self, tmp_path):
        pytest.importorskip("matplotlib")
        for name in ("a.png", "a.svg", "a.pdf"):
            (tmp_path / name).write_text("old")
        names = [str(tmp_path / name) for name in ("a.png", "a.svg", "a.pdf")]
        printed = ask(*USERS, "-o", names[0], "-o", names[1], "-o", names[2], "-o", names[0])
        assert [Path(line).name for line in printed.splitlines()] == [
            "a.csv",
            "a.json",
            "a.png",
            "a.svg",
            "a.pdf",
        ]
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
        assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / "a.csv").read_text() == ask(*USERS)
        assert len(list(tmp_path.iterdir())) == 5

    def test_without_the_plotting_package_numbers_are_kept(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        result = run(*USERS, "--out", str(tmp_path / "a.png"))
        assert result.exit_code == 1
        assert 'pip install "shuffledp[plot]"' in result.stderr
        assert "a.csv" in result.stderr
        assert {file.name for file in tmp_path.iterdir()} == {"a.csv", "a.json"}
        assert (tmp_path / "a.csv").read_text() == ask(*USERS)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("a.gif", "must end in one of .png, .svg, .pdf, .csv, .json"),
            ("a", "must end in one of"),
            ("", "must end in one of"),
            ("missing/a.png", "No such file or directory"),
            ("file/a.png", "Not a directory"),
            ("folder.png", "Is a directory"),
            ("locked/a.csv", "Permission denied"),
            ("nul\0.csv", "null byte"),
        ],
    )
    def test_bad_files_fail_before_any_work(self, tmp_path, monkeypatch, name, message):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(module, "trace", None)
        (tmp_path / "file").write_text("")
        (tmp_path / "folder.png").mkdir()
        (tmp_path / "locked").mkdir(mode=0o500)
        if name.startswith("locked") and writable(tmp_path / "locked"):
            pytest.skip("this user may write everywhere")
        result = run(*USERS, "--out", name)
        assert result.exit_code == 2
        assert "Invalid value for '-o' / '--out'" in result.stderr
        assert message in result.stderr
        assert {file.name for file in tmp_path.iterdir()} == {"file", "folder.png", "locked"}


def writable(folder: Path) -> bool:
    try:
        (folder / "probe").touch()
    except PermissionError:
        return False
    (folder / "probe").unlink()
    return True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TEXT,), "a curve against users needs '--delta'"),
        ((TEXT, "--delta", "0.1", "-n", "9"), "against users takes no '-n' / '--users'"),
        (("krr(9)", "--against", "epsilon0", "-n", "9"), "against epsilon0 needs '--delta'"),
        (("krr(9)", "--against", "epsilon0", "--delta", "0.1"), "needs '-n' / '--users'"),
        ((TEXT, "--against", "delta"), "against delta needs '-n' / '--users'"),
        ((TEXT, "--against", "delta", "-n", "9", "--delta", "0.1"), "takes no '--delta'"),
        ((TEXT, "--against", "epsilon", "-n", "9", "--delta", "0.1"), "takes no '--delta'"),
        ((TEXT, "--against", "time", "-n", "9"), "'users', 'epsilon0', 'delta', 'epsilon'"),
        ((), "Missing argument 'MECHANISM...'"),
        (("nosuch(1)", "--delta", "0.1"), "unknown mechanism 'nosuch'"),
        (("krr(9)", "--delta", "0.1"), "krr needs epsilon0"),
        ((TEXT, "krr(10, 2.0)", "--delta", "0.1"), "'krr(10, 2.0)' is given twice"),
        ((TEXT, "--against", "epsilon0", "-n", "9", "--delta", "0.1"), "leave it out"),
        (("krr(9)", "krr(k=9)", "--against", "epsilon0", "-n", "9", "--delta", "0"), "twice"),
        ((*USERS[1:], "--json", "--out", "a.json"), "--json and --out exclude each other"),
    ],
)
def test_usage_errors(arguments, message):
    result = run("curve", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


RANGES = {
    "users": ("--delta", "0.1"),
    "epsilon0": ("--delta", "0.1", "-n", "9"),
    "delta": ("-n", "9"),
    "epsilon": ("-n", "9"),
}


@pytest.mark.parametrize("against", RANGES)
@pytest.mark.parametrize("end", ["--from", "--to"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "x", "", "1e400"])
def test_bad_ends(against, end, value):
    text = "krr(9)" if against == "epsilon0" else TEXT
    result = run("curve", text, "--against", against, *RANGES[against], end, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{end}'" in result.stderr


@pytest.mark.parametrize(
    ("against", "arguments", "message"),
    [
        ("users", ("--from", "2000", "--to", "1000"), "--from must be at most --to, got 2000 and"),
        ("users", ("--from", "1e7"), "--from must be at most --to, got 1e+7 and 1000000"),
        ("users", ("--from", "0"), "n must be at least 1"),
        ("users", ("--to", "1000.5"), "n must be a whole number"),
        ("epsilon0", ("--from", "0"), "epsilon0 must be between 1e-12 and 300"),
        ("epsilon0", ("--from", "x"), "epsilon0 must be a number, got 'x'"),
        ("epsilon0", ("--to", "301"), "epsilon0 must be between 1e-12 and 300"),
        ("delta", ("--from", "0"), "delta must be above 0 on a logarithmic axis, got '0'"),
        ("delta", ("--to", "1.5"), "delta must be between 0 and 1"),
        ("epsilon", ("--to", "301"), "epsilon must be between 0 and 300"),
        ("users", ("--points", "0"), "points must be at least 1 and at most 10000, got '0'"),
        ("users", ("--points", "10001"), "points must be at least 1 and at most 10000"),
        ("users", ("--points", "-3"), "points must be at least 1"),
        ("users", ("--points", "2.5"), "points must be a whole number, got '2.5'"),
        ("users", ("--bound", "clone"), "'stronger_clone'"),
        ("users", ("--rtol", "0"), "Invalid value for '--rtol'"),
    ],
)
def test_bad_ranges(against, arguments, message):
    text = "krr(9)" if against == "epsilon0" else TEXT
    result = run("curve", text, "--against", against, *RANGES[against], *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_help():
    text = ask("curve", "--help")
    for part in ("MECHANISM is what each user runs", "--against", "--json", "n counts all users"):
        assert part in text
    assert all(name in text for name in BOUNDS)
    assert max(map(len, text.splitlines())) <= 80


def test_an_internal_error_is_one_line(monkeypatch):
    def fail(self, delta):
        raise RuntimeError("broken")

    monkeypatch.setattr(ShuffleAccountant, "get_epsilon", fail)
    result = run(*USERS)
    assert result.exit_code == 70
    assert "error in shuffledp itself" in result.stderr
    assert result.stderr.count("\n") == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_and_cleared(monkeypatch):
    monkeypatch.setattr(terminal_module, "_INTERVAL", 0.01)
    with redirect_stderr(Terminal()) as terminal, counter(8) as report:
        report(2, 8)
        while "2 of 8" not in terminal.getvalue():
            pass
    shown = terminal.getvalue()
    assert "\r[#####...............] 2 of 8 points, 0 s" in shown
    assert shown.endswith(" \r")
    assert "\n" not in shown


def test_no_progress_elsewhere():
    with redirect_stderr(io.StringIO()) as stream, counter(8) as report:
        report(8, 8)
    assert stream.getvalue() == ""


IMPATIENT = """
import sys
from shuffledp.cli import main
from shuffledp.comparison import pool

pool._TRIAL = pool._WORTHWHILE = 0.0
pool._cores = lambda: 2
print("ready", file=sys.stderr, flush=True)
main()
"""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("seconds", [0.5, 2.5])
def test_interrupt_ends_quietly(seconds):
    """Ctrl-C goes to all processes of a terminal."""
    question = ("curve", "laplace(2)", "--delta", "1e-6", "--points", "5000")
    with subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, *question],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr.readline() == "ready\n"
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130
