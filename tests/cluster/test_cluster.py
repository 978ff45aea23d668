"""What a cluster computes is what this process computes."""

from __future__ import annotations

import math
import pickle
import shutil

import numpy as np
import pytest
from breaking import CLEAR, USERS, names, randomize, reports, write_people
from click.testing import CliRunner

import shuffledp
from shuffledp import Aggregator, cluster, parse
from shuffledp.cli import main
from shuffledp.cluster import ClusterError, check_address, connected, in_pairs, merged, spread
from shuffledp.comparison import AXES, Course, Kept, read_families, trace
from shuffledp.files import (
    Column,
    DataError,
    Randomization,
    estimate_files,
    sidecar_path,
)
from shuffledp.files.draft import draft
from shuffledp.files.estimation import _together
from shuffledp.files.parts import parts_of
from shuffledp.files.sidecar import read_sidecar
from shuffledp.planning import plan
from shuffledp.reproduction import Settings, reproduce

KRR = "krr(k=10, epsilon0=2)"


def run(*arguments: str):
    return CliRunner().invoke(main, arguments, prog_name="shuffledp")


def test_results_in_order_and_counted(client):
    told = {}
    assert spread(abs, range(-20, 0), client, told.__setitem__) == list(range(20, 0, -1))
    assert told == {i: 20 - i for i in range(20)}
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


@pytest.mark.heavy
@pytest.mark.processes
def test_curves_are_the_same(client):
    families = read_families([KRR, "laplace(epsilon0=1)"], "users")
    course = Course(AXES["users"], (100, 1000), target_delta=1e-6)
    done = []
    far = trace(families, course, client=client, on_done=lambda *state: done.append(state))
    assert far.to_dict() == trace(families, course, processes=1).to_dict()
    assert done[-1] == (4, 4)
    assert shuffledp.curve(KRR, x=[100], target_delta=1e-6, client=client).to_dict() == (
        shuffledp.curve(KRR, x=[100], target_delta=1e-6).to_dict()
    )


@pytest.mark.heavy
@pytest.mark.processes
def test_curves_continue(client, tmp_path):
    """The cluster is lost, as far as this process can tell; another one has the rest to do."""
    families = read_families([KRR], "users")
    course = Course(AXES["users"], (100, 300, 1000, 3000), target_delta=1e-6)
    done = []

    def lost(*state):
        done.append(state)
        if len(done) == 2:
            raise ClusterError("lost")

    with pytest.raises(ClusterError):
        trace(families, course, client=client, kept=Kept(tmp_path / "kept"), on_done=lost)
    far = trace(families, course, client=client, kept=Kept(tmp_path / "kept"), on_done=lost)
    assert done == [(1, 4), (2, 4), (2, 4), (3, 4), (4, 4)]
    assert far.to_dict() == trace(families, course, processes=1).to_dict()


@pytest.mark.heavy
@pytest.mark.processes
@pytest.mark.parametrize("target", [{"target_epsilon": 0.5}, {"target_error": 0.01}], ids=str)
def test_plans_are_the_same(client, target):
    question = {"n": 1000, "target_delta": 1e-6, "domain_size": 3, **target}
    assert plan(**question, client=client) == plan(**question)


@pytest.mark.heavy
@pytest.mark.processes
def test_plans_continue(client, tmp_path):
    """The cluster is lost, as far as this process can tell; another one has the rest to do."""
    question = {"n": 20_000, "target_delta": 1e-6, "target_epsilon": 0.5, "domain_size": 3}
    done = []

    def lost(*state):
        done.append(state)
        if len(done) == 3:
            raise ClusterError("lost")

    with pytest.raises(ClusterError):
        plan(**question, client=client, kept=Kept(tmp_path / "kept"), on_done=lost)
    far = plan(**question, client=client, kept=Kept(tmp_path / "kept"), on_done=lost)
    assert done == [*((i, 7) for i in range(1, 4)), *((i, 7) for i in range(3, 8))]
    assert far == plan(**question)


@pytest.mark.heavy
@pytest.mark.processes
def test_reproductions_are_the_same_and_continue(client, tmp_path):
    settings = Settings(points=2)
    far = reproduce(["krr-low", "hierarchy"], tmp_path / "far", settings, client=client)
    reproduce(["krr-low", "hierarchy"], tmp_path / "near", settings)
    for name in ("krr-low", "hierarchy"):
        tables = [(tmp_path / where / f"{name}.csv").read_bytes() for where in ("far", "near")]
        assert tables[0] == tables[1]
    again = reproduce(["krr-low", "hierarchy"], tmp_path / "far", settings, client=client)
    assert (far.computed, again.reused) == (("krr-low", "hierarchy"),) * 2


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


def test_merged_sums_stay_as_they_are():
    one, other = Aggregator(KRR), Aggregator(KRR)
    one.add([1, 2])
    other.add([3])
    assert [_together(one, other).n for _ in range(2)] == [3, 3]
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


@pytest.mark.parametrize("text", [*BAD, "tcp://a:65536", "a:99999"])
def test_bad_addresses(text):
    with pytest.raises(ValueError, match="cluster must be local, local:4 or an address such as"):
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
    result = run("curve", KRR, "--delta", "1e-6", "--points", "1", "--cluster", "127.0.0.1:9")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: no scheduler answers at '127.0.0.1:9'")
    assert result.stderr.count("\n") == 1


@pytest.mark.heavy
@pytest.mark.processes
def test_on_the_command_line(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people")
    where = ("--cluster", client.scheduler.address)
    line = ("--column", "value", "--mechanism", CLEAR, "--delta", "1e-6", "--out", "out.csv")
    result = run("randomize", "people", *line, *where)
    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(reports(tmp_path / "out.csv")) == list(range(USERS))
    curve = ("curve", KRR, "--delta", "1e-6", "--points", "3")
    for question in (("estimate", "out.csv", "--json"), curve):
        far, near = run(*question, *where), run(*question)
        assert (far.exit_code, far.stderr, far.stdout) == (0, "", near.stdout)


def test_what_does_not_go_with_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in (
        ("estimate", "--from-counts", "a.json", "--mechanism", KRR),
        ("plan", "--study", "a.toml"),
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
