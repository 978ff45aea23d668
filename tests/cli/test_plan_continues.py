"""``shuffledp plan --chart`` that was interrupted continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from unittest import mock

import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.cli import plan as module
from shuffledp.planning.goal import Goal, LeastError
from shuffledp.planning.search import Found

LINE = ["plan", "-n", "500", "--epsilon", "1", "--delta", "1e-6", "--domain", "3"]
HIDDEN = ".e.csv.shuffledp-points"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shuffledp.comparison.pool._cores", lambda: 1)


@pytest.fixture
def judged(monkeypatch):
    """What is searched, quickly; the computer is interrupted at the tenth mechanism."""
    judged, judge = [], Goal.judge

    def first(goal, families, analysis):
        return Found(families[0](goal.target), goal.target, "guarantee")

    def interrupted(goal, named):
        judged.append((goal.target, named[0]))
        if len(judged) == 10:
            raise KeyboardInterrupt
        return judge(goal, named)

    monkeypatch.setattr(LeastError, "search", first)
    monkeypatch.setattr(Goal, "judge", interrupted)
    return judged


def run(*more: str):
    return CliRunner().invoke(main, [*LINE, *more], prog_name="shuffledp")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_continues(tmp_path, judged):
    first = run("--chart", "e.csv")
    assert first.exit_code == 130
    assert first.stderr == ""
    assert names(tmp_path) == [HIDDEN]
    assert len(set(judged)) == 10
    second = run("--chart", "e.csv")
    assert second.exit_code == 0
    mechanisms, points = 7, 13
    again = 10 - mechanisms  # the point that was interrupted
    assert len(judged) == mechanisms + points * mechanisms + again
    assert names(tmp_path) == ["e.csv"]
    csv = (tmp_path / "e.csv").read_text()
    assert run("--chart", "f.csv").stdout == second.stdout.replace("e.csv", "f.csv")
    assert (tmp_path / "f.csv").read_text() == csv
    assert run().stdout == second.stdout.rpartition("Written: ")[0]


def test_another_question_does_not_use_it(tmp_path, judged):
    assert run("--chart", "e.csv").exit_code == 130
    before = len(judged)
    assert run("--chart", "e.csv", "--delta", "1e-7").exit_code == 0
    assert len(judged) - before == 7 + 13 * 7
    assert names(tmp_path) == ["e.csv"]


def test_a_damaged_file_is_not_used(tmp_path, judged):
    assert run("--chart", "e.csv").exit_code == 130
    whole = (tmp_path / HIDDEN).read_bytes()
    (tmp_path / HIDDEN).write_bytes(whole.replace(b"krr", b"oue").replace(b"1.0", b"0.5"))
    before = len(judged)
    assert run("--chart", "e.csv").exit_code == 0
    assert len(judged) - before == 7 + 13 * 7


def test_what_stands_in_the_way_is_said(tmp_path, judged):
    (tmp_path / HIDDEN).mkdir()
    result = run("--chart", "e.csv")
    assert result.exit_code == 1
    assert result.stderr == f"Error: cannot use '{HIDDEN}': Is a directory\n"


def test_it_stays_until_the_chart_is_there(tmp_path, monkeypatch, judged):
    judged += [None] * 10
    full = OSError(28, "No space left on device", "e.csv")
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_chart", mock.Mock(side_effect=full))
        assert run("--chart", "e.csv").exit_code == 1
    assert names(tmp_path) == [HIDDEN]
    before = len(judged)
    assert run("--chart", "e.csv").exit_code == 0
    assert len(judged) == before
    assert names(tmp_path) == ["e.csv"]


def test_without_an_answer_nothing_stays(tmp_path):
    assert run("--chart", "e.csv", "--epsilon", "0", "--delta", "0").exit_code == 1
    assert names(tmp_path) == []


def test_without_a_chart_nothing_is_kept(tmp_path, judged):
    judged += [None] * 3
    assert run().exit_code == 130
    assert names(tmp_path) == []


WAIT_AT_THE_TENTH = """
import sys, threading
from shuffledp.cli import main
from shuffledp.comparison import pool
from shuffledp.planning.goal import Goal, LeastError
from shuffledp.planning.search import Found

def first(goal, families, analysis):
    return Found(families[0](goal.target), goal.target, "guarantee")

def wait(goal, named):
    judged.append(named)
    if len(judged) == 10:
        print("ready", file=sys.stderr, flush=True)
        threading.Event().wait()
    return judge(goal, named)

judged, judge = [], Goal.judge
pool._cores = lambda: 1
LeastError.search, Goal.judge = first, wait
main()
"""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_real_process_continues(tmp_path, judged, name):
    """Signals go to all processes of a terminal."""
    judged += [None] * 10
    with subprocess.Popen(
        [sys.executable, "-c", WAIT_AT_THE_TENTH, *LINE, "--chart", "e.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr.readline() == "ready\n"
        time.sleep(0.1)
        os.killpg(process.pid, getattr(signal, name))
        errors = process.communicate(timeout=60)[1]
    status = 130 if name == "SIGINT" else -getattr(signal, name)
    assert (process.returncode, errors) == (status, "")
    assert names(tmp_path) == [HIDDEN]
    before = len(judged)
    assert run("--chart", "e.csv").exit_code == 0
    assert len(judged) - before == 13 * 7
    assert names(tmp_path) == ["e.csv"]
    assert run("--chart", "f.csv").exit_code == 0
    assert (tmp_path / "e.csv").read_text() == (tmp_path / "f.csv").read_text()
