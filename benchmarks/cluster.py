"""Clusters of one and of two processes: ``python benchmarks/cluster.py``.

Collections are synthetic: Parquet files of a million rows at most, randomized, shuffled and
estimated from. Times are those of a clock. The second speed-up is that of processor time on the
longest path, of this process and the busiest worker: what a machine would see that does nothing
else. The cost of a million rows is the processor time of this process and both workers. ``--rows
1e8`` takes minutes: it is refused if a hundredth of the rows says that it would take longer than
``--seconds``.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp import parse
from shuffledp.basics.cluster import connected
from shuffledp.deployment.files import Column, Randomization, estimate_files

MECHANISM = "krr(k=16, epsilon0=2)"
PART_ROWS, LEAST_PARTS = 10**6, 8
LEAST_ROWS = 1000  # of fewer, two files may well hold the same reports, which is refused


def write_table(folder: Path, rows: int) -> Path:
    """Write a table of answers as files of equal sizes."""
    folder.mkdir()
    parts = max(LEAST_PARTS, -(-rows // PART_ROWS))
    rng = np.random.default_rng(1)
    for i, size in enumerate(np.diff(np.linspace(0, rows, parts + 1).astype(int))):
        answers = rng.integers(0, 16, size, dtype=np.uint8)
        pq.write_table(pa.table({"answer": answers}), folder / f"part{i:05}.parquet")
    return folder


def randomize(source: Path, out: Path, client: Any) -> None:
    Randomization(parse(MECHANISM), [Column("answer")]).run(
        source, out, target_delta=1e-9, assumptions=(), client=client
    )


def write_reports(folder: Path, table: Path) -> list[Path]:
    """Randomize every file of a table on its own: reports in as many files."""
    folder.mkdir()
    made = []
    for part in sorted(table.iterdir()):
        randomize(part, folder / part.name, None)
        made.append(folder / part.name)
    return made


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, and of processor time: on the longest path, and of all processes."""

    clock: float
    path: float
    work: float


def cost(call: Callable[[], object], client: Any) -> Cost:
    def worked() -> dict[str, float]:
        return {} if client is None else client.run(time.process_time)

    before, own, start = worked(), time.process_time(), time.perf_counter()
    call()
    clock, own = time.perf_counter() - start, time.process_time() - own
    after = worked()
    workers = [after[name] - before[name] for name in before]
    return Cost(clock, own + max(workers, default=0.0), own + sum(workers))


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Give a client whose workers have started; None for no workers."""
    if workers == 0:
        yield None
        return
    with connected(f"local:{workers}") as client:
        client.wait_for_workers(workers)
        client.run(warm_up)
        yield client


def warm_up() -> None:
    """Import everything."""
    with tempfile.TemporaryDirectory() as name:
        table = write_table(Path(name) / "table", 100)
        estimate_files(write_reports(Path(name) / "reports", table))


def peak() -> float:
    """The most memory that this process has had, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def measure(
    workers: int, table: Path, reports: list[Path], folder: Path
) -> tuple[dict[str, Cost], float]:
    """What each task costs, and the largest memory of a worker."""
    warm_up()
    with cluster(workers) as client:
        out = folder / f"reports{workers}.parquet"
        found = {
            "randomize": cost(lambda: randomize(table, out, client), client),
            "estimate": cost(lambda: estimate_files(reports, client=client), client),
        }
        memory = [peak()] if client is None else list(client.run(peak).values())
        return found, max(memory)


def show(rows: int, folder: Path) -> float:
    """Measure and print; return the seconds that a run of two workers takes."""
    folder.mkdir()
    table = write_table(folder / "table", rows)
    reports = write_reports(folder / "reports", table)
    found = {workers: measure(workers, table, reports, folder) for workers in (0, 1, 2)}
    print(f"{rows:,} rows in {len(reports)} files, {MECHANISM}")
    heads = "no cluster", "1 worker", "2 workers", "speed-up", "by path", "core s per 1e6"
    print(" " * 12 + "".join(f"{head:>15}" for head in heads))
    for task in ("randomize", "estimate"):
        none, one, two = (found[workers][0][task] for workers in (0, 1, 2))
        cells = [f"{own.clock:.2f} s" for own in (none, one, two)]
        cells += [f"{one.clock / two.clock:.2f}", f"{one.path / two.path:.2f}"]
        cells.append(f"{1e6 * two.work / rows:.3f}")
        print(f"{task:<12}" + "".join(f"{cell:>15}" for cell in cells))
    memory = "".join(f"{found[workers][1]:>12.0f} MB" for workers in (0, 1, 2))
    print(f"{'peak memory':<12}{memory}  of a worker")
    return found[2][0]["randomize"].clock + found[2][0]["estimate"].clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6, help="number of rows, such as 1e8")
    parser.add_argument("--seconds", type=float, default=900, help="longest time to expect")
    options = parser.parse_args()
    rows = int(options.rows)
    if rows < LEAST_ROWS:
        parser.error(f"--rows must be at least {LEAST_ROWS}, got {rows}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few = min(rows, max(10**6, rows // 100))
        seconds = show(few, folder / "few")
        if few < rows:
            expected = 4 * seconds * rows / few  # the table, and every number of workers
            if expected > options.seconds:
                print(f"{rows:,} rows would take about {expected:.0f} s: more than --seconds")
            else:
                show(rows, folder / "many")


if __name__ == "__main__":
    main()
