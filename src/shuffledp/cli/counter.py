"""How much of a long computation is done, on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_INTERVAL = 1.0  # seconds: what is done sooner shows nothing
_BAR = 20  # characters


@contextmanager
def counter(total: int) -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes the numbers of done and of all points.

    They are shown on standard error if that is a terminal, and cleared at the end.
    """
    state = (0, total)

    def report(done: int, total: int) -> None:
        nonlocal state
        state = done, total

    if not sys.stderr.isatty():
        yield report
        return
    ended = threading.Event()
    ticker = threading.Thread(target=_tick, args=(ended, lambda: state), daemon=True)
    ticker.start()
    try:
        yield report
    finally:
        ended.set()
        ticker.join()


def _tick(ended: threading.Event, state: Callable[[], tuple[int, int]]) -> None:
    start, width = time.monotonic(), 0
    while not ended.wait(_INTERVAL):
        note = show(*state(), time.monotonic() - start)
        _write(f"\r{note.ljust(width)}")
        width = len(note)
    if width:
        _write(f"\r{' ' * width}\r")


def show(done: int, total: int, seconds: float) -> str:
    """Return the line for a terminal.

    >>> show(25, 100, 12.3)
    '[#####...............] 25 of 100 points, 12 s'
    """
    full = _BAR * done // total
    return f"[{'#' * full}{'.' * (_BAR - full)}] {done} of {total} points, {seconds:.0f} s"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
