"""What a cluster computes is what this process computes."""

from __future__ import annotations

import gc
import math
import os
import pickle
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from breaking import CLEAR, USERS, names, randomize, reports, write_people
from click.testing import CliRunner

from shuffledp import Aggregator, parse
from shuffledp.basics import cluster
from shuffledp.basics.cluster import (
    ClusterError,
    check_address,
    connected,
    in_pairs,
    merged,
    spread,
)
from shuffledp.cli import main
from shuffledp.deployment.files import (
    Column,
    DataError,
    Randomization,
    estimate_files,
    sidecar_path,
    spread_buckets,
)
from shuffledp.deployment.files.draft import draft
from shuffledp.deployment.files.estimation import together
from shuffledp.deployment.files.frame_table import FrameTable
from shuffledp.deployment.files.sidecar import read_sidecar
from shuffledp.deployment.files.tables import parts_of

KRR = "krr(k=10, epsilon0=2)"


def run(*arguments: str):
    return CliRunner().invoke(main, arguments, prog_name="shuffledp")


def test_results_in_order(client):
    assert spread(abs, range(-20, 0), client) == list(range(20, 0, -1))
    assert spread(abs, [], client) == []


def test_an_error_is_raised_as_it_is(client):
    with pytest.raises(ValueError, match="math domain error"):
        spread(math.sqrt, [4.0, -1.0, 9.0], client)


@pytest.mark.heavy
def test_equal_tasks_are_not_taken_for_each_other(client):
    draws = [spread(_draw, [1, 1], client) for _ in range(2)]
    assert len({number for pair in draws for number in pair}) == 4


def _draw(_: int) -> int:
    import secrets

    return secrets.randbits(64)


def test_merging_in_a_tree(client):
    texts = list("abcdefg")
    assert merged(str.upper, texts, _join, client) == in_pairs(map(str.upper, texts), _join)
    assert merged(str.upper, ["a"], _join, client) == "A"


def _join(one: str, other: str) -> str:
    return f"({one}{other})"


def test_nobody_is_lost_or_counted_twice(client, tmp_path):
    source = write_people(tmp_path / "people")
    far = randomize(source, tmp_path / "far.csv", client=client)
    near = randomize(source, tmp_path / "near.csv")
    assert sorted(reports(tmp_path / "far.csv")) == list(range(USERS))
    assert reports(tmp_path / "far.csv") != list(range(USERS))
    assert (far.n, far.mechanism, far.guarantee) == (near.n, near.mechanism, near.guarantee)
    assert (far.assumptions, far.warnings, far.columns) == (
        near.assumptions,
        near.warnings,
        near.columns,
    )
    assert read_sidecar(tmp_path / "far.csv") == far
    far.check_file(tmp_path / "far.csv")
    assert names(tmp_path) == [
        *("far.csv", "far.csv.json", "near.csv", "near.csv.json", "people"),
    ]


@pytest.mark.heavy
def test_secure_bits_differ_and_seeds_repeat(client, tmp_path):
    source = write_people(tmp_path / "people")
    orders = []
    for i, seed in enumerate([None, None, 7, 7, 8]):
        randomize(source, tmp_path / f"{i}.parquet", seed=seed, client=client)
        orders.append(reports(tmp_path / f"{i}.parquet"))
    assert orders[2] == orders[3]
    assert len({tuple(order) for order in orders}) == 4


@pytest.mark.heavy
def test_a_cell_that_does_not_fit_leaves_nothing(client, tmp_path):
    source = write_people(tmp_path / "people")
    (source / "part9.csv").write_text("value\n0\n-1\n")
    with pytest.raises(DataError, match=r"part9.csv', row 2, column 'value'"):
        randomize(source, tmp_path / "out.csv", client=client)
    assert names(tmp_path) == ["people"]


@pytest.mark.heavy
def test_a_dask_frame(client, tmp_path):
    pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    people = frames.read_parquet(write_people(tmp_path / "people"))
    sidecar = randomize(people, tmp_path / "out.csv", client=client)
    assert sidecar.n == USERS
    assert sorted(reports(tmp_path / "out.csv")) == list(range(USERS))
    for frame, message in (
        (people.rename(columns={"value": "other"}), "must have one column 'value', got 0"),
        (people.assign(value=people["value"] - 1), "row 1, column 'value': .* got -1"),
        (people.assign(value=people["value"].where(people["value"] > 5)), "the cell is empty"),
        (people[people["value"] < 0], "the frame has no rows"),
    ):
        with pytest.raises(DataError, match=message):
            randomize(frame, tmp_path / "more.csv", client=client)
    with pytest.raises(TypeError, match="give its client"):
        randomize(people, tmp_path / "more.csv")
    with pytest.raises(TypeError, match="source must be a Path or a dask DataFrame"):
        randomize("people.csv", tmp_path / "more.csv", client=client)
    with pytest.raises(TypeError, match=r"dask DataFrame, got value 0 .{,60}\Z"):
        randomize(people.compute(), tmp_path / "more.csv", client=client)
    assert names(tmp_path) == ["out.csv", "out.csv.json", "people"]


@pytest.mark.heavy
def test_partitions_of_their_own_kind(client, tmp_path):
    """Those without rows have no type; those that lack what the frame promises are named."""
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    made = Randomization(parse("krr(k=2, epsilon0=2)"), [Column("page", ("news", "mail"))])

    def run(frame, name="out.csv"):
        options = {"target_delta": 0.5, "assumptions": (), "client": client}
        return made.run(frame, tmp_path / name, **options)

    whole = pandas.DataFrame({"page": ["news", "mail"] * 20}).astype(object)
    frame = frames.from_map(whole.head, [0, 3, 0, 40], meta=whole.head(0))
    assert run(frame).n == 43

    def other(number):
        return whole.assign(more=1).rename(columns={"page": "title"} if number else {})

    for meta, message in (
        (whole.head(0), "a partition of the frame must have one column 'page', got 0"),
        (whole.assign(more=1).head(0), "a partition of the frame lacks something"),
    ):
        with pytest.raises(DataError, match=message):
            run(frames.from_map(other, [0, 1], meta=meta), "more.csv")
    with pytest.raises(DataError, match="the frame must have one column 'page', got 0"):
        run(frames.from_pandas(pandas.DataFrame({0: [1, 2]}), npartitions=1), "more.csv")
    with pytest.raises(TypeError, match="must be a Path or a dask DataFrame, got Dask Series"):
        run(frame["page"], "more.csv")
    assert names(tmp_path) == ["out.csv", "out.csv.json"]


def test_a_partition_that_is_another_one_when_it_is_computed_again():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"value": [1, 2, 3]})
    assert len(next(FrameTable(frame, 3, ["value"]).chunks(10))[0]) == 3
    with pytest.raises(DataError, match="had 2 rows, and 3 when it was computed again"):
        FrameTable(frame, 2, ["value"])


def test_a_file_without_rows_has_no_type(tmp_path):
    (tmp_path / "answers").mkdir()
    empty, full = pa.table({"value": pa.nulls(0)}), pa.table({"value": [1] * 40})
    pq.write_table(empty, tmp_path / "answers" / "a.parquet")
    pq.write_table(full, tmp_path / "answers" / "b.parquet")
    assert randomize(tmp_path / "answers", tmp_path / "out.csv").n == 40
    pq.write_table(pa.table({"value": pa.nulls(1)}), tmp_path / "answers" / "c.parquet")
    with pytest.raises(DataError, match=r"c\.parquet', row 1, column 'value': the cell is empty"):
        randomize(tmp_path / "answers", tmp_path / "more.csv")


def test_workers_that_do_not_see_the_files(monkeypatch, tmp_path):
    def elsewhere(function, own, _):
        moved = next(tmp_path.glob(".out.csv.shuffledp-????????"))
        shutil.rmtree(moved)
        return list(map(function, own))

    source = write_people(tmp_path / "people")
    monkeypatch.setattr(spread_buckets, "spread", elsewhere)
    with pytest.raises(DataError, match=r"a worker does not see .* under the same path"):
        randomize(source, tmp_path / "out.csv", client=object())
    assert names(tmp_path) == ["people"]


MECHANISMS = [
    "krr(k=4, epsilon0=2.0)",
    "laplace(epsilon0=2.0, domain='interval')",
    "joint(krr(k=3, epsilon0=1.0), oue(epsilon0=1.0, domain_size=4))",
]


@pytest.mark.heavy
@pytest.mark.parametrize("text", MECHANISMS)
def test_estimates_are_the_same_to_the_last_bit(client, tmp_path, text):
    rng, paths = np.random.default_rng(2), []
    for i in range(5):
        source = tmp_path / f"answers{i}.csv"
        cells = rng.integers(0, 2, (40, 2))
        source.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in cells))
        columns = [Column("a"), Column("b")] if text.startswith("joint") else [Column("a")]
        paths.append(tmp_path / f"reports{i}.csv")
        Randomization(parse(text), columns, seed=i).run(
            source, paths[-1], target_delta=1e-6, assumptions=()
        )
    far, near = estimate_files(paths, client=client), estimate_files(paths)
    for one, other in zip(far.sections, near.sections, strict=True):
        assert one.estimate.values.tobytes() == other.estimate.values.tobytes()
        assert one.estimate.standard_errors.tobytes() == other.estimate.standard_errors.tobytes()
    assert (far.n, far.guarantee) == (near.n, near.guarantee) == (200, near.guarantee)


def test_files_of_a_folder_are_estimated_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports").mkdir()
    for i in range(3):
        source = write_people(tmp_path / f"people{i}")
        randomize(source, tmp_path / "reports" / f"{i}.csv", seed=i)
    paths = sorted((tmp_path / "reports").glob("*.csv"))
    listed = run("estimate", *(f"reports/{path.name}" for path in paths), "--json").stdout
    assert run("estimate", "reports", "--json").stdout == listed
    assert run("estimate", "reports/*.csv", "--json").stdout == listed
    assert estimate_files([tmp_path / "reports"]).n == 3 * USERS
    for own in ([tmp_path / "reports", paths[1]], [paths[0], paths[0]]):
        with pytest.raises(DataError, match="hold the same reports"):
            estimate_files(own)
    for source, message in (("people0", "has no sidecar"), ("x*.csv", "has no files that end in")):
        result = run("estimate", source)
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert message in result.stderr


def test_merged_sums_stay_as_they_are():
    one, other = Aggregator(KRR), Aggregator(KRR)
    one.add([1, 2])
    other.add([3])
    assert [together(one, other).n for _ in range(2)] == [3, 3]
    assert (one.n, other.n) == (2, 1)


@pytest.mark.parametrize("text", [*MECHANISMS, "olh(epsilon0=2.0, domain_size=5)"])
def test_aggregators_travel(text):
    aggregator = Aggregator(text)
    values = [0] * 20
    aggregator.add(
        aggregator.randomizer.randomize((values, values) if text.startswith("joint") else values)
    )
    other = pickle.loads(pickle.dumps(aggregator))  # noqa: S301
    other.merge(aggregator)
    assert other.n == 40


def test_a_file_that_comes_while_the_folder_is_removed(monkeypatch, tmp_path):
    remove, late = shutil.rmtree, []

    def disturbed(folder, **options):
        remove(folder, **options)
        if not late:
            folder.mkdir()
            late.append((folder / "bucket_part_0_late").write_bytes(b"1"))

    monkeypatch.setattr(shutil, "rmtree", disturbed)
    with draft(tmp_path / "out.csv", force=False):
        pass
    assert (late, names(tmp_path)) == ([1], [])


def test_another_version_is_refused(client, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "0.0.0")
    with pytest.raises(ClusterError, match=r"a worker has shuffledp .*, not 0\.0\.0"):
        spread(abs, [1], client)


def test_another_version_merges_nothing(client, monkeypatch):
    """Those who merge may be others than those who add up."""
    monkeypatch.setattr(cluster, "__version__", "0.0.0")
    monkeypatch.setattr(cluster, "_tasks", _tasks_of_this_version)
    with pytest.raises(ClusterError, match=r"a worker has shuffledp .*, not 0\.0\.0"):
        merged(str.upper, ["a", "b"], _join, client)


@contextmanager
def _tasks_of_this_version(function, arguments, client):
    yield client.map(function, arguments, pure=False)


def test_a_task_without_enough_memory(client):
    with pytest.raises(ClusterError, match="a worker has not enough memory for one of the tasks"):
        spread(_hoard, [1], client)


def _hoard(_: int) -> None:
    raise MemoryError


def test_a_task_that_times_out_itself(client):
    with pytest.raises(TimeoutError, match="of its own"):
        spread(_time_out, [1], client)


def _time_out(_: int) -> None:
    raise TimeoutError("of its own")


def test_no_client():
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        spread(abs, [1], "tcp://127.0.0.1:1")


@pytest.mark.heavy
def test_a_closed_client(client):
    from distributed import Client

    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(ClusterError, match="the connection to the cluster was lost"):
        spread(abs, [1], other)


BAD = ["", "x", "local:", "local:0", "local:-1", "local:x", "x:", ":1", "a b:1", "foo://a:1"]


@pytest.mark.parametrize("text", [*BAD, "tcp://a:65536", "a:99999", "a:0", "local:" + "9" * 5000])
def test_bad_addresses(text):
    with pytest.raises(ValueError, match="cluster must be local, local:4 or an address such as"):
        check_address(text)


def test_the_number_of_a_port_is_not_a_number_of_processes():
    assert check_address("local:256") == "local:256"
    for text in ("local:257", "local:8786"):
        with pytest.raises(ValueError, match=r"local:256 at most.* is tcp://127\.0\.0\.1:8786"):
            check_address(text)


@pytest.mark.parametrize("address", [None, 8786, b"local"])
def test_addresses_are_texts(address):
    with pytest.raises(TypeError, match="cluster must be a text such as"), connected(address):
        pass


def test_no_files(client):
    for workers in (client, None):
        with pytest.raises(ValueError, match="paths must hold at least one file"):
            estimate_files([], client=workers)


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(cluster, "_TIMEOUT", 0.2)
    result = run("estimate", "reports.csv", "--cluster", "127.0.0.1:9")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: no scheduler answers at '127.0.0.1:9'")
    assert result.stderr.count("\n") == 1


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("scheme", ["tcp", "tls", "ucx", "ws", "wss"])
def test_something_else_answers(monkeypatch, scheme):
    """A server that is silent, or no scheduler: one line, and nothing is said later."""
    monkeypatch.setattr(cluster, "_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"no scheduler answers at '{address}'") as caught:
            connected(address).__enter__()
    assert "\n" not in str(caught.value)
    gc.collect()


def test_a_worker_is_no_scheduler(client):
    address = next(iter(client.nthreads()))
    with pytest.raises(ClusterError, match="this is the address of a worker"), connected(address):
        pass


@pytest.mark.heavy
def test_a_script_without_a_guard(tmp_path):
    """Its processes would run it, too."""
    script = tmp_path / "script.py"
    script.write_text(
        "from shuffledp.basics.cluster import connected\n"
        "with connected('local:1') as client:\n    print('started')\n"
    )
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "shuffledp.basics.cluster.ClusterError: the processes on this machine did not"
    )
    assert last.endswith('under if __name__ == "__main__":')


@pytest.mark.heavy
def test_on_the_command_line(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people")
    where = ("--cluster", client.scheduler.address)
    line = ("--column", "value", "--mechanism", CLEAR, "--delta", "1e-6", "--out", "out.csv")
    result = run("randomize", "people", *line, *where)
    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(reports(tmp_path / "out.csv")) == list(range(USERS))
    question = ("estimate", "out.csv", "--json")
    far, near = run(*question, *where), run(*question)
    assert (far.exit_code, far.stderr, far.stdout) == (0, "", near.stdout)


def test_what_does_not_go_with_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in (
        ("estimate", "--from-counts", "a.json", "--mechanism", KRR),
        ("randomize", "a.csv", "--plan", "a.json", "--out", "b.csv"),
    ):
        result = run(*line, "--cluster", "local:1")
        assert result.exit_code == 2
        assert "--cluster" in result.stderr


@pytest.mark.heavy
def test_processes_on_this_machine():
    with connected("local:2") as client:
        assert spread(abs, [-1, -2], client) == [1, 2]
        assert len(client.nthreads()) == 2
        assert all(address.startswith("tcp://127.0.0.1:") for address in client.nthreads())
    assert client.status == "closed"


def test_parts_of_a_table(tmp_path):
    for name in ("b.parquet", "a.csv", "c.txt", ".hidden.csv", "_SUCCESS.csv"):
        (tmp_path / name).write_text("value\n1\n")
    assert [path.name for path in parts_of(tmp_path)] == ["a.csv", "b.parquet"]
    assert [path.name for path in parts_of(tmp_path / "*.csv")] == ["a.csv"]
    assert parts_of(tmp_path / "a.csv") == [tmp_path / "a.csv"]
    (tmp_path / "again.csv").hardlink_to(tmp_path / "a.csv")
    with pytest.raises(DataError, match="are the same file"):
        parts_of(tmp_path)
    for pattern in ("z*.csv", "**z**.csv", "[z.csv", "z/*.csv"):
        with pytest.raises(DataError, match=r"has no files that end in|No such file"):
            parts_of(tmp_path / pattern)


def test_reports_do_not_join_what_is_read(tmp_path):
    source = write_people(tmp_path / "people")
    with pytest.raises(DataError, match=r"cannot write .*out\.csv': it would be read with '"):
        randomize(source, source / "out.csv")
    with pytest.raises(DataError, match=r"cannot write .*party\.parquet': it would be read with '"):
        randomize(source / "part*.parquet", source / "party.parquet")
    with pytest.raises(DataError, match="it is the file that is read"):
        randomize(source / "part*.parquet", source / "part0.parquet", force=True)
    assert not sidecar_path(source / "out.csv").exists()
