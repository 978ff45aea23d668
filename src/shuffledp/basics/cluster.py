"""Workers on other machines: a dask cluster that computes one function at many arguments.

This is the only module that knows dask. What it offers is what a pool of processes offers, so that
the rest of the package maps a function over arguments and does not ask where that happens.

A cluster repeats a task whose worker is lost, so a task may run several times, also at the same
time. Whoever maps a function with a lasting effect must let the result say which attempt counts:
:func:`spread` and :func:`merged` hand over exactly one result per argument.
"""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from shuffledp._version import __version__
from shuffledp.basics.extras import import_extra
from shuffledp.basics.wording import shorten

if TYPE_CHECKING:
    from distributed import Client
else:
    Client = Any  # dask is imported when it is used

__all__ = [
    "Client",
    "ClusterError",
    "check_address",
    "connected",
    "held",
    "in_pairs",
    "interrupts_later",
    "merged",
    "spread",
]

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")

_LOCAL = "local"
_ADDRESS = re.compile(
    r"local(:(?P<count>[1-9][0-9]{0,8}))?|"
    r"(?!local:)((tcp|tls|ucx|wss?)://)?[^\s/]+:(?P<port>[1-9][0-9]{0,4})",
    re.ASCII,
)
_MAX_PORT = 65535
_MAX_LOCAL = 256  # processes: more is a mistake, such as the number of a port
_MAX_ECHO, _MAX_WHY = 60, 200
_TIMEOUT = 30  # seconds to reach a scheduler
_PATIENCE = 60  # seconds without a result after which there should be a worker


class ClusterError(RuntimeError):
    """The cluster was lost, or cannot do the work: the message, one line, says what to look at."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Give a client of a cluster, and let go of it at the end.

    Args:
        address: of a scheduler, such as ``tcp://127.0.0.1:8786``; or ``local``, or ``local:4`` for
            so many processes on this machine, which end with the context. They import the main
            module, so a script asks for them under ``if __name__ == "__main__":``.

    Raises:
        MissingExtraError: if dask is not installed.
        TypeError: if the address is no text.
        ValueError: if it is no address.
        ClusterError: if nobody answers there, or the processes do not start.
    """
    kind, _, count = check_address(address).partition(":")
    distributed = import_extra("distributed")
    if kind == _LOCAL:
        with _local(int(count) if count else None) as client:
            yield client
        return
    _call_on(address)
    try:
        client = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except OSError as error:  # it has just been lost
        raise ClusterError(f"no scheduler answers at {address!r}: {_line(error)}") from None
    try:
        yield client
    finally:
        client.close(timeout=_TIMEOUT)


def check_address(text: str) -> str:
    """Return what :func:`connected` takes.

    >>> check_address("local:2"), check_address("tcp://10.0.0.5:8786")
    ('local:2', 'tcp://10.0.0.5:8786')

    Raises:
        TypeError: if it is no text.
        ValueError: if it is something else.
    """
    if not isinstance(text, str):
        raise TypeError(f"cluster must be a text such as 'local:4', got {text!r}")
    found = _ADDRESS.fullmatch(text)
    if found is not None and found["count"] is not None and int(found["count"]) > _MAX_LOCAL:
        raise ValueError(
            f"cluster must be local:{_MAX_LOCAL} at most, so many processes, got "
            f"{shorten(text, _MAX_ECHO)!r}; a scheduler on this machine is tcp://127.0.0.1:8786"
        )
    if found is None or int(found["port"] or 0) > _MAX_PORT:
        raise ValueError(
            "cluster must be local, local:4 or an address such as tcp://10.0.0.5:8786, got "
            f"{shorten(text, _MAX_ECHO)!r}"
        )
    return text


def _first(error: BaseException) -> BaseException:
    """Return what an error comes from."""
    return error if error.__cause__ is None else _first(error.__cause__)


def _line(error: BaseException) -> str:
    return shorten(" ".join((str(error) or type(error).__name__).split()), _MAX_WHY)


def _call_on(address: str) -> None:
    """Find out whether a scheduler answers.

    A client would find out, too, but waits forever for a server of another kind, and one that could
    not be made complains once more when it is collected.

    Raises:
        ClusterError: if it does not.
    """
    distributed = import_extra("distributed")

    async def ask() -> Any:
        security = distributed.Security().get_connection_args("client")
        async with distributed.rpc(address, connection_args=security, timeout=_TIMEOUT) as there:
            return await there.identity()

    try:
        told = distributed.utils.LoopRunner().run_sync(ask, callback_timeout=_TIMEOUT + 1)
        kind = str(told["type"]).lower()
        why = "" if kind == "scheduler" else f"this is the address of a {kind}"
    except TimeoutError:
        why = f"what listens there has not answered for {_TIMEOUT} s"
    except Exception as error:  # every protocol has some of its own
        why = _line(error)
    if why:
        raise ClusterError(f"no scheduler answers at {address!r}: {why}")


@contextmanager
def _local(count: int | None) -> Iterator[Client]:
    distributed = import_extra("distributed")
    # Ctrl-C goes to all processes of a terminal. These never see it, and end with this one.
    try:
        with interrupts_later():
            cluster = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )
    except (OSError, RuntimeError) as error:
        raise ClusterError(
            f"the processes on this machine did not start ({_line(_first(error))}); they import "
            'the main module: a script asks for them under if __name__ == "__main__":'
        ) from error
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back; threads and processes started meanwhile inherit that and keep it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # or the first process starts it, which lets Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check(client: Any) -> None:
    """Say why a client cannot be used, if so.

    Raises:
        MissingExtraError: if dask is not installed.
        TypeError: if it is no client, or one for coroutines.
        ClusterError: if it is not connected.
    """
    distributed = import_extra("distributed")
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise TypeError(f"client must be a distributed.Client that waits, got {client!r}")
    if client.status != "running":
        raise ClusterError(f"the connection to the cluster was lost: {client.status}")


def spread(
    function: Callable[[_Argument], _Result],
    arguments: Sequence[_Argument],
    client: Client,
) -> list[_Result]:
    """Return ``[function(argument) for argument in arguments]``, computed by the workers.

    Each argument is one task. Its result is fetched as soon as it is there and the task forgotten,
    so that a worker that is lost afterwards makes nobody repeat it. An error is raised here as it
    was there, and cancels the rest.

    Args:
        function: what to compute; it, the arguments and the results are pickled.
        arguments: where.
        client: whose workers compute.

    Raises:
        ClusterError: if the cluster is lost or without workers, if some task ends all workers that
            try it, or if the workers have another version of this package.
    """
    if not arguments:
        return []
    with _tasks(function, arguments, client) as futures:
        results = _each(futures, client)
        return [results[i] for i in range(len(futures))]


def held(parts: Any, client: Any) -> list[Any]:
    """Return what stands for parts of a collection of dask, which the workers compute and keep.

    Args:
        parts: what ``to_delayed`` of the collection returns.
        client: of the workers.

    Raises:
        ClusterError: if the cluster is lost.
    """
    _check(client)
    futures: list[Any] = client.compute(list(parts))
    return futures


def merged(
    function: Callable[[_Argument], _Result],
    arguments: Sequence[_Argument],
    merge: Callable[[_Result, _Result], _Result],
    client: Client,
) -> _Result:
    """Return what :func:`in_pairs` makes of the results, merged by the workers themselves.

    ``merge`` must leave its arguments as they are: a worker may have to merge them once more.

    Raises:
        ClusterError: as for :func:`spread`.
    """
    with _tasks(function, arguments, client) as futures:
        level = list(futures)
        while len(level) > 1:
            both = [
                client.submit(partial(_call, __version__, merge), one, other, pure=False)
                for one, other in zip(level[::2], level[1::2], strict=False)
            ]
            futures.extend(both)
            level = both + level[2 * len(both) :]
        result: _Result = _each(level, client)[0]
        return result


def in_pairs(results: Iterator[_Result], merge: Callable[[_Result, _Result], _Result]) -> _Result:
    """Merge neighbours, then neighbouring pairs, and so on; hold few results at a time.

    Sums of doubles depend on the order of their additions; this one is that of :func:`merged`.

    >>> in_pairs(iter("abcdefg"), "({}{})".format)
    '(((ab)(cd))((ef)g))'
    """
    waiting: list[tuple[int, _Result]] = []
    for result in results:
        level = 0
        while waiting and waiting[-1][0] == level:
            result = merge(waiting.pop()[1], result)  # noqa: PLW2901
            level += 1
        waiting.append((level, result))
    _, total = waiting.pop()
    while waiting:
        total = merge(waiting.pop()[1], total)
    return total


@contextmanager
def _tasks(
    function: Callable[[_Argument], _Result], arguments: Sequence[_Argument], client: Any
) -> Iterator[list[Any]]:
    """Give a list with one task per argument; at the end those in the list are given up.

    They are not "pure": dask would take the results of equal tasks for each other, and two runs
    that draw random bits look equal.
    """
    distributed = import_extra("distributed")
    futures: list[Any] = []
    try:
        _check(client)
        futures = client.map(partial(_call, __version__, function), arguments, pure=False)
        yield futures
    except (CancelledError, distributed.comm.CommClosedError) as error:
        raise ClusterError(f"the connection to the cluster was lost ({_line(error)})") from None
    except distributed.KilledWorker as error:
        tries = error.allowed_failures + 1
        raise ClusterError(
            f"all {tries} workers that tried one of the tasks ended: it may need more memory than "
            "a worker has"
        ) from None
    finally:
        for future in futures:
            future.release()


def _each(futures: Sequence[Any], client: Any) -> dict[int, Any]:
    """Return the result of every task by its number."""
    numbers = {future.key: i for i, future in enumerate(futures)}
    results = {}
    done: SimpleQueue[Any] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    for _ in futures:
        future = _next(done, client)
        results[numbers[future.key]] = _fetched(future, client)
        future.release()
    return results


def _next(done: SimpleQueue[Any], client: Any) -> Any:
    """Return the next task that is done; tasks without a worker would be waited for forever."""
    while True:
        try:
            return done.get(timeout=_PATIENCE)
        except Empty:
            _check_workers(client)


def _fetched(future: Any, client: Any) -> Any:
    """Return the result of a task that was done; if its worker is lost, it is computed again."""
    while True:
        try:
            return future.result(timeout=_PATIENCE)
        except TimeoutError:
            if future.status == "error":  # the task itself has raised it
                raise
            _check_workers(client)


def _check_workers(client: Any) -> None:
    """Say that nothing will come of waiting, if so.

    Clusters that grow with their work start workers when there are tasks, so these come first.

    Raises:
        ClusterError: if the cluster is lost, or has no workers.
    """
    _check(client)
    try:
        threads = client.sync(client.scheduler.ncores, callback_timeout=_TIMEOUT)
    except TimeoutError:
        raise ClusterError(f"the scheduler has not answered for {_TIMEOUT} s") from None
    if not threads:
        raise ClusterError(
            "the cluster has no workers; if it had some, they ended, as those do that cannot "
            "import shuffledp: see their logs"
        )


def _call(version: str, function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Compute on a worker; another version might compute something else."""
    if version != __version__:
        raise ClusterError(f"a worker has shuffledp {__version__}, not {version}")
    try:
        return function(*arguments)
    except MemoryError:
        raise ClusterError("a worker has not enough memory for one of the tasks") from None
