"""Estimates from frames of dask are those from files."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from shuffledp import Aggregator, parse
from shuffledp.basics import cluster
from shuffledp.basics.cluster import ClusterError
from shuffledp.deployment.files import (
    Column,
    DataError,
    Randomization,
    estimate_files,
    estimate_frame,
)
from shuffledp.deployment.files.frame_estimation import FrameReports
from shuffledp.deployment.files.report_files import TITLE

dask = pytest.importorskip("dask")
pandas = pytest.importorskip("pandas")
frames = pytest.importorskip("dask.dataframe")

KRR = "krr(k=4, epsilon0=2.0)"
VALUE = [Column("value")]

#: Numbers of every type, bytes, several attributes, labels, and two estimates of one column.
CASES = {
    KRR: [Column("a", ("w", "x", "y", "z"))],
    "discrete_laplace(epsilon0=2.0, bound=3)": [Column("a")],
    "laplace(epsilon0=2.0, domain='interval')": [Column("a")],
    "olh(epsilon0=2.0)": [Column("a", ("w", "x"))],
    "joint(krr(k=3, epsilon0=1.0), laplace(epsilon0=1.0))": [Column("a"), Column("b")],
    "parallel(0.5*krr(k=2, epsilon0=1.0), 0.5*discrete_laplace(epsilon0=1.0, bound=1))": [
        Column("b")
    ],
}
SIZES = (40, 1, 23, 7, 60)


def corrupted(text):
    """How many users choose their reports; for some mechanisms nobody knows what follows."""
    return 0 if text.startswith("parallel") else 3


def write_reports(folder, text, suffix):
    """Write files of reports of different sizes."""
    rng, paths, columns = np.random.default_rng(2), [], CASES[text]
    for i, size in enumerate(SIZES):
        source = folder / f"answers{i}.csv"
        rows = rng.integers(0, 2, (size, 2)).tolist()
        labels = columns[0].labels or (0, 1)
        source.write_text("a,b\n" + "".join(f"{labels[a]},{b}\n" for a, b in rows))
        paths.append(folder / f"reports{i}{suffix}")
        made = Randomization(parse(text), columns, seed=i)
        made.run(source, paths[-1], target_delta=0.5, assumptions=())
    return paths


def assert_the_same(one, other):
    assert (one.n, one.mechanism, one.corrupted) == (other.n, other.mechanism, other.corrupted)
    assert one.n == sum(SIZES)
    for own, its in zip(one.sections, other.sections, strict=True):
        assert (own.column, own.mechanism, own.is_mean) == (its.column, its.mechanism, its.is_mean)
        assert own.values == its.values
        for name in ("values", "standard_errors"):
            mine, theirs = getattr(own.estimate, name), getattr(its.estimate, name)
            assert mine.tobytes() == theirs.tobytes()
        if one.corrupted:
            assert own.shifts.tobytes() == its.shifts.tobytes()


@pytest.mark.heavy
@pytest.mark.parametrize("text", CASES)
def test_partitions_that_are_files(client, tmp_path, text):
    """The same to the last bit, also if some partitions are held by one and some by another."""
    columns = CASES[text]
    paths = write_reports(tmp_path, text, ".parquet")
    expected = estimate_files(paths, corrupted(text))
    with dask.config.set({"dataframe.convert-string": False}):
        made = [
            frames.from_map(pandas.read_parquet, paths),
            frames.from_map(partial(pandas.read_parquet, dtype_backend="pyarrow"), paths),
        ]
    for frame in (*made, frames.read_parquet([str(path) for path in paths])):
        assert frame.npartitions == len(SIZES)
        found = estimate_frame(frame, text, columns, corrupted(text), client=client)
        assert_the_same(found, expected)
    assert estimate_frame(frame, parse(text), columns, client=client).sections[0].shifts is None


@pytest.mark.heavy
def test_bytes_that_dask_takes_for_text(client):
    frame = frames.from_map(_bytes, [0], meta=_bytes(0))
    with pytest.raises(DataError, match=r"dask takes for text: make the frame under dask\.config"):
        estimate_frame(frame, "olh(epsilon0=2.0, domain_size=3)", VALUE, client=client)


def _bytes(_):
    return pandas.DataFrame({TITLE: pandas.Series([b"\xff\xff\xff\xff\0"], dtype=object)})


@pytest.mark.heavy
@pytest.mark.parametrize("text", CASES)
def test_partitions_that_are_csv_files(client, tmp_path, text):
    paths = write_reports(tmp_path, text, ".csv")
    kind = int if parse(text).report_dtype.kind in "iu" else str
    frame = frames.from_map(_read_csv, paths, kind=kind)
    found = estimate_frame(frame, text, CASES[text], corrupted(text), client=client)
    assert_the_same(found, estimate_files(paths, corrupted(text)))


def _read_csv(path, kind):
    cells = path.read_text().splitlines()
    return pandas.DataFrame({cells[0]: list(map(kind, cells[1:]))})


@pytest.mark.heavy
def test_partitions_without_rows_and_other_columns(client):
    whole = pandas.DataFrame({"when": ["today"] * 50, TITLE: [0, 1, 2, 3, 3] * 10, 0: [0.5] * 50})
    frame = frames.from_map(whole.head, [0, 3, 0, 50, 0], meta=whole.head(0))
    aggregator = Aggregator(KRR)
    aggregator.add([*whole[TITLE].tolist(), 0, 1, 2])
    found = estimate_frame(frame, KRR, VALUE, client=client)
    assert found.n == 53
    [section] = found.sections
    assert section.estimate.values.tobytes() == aggregator.estimate().values.tobytes()
    # A partition without rows may have no type.
    frame = frames.from_map(_untyped, [0, 4], meta=whole[[TITLE]].head(0))
    assert estimate_frame(frame, KRR, VALUE, client=client).n == 4


def _untyped(size):
    return pandas.DataFrame({TITLE: [1] * size or pandas.Series([], dtype=object)})


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([0, 7], r"column 'report', rows 1 to 2: reports must be below 4, got 7 at position 1"),
        ([0, 300], r"column 'report', rows 1 to 2: .* must fit into uint8, got 300 at position 1"),
        ([-1, 0], r"column 'report', rows 1 to 2: .* must fit into uint8, got -1 at position 0"),
        ([1, None], "column 'report', row 2: the cell is empty"),
        ([1.0, 2.0], "column 'report', row 1: 1.0 is not a report .* numbers of type uint8"),
        (["1", "2"], "column 'report', row 1: '1' is not a report .* numbers of type uint8"),
        ([True, False], "column 'report' must hold numbers, text or bytes, got bool"),
        ([1, "a"], "column 'report' must hold numbers, text or bytes: .*'a'"),
        ([1, 2**70], "column 'report' must hold numbers, text or bytes: .*too large"),
        ([[1], [2]], "column 'report' must hold numbers, text or bytes, got list"),
        ([], "the frame has no rows"),
    ],
    ids=str,
)
def test_cells_that_do_not_fit(client, cells, message):
    with dask.config.set({"dataframe.convert-string": False}):
        frame = frames.from_map(_cells, [[1, 2], cells] if cells else [[], []], meta=_cells([1]))
    with pytest.raises(DataError, match=message) as caught:
        estimate_frame(frame, KRR, VALUE, client=client)
    assert "\n" not in str(caught.value)


def _cells(cells):
    kind = object if any(type(cell) in (str, list) or cell == 2**70 for cell in cells) else None
    return pandas.DataFrame({TITLE: pandas.Series(cells, dtype=kind)})


@pytest.mark.heavy
def test_columns_that_are_not_there(client):
    one = pandas.DataFrame({TITLE: [1, 2], "more": [0, 0]})
    for frame, message in (
        (frames.from_pandas(one[["more"]], npartitions=1), "one column 'report', got 0; .* 'more'"),
        (frames.from_pandas(pandas.DataFrame({0: [1], 1: [2]}), npartitions=1), "got 0; .* 0, 1"),
        (frames.from_map(_other, [0, 1], meta=one), "a partition of the frame lacks something"),
        (
            frames.from_map(_other, [0, 1], meta=one[[TITLE]]),
            "a partition of the frame must have one column 'report', got 0; its columns are 'b'",
        ),
    ):
        with pytest.raises(DataError, match=message):
            estimate_frame(frame, KRR, VALUE, client=client)


def _other(number):
    return pandas.DataFrame({"b" if number else TITLE: [1, 2]})


@pytest.mark.heavy
def test_how_many_are_corrupted(client):
    frame = frames.from_pandas(pandas.DataFrame({TITLE: [0, 1, 2, 3]}), npartitions=2)
    with pytest.raises(ValueError, match=r"corrupted must be .* got 9"):
        estimate_frame(frame, KRR, VALUE, 9, client=client)
    found = estimate_frame(frame, KRR, VALUE, client=client)
    with pytest.raises(ValueError, match=r"no sidecar .* ShuffleAccountant\('krr.*', 4\)"):
        _ = found.guarantee


@pytest.mark.heavy
def test_another_version_is_refused(client, monkeypatch):
    frame = frames.from_pandas(pandas.DataFrame({TITLE: [0, 1]}), npartitions=2)
    monkeypatch.setattr(cluster, "__version__", "0.0.0")
    with pytest.raises(ClusterError, match=r"a worker has shuffledp .*, not 0\.0\.0"):
        estimate_frame(frame, KRR, VALUE, client=client)


def test_what_is_no_frame_of_dask():
    memory = pandas.DataFrame({TITLE: [0, 1]})
    frame = frames.from_pandas(memory, npartitions=1)
    for given, shown in (
        (memory, "report 0"),
        (memory[TITLE], "0 0"),
        (frame[TITLE], "Dask Series"),
        (frame.index, ".*Index"),
        (dask.delayed(memory), "Delayed"),
        ("reports.csv", "'reports.csv'"),
        (None, "None"),
    ):
        message = rf"\Aframe must be a dask DataFrame \(an Aggregator .*\), got {shown}.{{,60}}\Z"
        with pytest.raises(TypeError, match=message):
            estimate_frame(given, KRR, VALUE, client=object())
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="frame must be a dask DataFrame"):
        estimate_frame(polars.DataFrame({TITLE: [0, 1]}), KRR, VALUE, client=object())


def test_no_client():
    frame = frames.from_pandas(pandas.DataFrame({TITLE: [0, 1]}), npartitions=1)
    with pytest.raises(TypeError, match=r"give its client, client=distributed\.Client"):
        estimate_frame(frame, KRR, VALUE)
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        estimate_frame(frame, KRR, VALUE, client="tcp://127.0.0.1:1")


def test_mechanism_and_columns_must_fit():
    for text, columns, message in (
        (KRR, [], "columns must be as many as krr.* reads, 1, got 0"),
        (KRR, [Column("a", ("x", "y"))], "labels of column 'a' must be as many as .* 4, got 2"),
        ("olh(epsilon0=2.0)", VALUE, "values of column 'value' must be listed"),
        ("krr(k=4)", VALUE, "epsilon0"),
    ):
        with pytest.raises(ValueError, match=message):
            estimate_frame(None, text, columns)
    with pytest.raises(TypeError, match=r"columns must be of type Column, .* got 'value'"):
        estimate_frame(None, KRR, ["value"])


def chunks(cells, dtype, rows=10):
    frame = pandas.DataFrame({TITLE: pandas.Series(cells, dtype=object)})
    return list(FrameReports(frame, len(frame), np.dtype(dtype)).chunks(rows))


def test_chunks_are_those_of_files():
    """Sums of squares depend on where they are cut, so pieces of a column do not matter."""
    import pyarrow as pa

    pieces = pa.chunked_array([[5], [15, 25, 35], [45]])
    frame = pandas.DataFrame({TITLE: pandas.Series(pandas.arrays.ArrowExtensionArray(pieces))})
    read = FrameReports(frame, 5, np.dtype("i8"))
    assert [part.tolist() for part in read.chunks(2)] == [[5, 15], [25, 35], [45]]


def test_bytes():
    dtype = [("a", "u1"), ("b", "<u2")]
    assert [part.tolist() for part in chunks([b"\1\2\0", b"\3\0\1"], dtype)] == [[(1, 2), (3, 256)]]
    assert [part.tolist() for part in chunks(["010200", "03000A"], dtype)] == [[(1, 2), (3, 2560)]]
    assert chunks([], dtype) == []
    wanted = "these are 3 bytes each of type .*, or text of 6 hexadecimal digits"
    for cell, problem in (
        (b"\1\2", r"b'\\x01\\x02' is not a report of this mechanism: " + wanted),
        (b"\1\2\3\4", r"b'.*x04' is not a report"),
        (b"", "b'' is not a report"),
        (None, "the cell is empty"),
    ):
        with pytest.raises(DataError, match=f"column 'report', row 2: {problem}"):
            chunks([b"abc", cell], dtype)
    for cell, problem in (
        ("0102", f"'0102' is not a report of this mechanism: {wanted}"),
        ("01 2 3", "'01 2 3' is not a report"),
        ("01020x", "'01020x' is not a report"),
        ("abc", "'abc' is not a report"),
        ("", "the cell is empty"),
        (None, "the cell is empty"),
    ):
        with pytest.raises(DataError, match=f"column 'report', row 12: {problem}"):
            chunks(["010203"] * 11 + [cell], dtype)
    with pytest.raises(DataError, match=f"row 1: 66051 is not a report .* {wanted}"):
        chunks([66051], dtype)


def test_numbers():
    assert chunks([1, 2], "u1")[0].tolist() == [1, 2]
    assert chunks([-1, 2], "i8")[0].tolist() == [-1, 2]
    for cells, dtype, problem in (
        ([1.5, 2.5], "i8", "row 1: 1.5 is not a report .* numbers of type int64"),
        ([1.5, float("nan")], "i8", "row 2: the cell is empty"),
        ([2.0], "u1", "row 1: 2.0 is not a report .* numbers of type uint8"),
        ([b"\1"], "u1", "is not a report"),
        ([None], "u1", "row 1: the cell is empty"),
    ):
        with pytest.raises(DataError, match=problem):
            chunks(cells, dtype)
