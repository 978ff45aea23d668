"""Cells that are numbers or labels, and cells that are not."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answers import make_reports

from shuffledp import parse
from shuffledp.deployment.files import Column, DataError, Randomization, chunk
from shuffledp.deployment.files.attributes import Attribute
from shuffledp.deployment.files.columns import ColumnReader

KRR = "krr(k=10, epsilon0=2)"
LABELS = ("red", "green", "blue")


def read(cells, text=KRR, labels=None):
    reader = ColumnReader(Column("answer", labels), Attribute((parse(text),)))
    return reader.read(cells, 1, "file").tolist()


@pytest.mark.parametrize(
    "cells",
    [
        ["3", "+4", " 5", "6.0", "07", "8e0"],
        np.array([3, 4, 5, 6, 7, 8], dtype=np.uint8),
        np.array([3, 4, 5, 6, 7, 8], dtype=np.float32),
        [3, 4, 5.0, "6", 7, 8],
    ],
    ids=["text", "integers", "floats", "mixed"],
)
def test_whole_numbers(cells):
    assert read(cells) == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    "cells", [["0", "0.25", "1"], np.array([0, 0.25, 1]), [0, 0.25, "1e0"]], ids=str
)
def test_real_numbers(cells):
    assert read(cells, "gaussian(sigma=1)") == [0, 0.25, 1]


@pytest.mark.parametrize("text", ["krr(k=3, epsilon0=2)", "blh(epsilon0=1)"])
def test_labels(text):
    assert read(["blue", "red", "red", "green"], text, LABELS) == [2, 0, 0, 1]


def test_labels_that_are_numbers():
    assert read(np.array([30, 10]), "krr(k=3, epsilon0=2)", ("10", "20", "30")) == [2, 0]


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("", "the cell is empty"),
        (None, "the cell is empty"),
        ("10", "values must be integers from 0 to 9, got 10"),
        ("-1", "values must be integers from 0 to 9, got -1"),
        ("x", "'x' is not a whole number; if the column holds labels, list them with --values"),
        ("1_0", "'1_0' is not a whole number"),
        ("1.5", "'1.5' is not a whole number"),
        ("nan", "'nan' is not a whole number"),
        ("inf", "'inf' is not a whole number"),
        ("1e30", "'1e30' is not a whole number"),
        ("9" * 30, f"'{'9' * 30}' is outside the domain"),
        ("y" * 100, f"'{'y' * 34}... (67 more characters) is not"),
        (1.5, "1.5 is not a whole number"),
    ],
    ids=str,
)
def test_bad_whole_numbers(cell, problem):
    with pytest.raises(DataError) as caught:
        read(["3", "4", cell, "also bad"])
    assert str(caught.value).startswith(f"'file', row 3, column 'answer': {problem}")


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("x", "'x' is not a number"),
        ("1_0", "'1_0' is not a number"),
        ("nan", "'nan' is not a number"),
        ("\u0660.\u0665", "'\u0660.\u0665' is not a number"),
        ("1.5", "values must be real numbers from 0 to 1, got 1.5"),
        ("", "the cell is empty"),
    ],
)
def test_bad_real_numbers(cell, problem):
    with pytest.raises(DataError) as caught:
        read(["0.5", cell], "gaussian(sigma=1)")
    assert str(caught.value) == f"'file', row 2, column 'answer': {problem}"


def test_bad_cells_in_arrays():
    with pytest.raises(DataError, match=r"row 2, .*: values must be integers from 0 to 9, got 12"):
        read(np.array([3, 12, 13]))
    with pytest.raises(DataError, match=r"row 2, .*: 0.5 is not a whole number"):
        read(np.array([3, 0.5]))
    with pytest.raises(DataError, match=r"row 1, .*: nan is not a whole number"):
        read(np.array([np.nan, 0.5]))


def test_a_cell_that_is_no_label():
    with pytest.raises(DataError, match=r"row 2, .*: 'Red' is not one of 'red', 'green', 'blue'$"):
        read(["red", "Red"], "krr(k=3, epsilon0=2)", LABELS)
    many = tuple(map(str, range(10)))
    with pytest.raises(
        DataError, match=r"'10' is not one of '0', '1', '2', '3', '4' and 5 others$"
    ):
        read(["10"], KRR, many)


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("krr(k=4, epsilon0=2)", LABELS, "must be as many as krr(k=4, epsilon0=2.0) has values, 4"),
        ("krr(k=3, epsilon0=2)", ("a", "b", "a"), "must differ"),
        ("krr(k=3, epsilon0=2)", ("a", "b", ""), "none be empty"),
        ("discrete_laplace(epsilon0=2, bound=2)", LABELS, "must hold numbers for discrete_laplace"),
        ("laplace(epsilon0=2)", ("no", "yes"), "must hold numbers for laplace"),
        ("blh(epsilon0=2)", None, "must be listed with --values"),
        ("oue(epsilon0=2)", LABELS, "give its domain_size"),
    ],
)
def test_labels_that_do_not_fit(text, labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Randomization(parse(text), [Column("answer", labels)])


@pytest.mark.parametrize(
    "text",
    ["joint(krr(3, 1), krr(3, 1))", "joint(krr(3, 1), joint(krr(3, 1), krr(3, 1)), krr(3, 1))"],
)
def test_the_wrong_number_of_columns(text):
    with pytest.raises(ValueError, match=r"columns must be as many as .* reads, [24], got 3"):
        Randomization(parse(text), [Column("a"), Column("b"), Column("c")])


def test_parts_that_disagree_on_their_inputs():
    text = "parallel(0.5*joint(krr(3, 1), krr(3, 1)), 0.5*joint(krr(3, 1), joint(krr(3, 1))))"
    with pytest.raises(ValueError, match=r"their domains must agree"):
        parse(text)


def test_a_mechanism_that_cannot_run():
    with pytest.raises(TypeError, match=r"can run"):
        Randomization(parse("any_pure_ldp(epsilon0=1)"), [Column("a")])


def test_rows_are_counted_over_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ROWS", 4)
    columns = {"first": [1] * 10, "second": [1] * 9 + [77]}
    for suffix in (".csv", ".parquet"):
        with pytest.raises(DataError, match=r"row 10, column 'second': values .* got 77$"):
            make_reports(tmp_path / f"reports{suffix}", f"joint({KRR}, {KRR})", columns)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["red", "blue"]),
        pa.array(["red", "blue"], pa.large_string()),
        pa.array(["red", "blue"]).dictionary_encode(),
    ],
    ids=lambda cells: str(cells.type),
)
def test_text_in_parquet(tmp_path, cells):
    pq.write_table(pa.table({"answer": cells}), tmp_path / "answers.parquet")
    randomization = Randomization(parse("krr(k=3, epsilon0=2)"), [Column("answer", LABELS)])
    source, out = tmp_path / "answers.parquet", tmp_path / "reports.csv"
    assert randomization.run(source, out, target_delta=1e-6, assumptions=()).n == 2


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pa.array([1, None, 3]), "row 2, column 'answer': the cell is empty"),
        (pa.array(["1", None]), "row 2, column 'answer': the cell is empty"),
        (pa.array([1.5]), "row 1, column 'answer': 1.5 is not a whole number"),
        (pa.array([True]), "column 'answer' must hold numbers or text, got bool"),
        (pa.array([b"1"]), "column 'answer' must hold numbers or text, got binary"),
        (pa.array([[1]]), "column 'answer' must hold numbers or text, got list"),
        (pa.array([], pa.int64()), "has no rows"),
    ],
    ids=str,
)
def test_bad_columns_in_parquet(tmp_path, cells, message):
    source, out = tmp_path / "answers.parquet", tmp_path / "reports.parquet"
    pq.write_table(pa.table({"answer": cells}), source)
    with pytest.raises(DataError, match=re.escape(message)):
        Randomization(parse(KRR), [Column("answer")]).run(
            source, out, target_delta=1e-6, assumptions=()
        )
    assert [path.name for path in tmp_path.iterdir()] == ["answers.parquet"]


def test_one_column_twice(tmp_path):
    for suffix in (".csv", ".parquet"):
        source, out = tmp_path / f"a{suffix}", tmp_path / f"r{suffix}"
        if suffix == ".csv":
            source.write_text("answer\n1\n")
        else:
            pq.write_table(pa.table({"answer": [1]}), source)
        randomization = Randomization(parse(f"joint({KRR}, {KRR})"), [Column("answer")] * 2)
        assert randomization.run(source, out, target_delta=1e-6, assumptions=()).n == 1
