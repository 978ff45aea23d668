"""Many independent points, computed in order or side by side."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from shuffledp.basics.cluster import interrupts_later
from shuffledp.comparison.question import Question, Value, answer

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")

_TRIAL = 0.5  # seconds: long enough to tell how long a point takes
_WORTHWHILE = 3.0  # seconds of work left that pay for starting processes
_MAX_CHUNK = 16  # so that progress is seen and no process idles at the end

_Name = TypeVar("_Name")


def compute(
    function: Callable[[_Argument], _Result],
    arguments: Sequence[_Argument],
    *,
    processes: int | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> list[_Result]:
    """Return ``[function(argument) for argument in arguments]``.

    Function, arguments and results travel between processes, so they must be picklable; the
    function is one at the top level of a module. An error is raised here as it was there, and ends
    the processes, as Ctrl-C does.

    Args:
        function: what to compute.
        arguments: where.
        processes: how many processes to use; 1 stays in this one. By default points are computed
            here until it is clear that the rest takes long, and then on all cores.
        on_done: called with the numbers of finished and of all points.

    >>> compute(abs, [3, -1, -2])
    [3, 1, 2]

    Raises:
        ValueError: if ``processes`` is less than 1.
    """
    if processes is not None and processes < 1:
        raise ValueError(f"processes must be at least 1, got {processes!r}")
    workers = min(processes or _cores(), len(arguments))
    results: list[_Result] = []
    done = 0

    def report() -> None:
        nonlocal done
        done += 1
        if on_done is not None:
            on_done(done, len(arguments))

    clock = _Clock(len(arguments))
    for first, argument in enumerate(arguments):
        if workers > 1 and (processes is not None or clock.takes_long(first)):
            return results + _in_parallel(function, arguments, first, workers, report)
        results.append(function(argument))
        report()
    return results


class _Clock:
    """Foretells how long the remaining points take."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.start = self.warm = time.monotonic()

    def takes_long(self, done: int) -> bool:
        """Tell whether the rest is worth other processes; the first point includes imports."""
        now = time.monotonic()
        if done == 1:
            self.warm = now
        if done == 0 or now - self.start < _TRIAL:
            return False
        each = (now - self.warm) / (done - 1) if done > 1 else now - self.start
        return each * (self.total - done) > _WORTHWHILE


def _in_parallel(
    function: Callable[[_Argument], _Result],
    arguments: Sequence[_Argument],
    first: int,
    workers: int,
    report: Callable[[], None],
) -> list[_Result]:
    """Compute from the first on in other processes; whatever goes wrong, none is left behind."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    size = min(_MAX_CHUNK, math.ceil((len(arguments) - first) / (4 * workers)))
    starts = range(first, len(arguments), size)
    chunks = [arguments[start : start + size] for start in starts]
    others = set(active_children())
    # Not "fork": the progress display of the command line is a thread.
    context = get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(chunks)), context, prepare_worker) as executor:
        try:
            with interrupts_later():
                futures = [executor.submit(_map, function, chunk) for chunk in chunks]
            for future in as_completed(futures):
                for _ in future.result():
                    report()
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise
    return [result for future in futures for result in future.result()]


def _map(function: Callable[[_Argument], _Result], arguments: Sequence[_Argument]) -> list[_Result]:
    return [function(argument) for argument in arguments]


def prepare_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sweep(
    series: Mapping[_Name, Sequence[Question]],
    *,
    processes: int | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> dict[_Name, list[tuple[Value, ...]]]:
    """Return what the bounds of all questions say, in the same series and order.

    Args:
        series: the questions.
        processes: as for :func:`shuffledp.comparison.compute`.
        on_done: called with the numbers of finished and of all questions.

    >>> from shuffledp import Setting
    >>> settings = [Setting(mechanism="krr(k=10, epsilon0=2)", n=n) for n in (100, 1000)]
    >>> series = {"krr": [Question(one, "epsilon", 1e-6, ("guarantee",)) for one in settings]}
    >>> [round(value.number, 2) for (value,) in sweep(series)["krr"]]
    [0.88, 0.27]
    """
    questions = [question for own in series.values() for question in own]
    answers = iter(compute(answer, questions, processes=processes, on_done=on_done))
    return {name: list(islice(answers, len(own))) for name, own in series.items()}
