"""How much of a long computation is done, on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shuffledp.cli.ticker import ticking
from shuffledp.wording import counted

_BAR = 20  # characters


@contextmanager
def counter(total: int, unit: str = "point") -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes how many units are done and how many there are; both are shown."""
    state = (0, total)

    def report(done: int, total: int) -> None:
        nonlocal state
        state = done, total

    with ticking(lambda elapsed: show(*state, unit, elapsed)):
        yield report


def show(done: int, total: int, unit: str, seconds: float) -> str:
    """Return the line for a terminal.

    >>> show(25, 100, "point", 12.3)
    '[#####...............] 25 of 100 points, 12 s'
    """
    full = _BAR * done // total
    return (
        f"[{'#' * full}{'.' * (_BAR - full)}] {done:,} of {counted(total, unit)}, {seconds:.0f} s"
    )
