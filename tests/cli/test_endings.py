"""Runs of ``shuffledp randomize`` that are ended from outside, and runs at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from command_line import run

from shuffledp.deployment.files import estimate_files

LINE = ("--column", "answer", "--mechanism", "krr(k=3, epsilon0=2)", "--delta", "1e-6")
ROWS = 100
LIMIT = 120  # seconds that a slow machine may need

#: Runs the command in ten chunks; when a method is called for the given time, waits for a line.
PAUSE = """
import importlib, sys
from shuffledp.cli import main
from shuffledp.deployment.files import chunk

module, owner, method, time = sys.argv.pop(1).split()
owner = getattr(importlib.import_module(module), owner)
original, calls = getattr(owner, method), []

def wait(*arguments, **options):
    calls.append(0)
    if len(calls) == int(time):
        print("ready", file=sys.stderr, flush=True)
        sys.stdin.readline()
    return original(*arguments, **options)

setattr(owner, method, wait)
chunk.CHUNK_ROWS = 10
main()
"""

READING = "shuffledp.deployment.files.buckets Buckets add 5"
PHASES = {
    "reading": READING,
    "accounting": "shuffledp.accounting ShuffleAccountant epsilon_report 1",
    "writing": "shuffledp.deployment.files.report_files CsvReports _text 5",
    "describing": "shuffledp.deployment.files.sidecar Sidecar to_json 1",
    "renaming": "pathlib Path replace 2",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_answers(tmp_path, ROWS)
    return tmp_path


def write_answers(folder, rows):
    (folder / "answers.csv").write_text("answer\n" + "0\n1\n" * (rows // 2))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def hidden(folder):
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def randomize(*arguments, out="reports.csv"):
    return run("randomize", "answers.csv", *LINE, "--out", out, *arguments)


@contextmanager
def started(*arguments):
    """Start a process that ends with the test."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def paused(phase, *arguments, out="reports.csv"):
    """Start a run and wait until it has come to a phase."""
    line = ("randomize", "answers.csv", *LINE, "--out", out, *arguments)
    with started("-c", PAUSE, phase, *line) as process:
        assert process.stderr.readline() == "ready\n"
        yield process


def end(process, number):
    process.send_signal(number)
    return *process.communicate(timeout=LIMIT), process.returncode


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("phase", "number"),
    [
        *((phase, signal.SIGTERM) for phase in PHASES),
        ("reading", signal.SIGHUP),
        ("reading", signal.SIGINT),
    ],
    ids=str,
)
def test_a_request_to_end_leaves_nothing(folder, phase, number):
    with paused(PHASES[phase]) as process:
        assert hidden(folder)
        assert end(process, number) == ("", "", 128 + number)
    assert names(folder) == ["answers.csv"]


@pytest.mark.heavy
@pytest.mark.parametrize("phase", PHASES)
def test_the_next_run_removes_what_a_killed_one_left(folder, phase):
    with paused(PHASES[phase]) as process:
        assert end(process, signal.SIGKILL) == ("", "", -signal.SIGKILL)
    if phase in ("reading", "accounting"):  # not all reports are shuffled: no file holds one
        content = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
        assert content == [folder / "answers.csv"]
    is_half_published = phase == "renaming"
    assert (folder / "reports.csv").exists() == is_half_published
    assert not (folder / "reports.csv.json").exists()
    arguments = ["--force"] if is_half_published else []
    assert randomize(*arguments).exit_code == 0
    assert names(folder) == ["answers.csv", "reports.csv", "reports.csv.json"]
    assert estimate_files([folder / "reports.csv"]).n == ROWS


@pytest.mark.heavy
def test_killed_at_any_time(folder):
    write_answers(folder, 400_000)
    line = ("-m", "shuffledp", "randomize", "answers.csv", *LINE, "--out", "reports.csv")
    with started(*line) as process:
        limit = time.monotonic() + LIMIT
        while not hidden(folder) and time.monotonic() < limit:
            time.sleep(0.01)
        assert hidden(folder)
        process.kill()
        process.communicate(timeout=LIMIT)
    write_answers(folder, ROWS)
    assert randomize("--force").exit_code == 0
    assert names(folder) == ["answers.csv", "reports.csv", "reports.csv.json"]


@pytest.mark.heavy
def test_a_second_run_to_the_same_file_fails(folder):
    with paused(READING) as process:
        before = names(folder)
        for arguments in ((), ("--force",)):
            second = randomize(*arguments)
            assert second.exit_code == 1
            message = "cannot write 'reports.csv': another run is writing it"
            assert second.stderr == f"Error: {message}\n"
            assert names(folder) == before
        output, errors = process.communicate("\n", timeout=LIMIT)
    assert (process.returncode, errors) == (0, "")
    assert "differentially private" in output
    assert names(folder) == ["answers.csv", "reports.csv", "reports.csv.json"]
    assert estimate_files([folder / "reports.csv"]).n == ROWS


@pytest.mark.heavy
def test_runs_to_different_files_do_not_disturb_each_other(folder):
    with paused(READING) as process:
        for out in ("more.csv", "reports.parquet"):
            assert randomize(out=out).exit_code == 0
        process.communicate("\n", timeout=LIMIT)
    assert process.returncode == 0
    files = ["more.csv", "reports.csv", "reports.parquet"]
    assert names(folder) == sorted(["answers.csv", *files, *(f"{file}.json" for file in files)])
    assert estimate_files([folder / file for file in files[:2]]).n == 2 * ROWS


@pytest.mark.heavy
def test_of_two_runs_at_once_one_succeeds(folder):
    line = ("-m", "shuffledp", "randomize", "answers.csv", *LINE, "--out", "reports.csv")
    with started(*line) as first, started(*line) as second:
        errors = [process.communicate(timeout=LIMIT)[1] for process in (first, second)]
        assert sorted([first.returncode, second.returncode]) == [0, 1]
    assert any(
        error.endswith(("another run is writing it\n", "exists already; force replaces it\n"))
        for error in errors
    )
    assert names(folder) == ["answers.csv", "reports.csv", "reports.csv.json"]
    assert estimate_files([folder / "reports.csv"]).n == ROWS


def test_a_pipe_is_refused(folder):
    os.mkfifo(folder / "pipe.csv")
    result = run("randomize", "pipe.csv", *LINE, "--out", "reports.csv")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: cannot read 'pipe.csv': it is not a file that can be read twice\n"
    )
