"""A line on the terminal that is written again every second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_INTERVAL = 1.0  # seconds: what is done sooner shows nothing


@contextmanager
def ticking(show: Callable[[float], str]) -> Iterator[None]:
    """Write ``show(elapsed)`` to standard error if that is a terminal; clear it at the end."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    ticker = threading.Thread(target=_tick, args=(ended, show), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()


def _tick(ended: threading.Event, show: Callable[[float], str]) -> None:
    start, width = time.monotonic(), 0
    while not ended.wait(_INTERVAL):
        note = show(time.monotonic() - start)
        _write(f"\r{note.ljust(width)}")
        width = len(note)
    if width:
        _write(f"\r{' ' * width}\r")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
