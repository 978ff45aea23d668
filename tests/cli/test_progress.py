"""A sign of life, only on a terminal and only when it takes long."""

from __future__ import annotations

import io
import threading
import time
from contextlib import redirect_stderr

import pytest

from shuffledp.cli import terminal as module
from shuffledp.cli.terminal import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_INTERVAL", 0.01)


def wait_for(stream: Terminal, text: str) -> None:
    deadline = time.monotonic() + 20
    while text not in stream.getvalue():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_shown_and_cleared():
    with redirect_stderr(Terminal()) as terminal, progress():
        wait_for(terminal, "computing for 0 s ...")
    shown = terminal.getvalue()
    assert shown.endswith(" s ...\r" + " " * len("computing for 0 s ...") + "\r")
    assert "\n" not in shown


def test_cleared_after_an_error():
    def fail() -> None:
        with progress():
            wait_for(terminal, "computing")
            raise KeyboardInterrupt

    threads = threading.active_count()
    with redirect_stderr(Terminal()) as terminal, pytest.raises(KeyboardInterrupt):
        fail()
    assert terminal.getvalue().endswith(" \r")
    assert threading.active_count() == threads


def test_quick_answers_show_nothing(monkeypatch):
    monkeypatch.setattr(module, "_INTERVAL", 60.0)
    with redirect_stderr(Terminal()) as terminal, progress():
        pass
    assert terminal.getvalue() == ""


def test_nothing_where_nobody_watches():
    with redirect_stderr(io.StringIO()) as stream, progress():
        time.sleep(0.05)
    assert stream.getvalue() == ""
