"""Points in order: here, in other processes, and when something goes wrong."""

from __future__ import annotations

import math
import operator
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from shuffledp import parse
from shuffledp.accounting import Setting
from shuffledp.comparison import Question, compute, pool
from shuffledp.comparison.question import answer


def test_few_points_stay_here():
    reported = []
    pids = compute(lambda _: os.getpid(), range(5), on_done=lambda *s: reported.append(s))
    assert set(pids) == {os.getpid()}
    assert reported == [(i, 5) for i in range(1, 6)]


def test_no_points():
    assert compute(abs, []) == []
    assert compute(abs, [], processes=2) == []


@pytest.mark.heavy
def test_parallel_equals_serial():
    randomizer = parse("krr(k=10, epsilon0=2)")
    bounds = ("guarantee", "lower_bound", "blanket_bennett", "erlingsson")
    settings = [Setting(mechanism=randomizer, n=n) for n in range(100, 109)]
    questions = [Question(setting, "epsilon", 1e-6, bounds) for setting in settings]
    reported = []
    parallel = compute(answer, questions, processes=2, on_done=lambda *s: reported.append(s))
    assert parallel == compute(answer, questions, processes=1)
    assert reported == sorted(reported)
    assert reported[-1] == (9, 9)


def test_many_slow_points_leave_this_process(monkeypatch):
    monkeypatch.setattr(pool, "_TRIAL", 0.0)
    monkeypatch.setattr(pool, "_WORTHWHILE", 0.1)
    monkeypatch.setattr(pool, "_cores", lambda: 2)
    made = []

    def noted(function, own, first, workers, report):
        made.append((own[first:], workers))
        return [0]

    monkeypatch.setattr(pool, "_in_parallel", noted)
    assert compute(time.sleep, [0.05] * 20)[-1] == 0
    ((rest, workers),) = made
    assert workers == 2
    assert 10 <= len(rest) <= 19


def test_one_core_computes_here(monkeypatch):
    monkeypatch.setattr(pool, "_TRIAL", 0.0)
    monkeypatch.setattr(pool, "_WORTHWHILE", 0.0)
    monkeypatch.setattr(pool, "_cores", lambda: 1)
    monkeypatch.setattr(pool, "_in_parallel", None)
    assert compute(abs, [-1, -2]) == [1, 2]


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_is_raised_as_it_is(processes):
    with pytest.raises(ValueError, match="math domain error"):
        compute(math.sqrt, [4.0, -1.0, 9.0, 16.0], processes=processes)


@pytest.mark.heavy
def test_an_error_ends_the_other_processes():
    start = time.monotonic()
    with pytest.raises(AttributeError):
        compute(operator.methodcaller("__call__"), [partial(time.sleep, 60), 3], processes=2)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("processes", [0, -1])
def test_bad_number_of_processes(processes):
    with pytest.raises(ValueError, match="processes must be at least 1"):
        compute(abs, [1], processes=processes)


SLEEPER = """
import sys, time
from multiprocessing import active_children
from shuffledp.comparison import pool

def say(*words):
    print(*words, file=sys.stderr, flush=True)

def done(count, total):
    say("workers", *(process.pid for process in active_children()))

if __name__ == "__main__":
    try:
        pool.compute(time.sleep, [0.01] + [600.0] * 7, processes=2, on_done=done)
    except KeyboardInterrupt:
        say("interrupted", len(active_children()))
"""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_no_process_is_left_behind(name):
    """Ctrl-C goes to all processes of a terminal, other signals only to the one that waits."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        word, *pids = process.stderr.readline().split()
        assert (word, len(pids)) == ("workers", 2)
        sent = getattr(signal, name)
        if name == "SIGINT":
            os.killpg(process.pid, sent)
        else:
            process.send_signal(sent)
        rest = process.communicate(timeout=60)[1]
    if name == "SIGINT":
        assert rest == "interrupted 0\n"
    deadline = time.monotonic() + 30
    while any(alive(int(pid)) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # no such list of processes here, or gone meanwhile
        return not Path("/proc/self/stat").exists()
    return state != "Z"
