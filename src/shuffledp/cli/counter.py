"""How much of a long computation is done, on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shuffledp.cli.ticker import ticking

_BAR = 20  # characters


@contextmanager
def counter(total: int) -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes the numbers of done and of all points, which are shown."""
    state = (0, total)

    def report(done: int, total: int) -> None:
        nonlocal state
        state = done, total

    with ticking(lambda elapsed: show(*state, elapsed)):
        yield report


def show(done: int, total: int, seconds: float) -> str:
    """Return the line for a terminal.

    >>> show(25, 100, 12.3)
    '[#####...............] 25 of 100 points, 12 s'
    """
    full = _BAR * done // total
    return f"[{'#' * full}{'.' * (_BAR - full)}] {done} of {total} points, {seconds:.0f} s"
