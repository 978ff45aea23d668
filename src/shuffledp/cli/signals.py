"""Signals that ask a program to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

#: Ctrl-C, the polite request of ``kill`` and of service managers, and the end of the terminal.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def ending_tidily() -> Iterator[None]:
    """Let signals end the program by an exception, so that what is temporary gets removed.

    The first signal raises ``SystemExit`` with the status that shells report for it; while that
    takes its way the others are ignored. Signals that are ignored already stay so, as ``nohup``
    wants it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    known = (getattr(signal, name) for name in _NAMES if hasattr(signal, name))
    before = {number: signal.getsignal(number) for number in known}
    usual = [n for n, old in before.items() if old in (signal.SIG_DFL, signal.default_int_handler)]

    def end(number: int, frame: FrameType | None) -> NoReturn:
        for own in usual:
            signal.signal(own, signal.SIG_IGN)
        raise SystemExit(128 + number)

    try:
        for number in usual:
            signal.signal(number, end)
        yield
    finally:
        for number in usual:
            signal.signal(number, before[number])
