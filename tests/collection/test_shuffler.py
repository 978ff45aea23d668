"""What goes into the shuffler, and that only reports in random order come out."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shuffledp import KRR, OUE, Aggregator, Laplace, joint, shuffle

NUMBERS = list(range(200))

#: The same reports as they arrive from elsewhere.
CONTAINERS = {
    "list": NUMBERS,
    "tuple": tuple(NUMBERS),
    "range": range(200),
    "bytes array": bytearray(NUMBERS),
    "numpy": np.array(NUMBERS, dtype=np.uint8),
    "every second": np.repeat(NUMBERS, 2)[::2],
    "backwards": np.array(NUMBERS)[::-1],
    "read-only": np.frombuffer(bytes(NUMBERS), dtype=np.uint8),
    "list of scalars": list(np.array(NUMBERS, dtype=np.uint8)),
    "pandas": pd.Series(NUMBERS, dtype="uint8"),
    "pandas with an index": pd.Series(NUMBERS, index=[f"user {i}" for i in NUMBERS], name="answer"),
    "pandas nullable": pd.Series(NUMBERS, dtype="Int64"),
    "pandas index": pd.Index(NUMBERS),
    "pandas categories": pd.Series(NUMBERS, dtype="category"),
    "polars": pl.Series("answer", NUMBERS, dtype=pl.UInt8),
    "pyarrow": pa.array(NUMBERS, type=pa.uint8()),
    "pyarrow in chunks": pa.chunked_array([NUMBERS[:50], NUMBERS[50:]]),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_what_comes_out_is_a_bare_array_in_another_order(name):
    reports = CONTAINERS[name]
    mixed = shuffle(reports)
    assert type(mixed) is np.ndarray
    assert mixed.dtype == np.asarray(reports).dtype
    assert mixed.base is None
    assert mixed.flags.owndata
    assert mixed.flags.c_contiguous
    assert mixed.flags.writeable
    assert sorted(mixed.tolist()) == NUMBERS
    assert mixed.tolist() not in (NUMBERS, NUMBERS[::-1])
    assert not np.shares_memory(mixed, np.asarray(reports))


@pytest.mark.parametrize("name", ["list", "pandas with an index", "polars", "pyarrow"])
def test_the_container_does_not_matter_to_the_order(name):
    orders = [
        shuffle(CONTAINERS[own], np.random.default_rng(3)).tolist() for own in (name, "numpy")
    ]
    assert orders[0] == orders[1]


@pytest.mark.parametrize("column", [pd.Series, pl.Series], ids=["pandas", "polars"])
def test_every_order_of_a_column_is_as_likely(column):
    rng, runs, reports = np.random.default_rng(1), 2400, column([0, 1, 2, 3])
    counts = Counter(tuple(shuffle(reports, rng).tolist()) for _ in range(runs))
    expected = runs / 24
    statistic = sum((counts[order] - expected) ** 2 for order in permutations(range(4))) / expected
    assert statistic < 49.7  # the 0.999 quantile for 23 degrees of freedom


def test_secure_bits_are_the_default():
    assert shuffle(NUMBERS).tolist() != shuffle(NUMBERS).tolist()


def test_records_keep_their_type():
    randomizer = joint(KRR(k=3, epsilon0=1.0), OUE(epsilon0=1.0, domain_size=9))
    reports = randomizer.randomize((np.arange(60) % 3, np.arange(60) % 9))
    for container in (reports, list(reports), reports.view(np.recarray)):
        mixed = shuffle(container)
        assert type(mixed) is np.ndarray
        assert mixed.dtype == randomizer.report_dtype
        assert Counter(mixed.tolist()) == Counter(reports.tolist())
    Aggregator(randomizer).add(shuffle(reports))


def test_fields_that_were_not_selected_are_left_behind():
    kind = np.dtype([("user", "<u8"), ("report", "u1"), ("time", "<f8")])
    table = np.zeros(100, dtype=kind)
    table["user"], table["report"] = np.arange(100) + 2**40, np.arange(100)
    selected = table[["report"]]
    assert selected.dtype.itemsize == kind.itemsize  # numpy keeps the other fields in between
    mixed = shuffle(selected)
    assert mixed.dtype.itemsize == 1
    assert sorted(mixed.tobytes()) == list(range(100))


def test_gaps_in_nested_records_are_left_behind():
    inner = np.dtype([("flag", "u1"), ("number", "<u8")], align=True)
    reports = np.zeros(10, dtype=np.dtype([("part", inner), ("last", "u1")], align=True))
    reports["last"] = np.arange(10)
    mixed = shuffle(reports)
    assert mixed.dtype.itemsize == 10
    assert sorted(mixed["last"].tolist()) == list(range(10))


def test_no_reports():
    assert shuffle([]).size == 0
    assert shuffle(np.empty(0, dtype=np.uint8)).dtype == np.uint8


@pytest.mark.parametrize(
    ("reports", "error", "message"),
    [
        (
            pd.DataFrame({"a": [1, 2]}),
            ValueError,
            r"one-dimensional .*got shape \(2, 1\)",
        ),
        (
            pl.DataFrame({"a": [1, 2]}),
            ValueError,
            r"one-dimensional .*got shape \(2, 1\)",
        ),
        (
            pa.table({"a": [1, 2]}),
            ValueError,
            r"one-dimensional .*got shape \(2, 1\)",
        ),
        (
            np.zeros((2, 2)),
            ValueError,
            r"one-dimensional .*got shape \(2, 2\)",
        ),
        ({1, 2}, ValueError, "one-dimensional .*got set"),
        ({0: 1}, ValueError, "one-dimensional .*got dict"),
        (iter([1, 2]), ValueError, "one-dimensional .*got list_iterator"),
        (
            pl.LazyFrame({"a": [1]}),
            ValueError,
            "one-dimensional .*got LazyFrame",
        ),
        (None, ValueError, "one-dimensional .*got NoneType"),
        ("abc", ValueError, "one-dimensional .*got str"),
        (7, ValueError, "one-dimensional .*got int"),
        ([[1], [1, 2]], TypeError, "got rows of several lengths"),
        (["a", "b"], TypeError, "numbers, or what randomize returns, got entries of type"),
        ([b"a\0", b"b"], TypeError, "got entries of type"),
        ([1, None], TypeError, "got entries of type object"),
        ([1, "a"], TypeError, "got entries of type"),
        ([2**64], TypeError, "got entries of type object"),
        (np.array([1, 2], dtype=object), TypeError, "got entries of type object"),
        (np.zeros(2, dtype=[("a", "O")]), TypeError, "got entries of type"),
        (np.array(["2020-01-01"], dtype="M8[s]"), TypeError, "got entries of type datetime64"),
        (pd.Series(["a", "b"]), TypeError, "got entries of type object"),
        (pa.array([b"ab"], type=pa.binary(2)), TypeError, "got entries of type object"),
        (np.ma.masked_array([1, 2], [False, True]), TypeError, "got a masked array"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_refused(reports, error, message):
    with pytest.raises(error, match=f"^reports must be .*{message}"):
        shuffle(reports)


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 2, 2],
        pd.Series([0, 1, 2, 2], index=[3, 1, 2, 0]),
        pd.Series([0, 1, 2, 2], dtype="Int64"),
        pl.Series([0, 1, 2, 2]),
        pa.array([0, 1, 2, 2]),
    ],
    ids=lambda value: type(value).__module__,
)
def test_randomize_takes_columns_by_position_and_returns_a_bare_array(values):
    reports = KRR(k=3, epsilon0=300.0).randomize(values)
    assert type(reports) is np.ndarray
    assert reports.tolist() == [0, 1, 2, 2]
    pairs = joint(KRR(k=3, epsilon0=300.0), KRR(k=3, epsilon0=300.0)).randomize([values, values])
    assert type(pairs) is np.ndarray
    assert pairs.tolist() == [(0, 0), (1, 1), (2, 2), (2, 2)]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([0, None], dtype="Int64"),
        pl.Series([0, None]),
        pa.array([0, None]),
        np.ma.masked_array([0, 1], [False, True]),
    ],
    ids=lambda value: type(value).__module__,
)
@pytest.mark.parametrize("randomizer", [KRR(k=3, epsilon0=1.0), Laplace(1.0, "interval")], ids=str)
def test_randomize_refuses_columns_with_gaps(randomizer, values):
    with pytest.raises((TypeError, ValueError), match=r"^values must be (integers|real numbers)"):
        randomizer.randomize(values)


def test_randomize_refuses_tables_of_names():
    frame = pd.DataFrame({"first": [0, 1], "second": [1, 0]})
    randomizer = joint(KRR(k=3, epsilon0=1.0), KRR(k=3, epsilon0=1.0))
    with pytest.raises(TypeError, match="an array with 2 columns, got DataFrame"):
        randomizer.randomize(frame)
    assert randomizer.randomize(frame.to_numpy()).shape == (2,)


@pytest.mark.heavy
def test_the_packages_are_not_imported():
    code = (
        "import sys\n"
        "from shuffledp import KRR, shuffle\n"
        "shuffle(list(KRR(k=3, epsilon0=1.0).randomize((0, 1, 2))))\n"
        "print(*{'pandas', 'polars', 'pyarrow'} & set(sys.modules))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout == "\n"
