"""Real worker processes that are killed, run out of memory, or lose their scheduler."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from breaking import (
    CLEAR,
    USERS,
    break_in,
    end_worker,
    fill_memory,
    local_cluster,
    names,
    randomize,
    reports,
    wait,
    write_people,
)

from shuffledp import Aggregator
from shuffledp.basics import cluster
from shuffledp.basics.cluster import ClusterError, connected
from shuffledp.deployment.files import (
    Column,
    DataError,
    Randomization,
    estimate_files,
    estimate_frame,
)
from shuffledp.mechanisms import parse

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(sys.platform == "win32", reason="processes of Unix"),
]

SPILL, MIX = (
    "shuffledp.deployment.files.spread_buckets:_spill",
    "shuffledp.deployment.files.spread_buckets:_mix",
)
SUMS, MERGE = (
    "shuffledp.deployment.files.estimation:sums_of",
    "shuffledp.deployment.files.estimation:together",
)
PARTITION = "shuffledp.deployment.files.frame_estimation:sums_of_partition"


@pytest.mark.parametrize("place", [SPILL, MIX])
def test_a_worker_is_killed_while_it_randomizes_or_shuffles(client, tmp_path, place):
    """The report of nobody is lost, and of those whose part was done twice one is there."""
    source, marker = write_people(tmp_path / "people"), tmp_path / "killed"
    break_in(client, place, end_worker, marker)
    sidecar = randomize(source, tmp_path / "out.parquet", client=client)
    assert marker.exists()
    assert sidecar.n == USERS
    assert sorted(reports(tmp_path / "out.parquet")) == list(range(USERS))
    assert names(tmp_path) == ["killed", "out.parquet", "out.parquet.json", "people"]


@pytest.mark.parametrize("place", [SUMS, MERGE])
def test_a_worker_is_killed_while_it_adds_up_or_merges(client, tmp_path, place):
    source, marker = write_people(tmp_path / "people", parts=5), tmp_path / "killed"
    paths = [tmp_path / f"out{i}.csv" for i in range(5)]
    for i, path in enumerate(paths):
        randomize(source / f"part{i}.parquet", path)
    break_in(client, place, end_worker, marker)
    found = estimate_files(paths, client=client)
    assert marker.exists()
    assert found.n == USERS
    values = found.sections[0].estimate.values
    assert values.tobytes() == estimate_files(paths).sections[0].estimate.values.tobytes()


def partition(number, folder, grow):
    """Return some people, who are more when they are asked again, if so; note that they were."""
    import pandas

    times = len(list(folder.glob(f"{number}-*")))
    (folder / f"{number}-{times}").touch()
    people = range(number * 10, number * 10 + (times + 1 if grow else 10))
    return pandas.DataFrame({"report": people}, dtype="u1")


def frame_of_reports(folder, grow=False):
    frames = pytest.importorskip("dask.dataframe")
    folder.mkdir()
    meta = partition(0, folder, grow).head(0)
    (folder / "0-0").unlink()
    return frames.from_map(partition, range(5), folder=folder, grow=grow, meta=meta)


@pytest.mark.parametrize("place", [PARTITION, MERGE])
def test_a_worker_is_killed_while_it_adds_up_or_merges_partitions(tmp_path, place):
    """The only worker: all it held is computed again, and everybody is counted once."""
    frame, marker = frame_of_reports(tmp_path / "asked"), tmp_path / "killed"
    with local_cluster(workers=1) as client:
        break_in(client, place, end_worker, marker)
        found = estimate_frame(frame, CLEAR, [Column("value")], client=client)
    assert marker.exists()
    assert len(names(tmp_path / "asked")) > 5
    aggregator = Aggregator(CLEAR)
    aggregator.add(list(range(50)))
    assert found.n == 50
    values = found.sections[0].estimate.values
    assert values.tobytes() == aggregator.estimate().values.tobytes()


def test_partitions_that_are_others_when_they_are_computed_again(tmp_path):
    frame, marker = frame_of_reports(tmp_path / "asked", grow=True), tmp_path / "killed"
    message = "a partition of the frame had 1 row, and 2 when it was computed again"
    with local_cluster(workers=1) as client:
        break_in(client, PARTITION, end_worker, marker)
        with pytest.raises(DataError, match=message):
            estimate_frame(frame, CLEAR, [Column("value")], client=client)
    assert marker.exists()


@pytest.mark.parametrize("place", [PARTITION, MERGE])
def test_the_scheduler_is_lost_while_partitions_are_added_up_or_merged(tmp_path, place):
    marker = tmp_path / "reached"
    with scheduler(tmp_path) as (address, process), connected(address) as client:
        client.wait_for_workers(1, timeout=60)
        frame = frame_of_reports(tmp_path / "asked")
        break_in(client, place, wait, marker)
        with ThreadPoolExecutor(1) as pool:
            killed = pool.submit(lambda: (wait_until(marker.exists), process.kill()))
            with pytest.raises(ClusterError, match="the connection to the cluster was lost"):
                estimate_frame(frame, CLEAR, [Column("value")], client=client)
            killed.result()


def test_a_task_that_ends_every_worker(client, tmp_path):
    source = write_people(tmp_path / "people")
    fatal = Fatal(parse(CLEAR), [Column("value")])
    with pytest.raises(ClusterError, match="may need more memory"):
        fatal.run(source, tmp_path / "out.csv", target_delta=1e-6, assumptions=(), client=client)
    assert names(tmp_path) == ["people"]


class Fatal(Randomization):
    """Ends every worker that runs it."""

    def _pour(self, buckets, part, rng):
        super()._pour(buckets, part, rng)
        end_worker()


def test_no_workers(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    source = write_people(tmp_path / "people")
    with (
        local_cluster(workers=0) as client,
        pytest.raises(ClusterError, match="the cluster has no workers"),
    ):
        randomize(source, tmp_path / "out.csv", client=client)
    assert names(tmp_path) == ["people"]


def test_a_result_is_lost_with_the_last_worker(monkeypatch):
    """It was there, and nobody is left who could compute it again."""
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    with local_cluster(workers=1) as client:
        future = client.submit(abs, -1)
        wait_until(future.done)
        client.cluster.scale(0)
        wait_until(lambda: not client.nthreads())
        with pytest.raises(ClusterError, match="the cluster has no workers"):
            cluster._fetched(future, client)


@pytest.mark.parametrize("place", [SPILL, MIX])
def test_a_worker_runs_out_of_memory(tmp_path, place):
    """Its nanny ends it, another one takes over, and the work is done."""
    source, marker = write_people(tmp_path / "people"), tmp_path / "full"
    with local_cluster(memory_limit="600MB") as client:
        break_in(client, place, fill_memory, marker)
        randomize(source, tmp_path / "out.csv", client=client)
    assert marker.exists()
    assert sorted(reports(tmp_path / "out.csv")) == list(range(USERS))
    assert names(tmp_path) == ["full", "out.csv", "out.csv.json", "people"]


@contextmanager
def scheduler(folder):
    """Give the address and the process of a scheduler with a worker, both on the loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
    worker += ["--nthreads", "1", "--host", "127.0.0.1", "--local-directory", str(folder)]
    place = ["--host", "127.0.0.1", "--port", str(port)]
    path = os.pathsep.join(filter(None, sys.path))
    options = {**quiet, "env": os.environ | {"PYTHONPATH": path}, "cwd": folder}
    with (
        subprocess.Popen([*dask, *place], **options) as first,
        subprocess.Popen(worker, **options) as second,
    ):
        try:
            wait_until(lambda: answers(port))
            yield address, first
        finally:
            for process in (second, first):
                process.terminate()
                process.wait(timeout=30)


def test_ctrl_c(tmp_path):
    """It goes to all processes of a terminal: no traceback, nothing written, nobody left."""
    write_people(tmp_path / "people")
    line = ["randomize", "people", "--column", "value", "--mechanism", CLEAR, "--delta", "1e-6"]
    with subprocess.Popen(
        [sys.executable, "-m", "shuffledp", *line, "--out", "out.csv", "--cluster", "local:2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        text=True,
        start_new_session=True,
    ) as command:
        wait_until(lambda: any(tmp_path.glob(".out.csv.shuffledp-????????")))
        os.killpg(command.pid, signal.SIGINT)
        complained = command.communicate(timeout=120)[1]
    assert (command.returncode, complained) == (130, "")
    assert names(tmp_path) == ["people"]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(happened):
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_scheduler_is_frozen(tmp_path, monkeypatch):
    """Its machine has stopped: no connection is lost, and nothing will come."""
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    monkeypatch.setattr(cluster, "_TIMEOUT", 1)
    with scheduler(tmp_path) as (address, process), connected(address) as client:
        process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(ClusterError, match="the scheduler has not answered for 1 s"):
                cluster.spread(abs, [1], client)
        finally:
            process.send_signal(signal.SIGCONT)


LINES = {
    "randomize": ["people", "--column", "value", "--mechanism", CLEAR, "--delta", "1e-6"],
    "estimate": ["reports", "--chart", "out.csv"],
}


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("randomize", SPILL),
        ("randomize", MIX),
        ("estimate", SUMS),
        ("estimate", MERGE),
    ],
)
def test_the_scheduler_is_lost(tmp_path, command, place):
    """The command ends with one line and a status, and nothing is half-written."""
    for folder in ("dask", "work", "work/reports"):
        (tmp_path / folder).mkdir()
    source = write_people(tmp_path / "work" / "people", parts=2)
    for i in range(2):
        randomize(source / f"part{i}.parquet", tmp_path / "work" / "reports" / f"{i}.csv")
    before = names(tmp_path / "work")
    marker = tmp_path / "reached"
    with scheduler(tmp_path / "dask") as (address, process):
        with connected(address) as client:
            client.wait_for_workers(1, timeout=60)
            break_in(client, place, wait, marker)
        line = [command, *LINES[command], "--cluster", address]
        if command != "estimate":
            line += ["--out", "out.csv"]
        with subprocess.Popen(
            [sys.executable, "-m", "shuffledp", *line],
            cwd=tmp_path / "work",
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            text=True,
        ) as started:
            wait_until(marker.exists)
            process.send_signal(signal.SIGKILL)
            said, complained = started.communicate(timeout=120)
    assert (started.returncode, said) == (1, "")
    assert complained.startswith("Error: the connection to the cluster was lost")
    assert complained.count("\n") == 1
    assert names(tmp_path / "work") == before
