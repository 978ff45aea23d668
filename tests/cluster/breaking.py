"""Workers that end in the middle of a task, and tables by which lost or doubled people are seen."""

from __future__ import annotations

import importlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp import parse
from shuffledp.deployment.files import Column, Randomization
from shuffledp.deployment.files.report_files import reports_in

#: The noise is so small that every report is the value behind it: each user has another one.
USERS = 200
CLEAR = f"krr(k={USERS}, epsilon0=100)"


@contextmanager
def local_cluster(workers: int = 2, **options: Any) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            **options,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def write_people(folder: Path, parts: int = 4) -> Path:
    """Write a table of users with different values, spread over files of different sizes."""
    folder.mkdir()
    ends = np.sort(np.random.default_rng(3).choice(USERS, parts - 1, replace=False))
    for i, own in enumerate(np.split(np.arange(USERS), ends)):
        pq.write_table(pa.table({"value": own}), folder / f"part{i}.parquet")
    pq.write_table(pa.table({"value": np.arange(0)}), folder / "part_without_rows.parquet")
    return folder


def randomize(source: Path, out: Path, *, seed: int | None = None, **options: Any) -> Any:
    made = Randomization(parse(CLEAR), [Column("value")], seed=seed)
    return made.run(source, out, target_delta=1e-6, assumptions=("a fact",), **options)


def reports(out: Path) -> list[int]:
    return np.concatenate(list(reports_in(out, parse(CLEAR).report_dtype).chunks(100))).tolist()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def end_worker() -> None:
    """End this process as the kernel does when memory is short: no handler, no clean-up."""
    os._exit(1)


def fill_memory() -> None:
    """Take memory until somebody ends this process."""
    hoard = []
    while True:
        hoard.append(bytes(b"x" * (1 << 26)))
        time.sleep(0.02)


def wait() -> None:
    """Be busy for longer than any test."""
    time.sleep(600)


def break_in(client: Any, place: str, fault: Callable[[], None], marker: Path | None) -> None:
    """Let the workers meet a fault after they have done the work of a function, before its result.

    Args:
        client: of the workers.
        place: the function, ``module:name``.
        fault: what happens then.
        marker: a file that stands for "it has happened": it happens once. None for always.
    """
    client.run(_install, place, fault, None if marker is None else str(marker))


def _install(place: str, fault: Callable[[], None], marker: str | None) -> None:
    module_name, _, name = place.partition(":")
    module = importlib.import_module(module_name)
    function = getattr(module, name)

    def broken(*arguments: Any) -> Any:
        result = function(*arguments)
        if marker is None or _is_first(marker):
            fault()
        return result

    setattr(module, name, broken)


def _is_first(marker: str) -> bool:
    try:
        with open(marker, "x"):
            return True
    except FileExistsError:
        return False
