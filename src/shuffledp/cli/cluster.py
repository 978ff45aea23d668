"""The option ``--cluster``: who computes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from shuffledp.basics.cluster import Client, check_address, connected
from shuffledp.cli.parameters import reading
from shuffledp.cli.signals import ending_tidily

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
