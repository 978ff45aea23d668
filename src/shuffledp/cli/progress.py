"""A sign of life on the terminal while a search takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_INTERVAL = 1.0  # seconds: answers that come sooner show nothing


@contextmanager
def progress() -> Iterator[None]:
    """Show the elapsed seconds on standard error if that is a terminal; clear them at the end."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(done,), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()


def _tick(done: threading.Event) -> None:
    start, note = time.monotonic(), ""
    while not done.wait(_INTERVAL):
        note = f"computing for {time.monotonic() - start:.0f} s ..."
        _write(f"\r{note}")
    if note:
        _write(f"\r{' ' * len(note)}\r")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
