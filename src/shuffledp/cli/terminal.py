"""Signs of life on a terminal: one line that is written again every second, and how far work is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from shuffledp.basics.wording import counted

_INTERVAL = 1.0  # seconds: what is done sooner shows nothing
_BAR = 20  # characters


def progress() -> AbstractContextManager[None]:
    """Show the elapsed seconds."""
    return _ticking(lambda elapsed: f"computing for {elapsed:.0f} s ...")


@contextmanager
def counter(total: int, unit: str = "point") -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes how many units are done and how many there are; both are shown."""
    state = (0, total)

    def report(done: int, total: int) -> None:
        nonlocal state
        state = done, total

    with _ticking(lambda elapsed: bar(*state, unit, elapsed)):
        yield report


@contextmanager
def row_counter() -> Iterator[Callable[[int], None]]:
    """Give a function that takes how many rows are done, which is shown."""
    done = 0

    def report(rows: int) -> None:
        nonlocal done
        done = rows

    with _ticking(lambda elapsed: f"{counted(done, 'row')} in {elapsed:.0f} s ..."):
        yield report


def bar(done: int, total: int, unit: str, seconds: float) -> str:
    """Return the line of a counter.

    >>> bar(25, 100, "point", 12.3)
    '[#####...............] 25 of 100 points, 12 s'
    """
    full = _BAR * done // total
    return (
        f"[{'#' * full}{'.' * (_BAR - full)}] {done:,} of {counted(total, unit)}, {seconds:.0f} s"
    )


@contextmanager
def proving() -> Iterator[Callable[[str, float], None]]:
    """Give a function that takes what is being done and which share of it is done.

    It is shown with the time that is left.
    """
    state = ("", 0.0, time.monotonic())

    def report(what: str, share: float) -> None:
        nonlocal state
        begun = state[2] if what == state[0] and share > state[1] else time.monotonic()
        state = (what, share, begun)

    def line(elapsed: float) -> str:
        what, share, begun = state
        return step(elapsed, what, share, time.monotonic() - begun)

    with _ticking(line):
        yield report


def step(elapsed: float, what: str, share: float, in_step: float) -> str:
    """Return the line of a proof.

    >>> step(12.0, "contour", 0.25, 5.0)
    'proving for 12 s; contour: 25%, about 15 s left'
    >>> step(3.0, "", 0.0, 3.0)
    'proving for 3 s ...'
    """
    if share <= 0:
        return f"proving for {elapsed:.0f} s ..."
    left = in_step * (1 - share) / share
    return f"proving for {elapsed:.0f} s; {what}: {share:.0%}, about {left:.0f} s left"


@contextmanager
def _ticking(show: Callable[[float], str]) -> Iterator[None]:
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
