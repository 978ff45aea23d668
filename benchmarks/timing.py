"""How long calls take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(
    call: Callable[[], object],
    repeat: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeat):
        start = clock()
        call()
        times.append(clock() - start)
    return statistics.median(times)


def warm_seconds(call: Callable[[], object], repeat: int = 7) -> float:
    """Return the median time of a call after one to warm up."""
    call()
    return seconds(call, repeat)
