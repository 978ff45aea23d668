"""Signals that ask a program to end, and the workers of ``--cluster`` that they end first."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click

from shuffledp.basics.cluster import Client, check_address, connected
from shuffledp.cli.parameters import reading

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


#: Who computes.
CLUSTER = click.Option(
    ["--cluster"],
    callback=reading(check_address),
    metavar="ADDRESS",
    help="Let a dask cluster compute: the address of its scheduler, such as tcp://10.0.0.5:8786, "
    "or local, or local:4 for so many processes on this machine.",
)


@contextmanager
def workers(address: str | None) -> Iterator[Client | None]:
    """Give a client of the cluster; None if none was asked for.

    What dask would log is not shown: commands say themselves what went wrong. Signals that ask the
    command to end let it end its workers first.
    """
    if address is None:
        yield None
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with ending_tidily(), connected(address) as client:
            yield client
    finally:
        logging.disable(before)
