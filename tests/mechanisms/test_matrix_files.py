"""Matrices in files."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.mechanisms import MatrixRandomizer, parse

BINARY = [[0.75, 0.25], [0.25, 0.75]]


def test_reads_npy(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.array(BINARY))
    made = MatrixRandomizer.from_file(str(path))
    assert made == MatrixRandomizer(BINARY)
    assert str(made) == f"matrix({str(path)!r})"
    assert parse(str(made)) == made


@pytest.mark.parametrize(
    "text",
    [
        "0.75,0.25\n0.25,0.75\n",
        "0.75, 0.25\n0.25, 0.75",
        "0.75 0.25\n0.25 0.75\n",
        "  0.75\t0.25 \n\n0.25\t0.75\n\n",
        "# a comment\n0.75,0.25\n0.25,0.75  # another\n",
        "7.5e-1,.25\r\n2.5e-1,75e-2\r\n",
    ],
)
@pytest.mark.parametrize("name", ["m.csv", "m.txt", "matrix"])
def test_reads_text(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode())
    made = MatrixRandomizer.from_file(str(path))
    assert made == MatrixRandomizer(BINARY)
    assert parse(str(made)) == made


def test_reads_a_single_row_and_a_single_column(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("0.25,0.25,0.5\n")
    assert MatrixRandomizer.from_file(str(path)).matrix.shape == (1, 3)
    path.write_text("1\n1\n")
    assert MatrixRandomizer.from_file(str(path)).matrix.shape == (2, 1)


def test_reads_names_with_quotes_and_spaces(tmp_path):
    path = tmp_path / 'it\'s "mine" \\ here.csv'
    path.write_text("0.75,0.25\n0.25,0.75\n")
    made = MatrixRandomizer.from_file(str(path))
    assert parse(str(made)) == made


@pytest.mark.parametrize("name", ["missing.csv", "missing.npy"])
def test_missing_file(tmp_path, name):
    path = str(tmp_path / name)
    with pytest.raises(ValueError, match="path") as error:
        MatrixRandomizer.from_file(path)
    assert name in str(error.value)


def test_folder_is_not_a_file(tmp_path):
    with pytest.raises(ValueError, match="path"):
        MatrixRandomizer.from_file(str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        b"0.5;0.5\n",
        b"one,two\n",
        b"0.5,0.5\n1\n",
        b"\xff\xfe\x00\x01",
        b"0.5,0.5 0x1\n",
    ],
)
def test_bad_text_files(tmp_path, content):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="path") as error:
        MatrixRandomizer.from_file(str(path))
    assert "bad.csv" in str(error.value)


@pytest.mark.filterwarnings("ignore:loadtxt")
def test_empty_text_file(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("\n")
    with pytest.raises(ValueError, match="matrix"):
        MatrixRandomizer.from_file(str(path))


def test_missing_fields_are_not_skipped(tmp_path):
    path = tmp_path / "gap.csv"
    path.write_text("0.75,,0.25\n0.25,,0.75\n")
    with pytest.raises(ValueError, match="path"):
        MatrixRandomizer.from_file(str(path))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no numbers",
        b"\x93NUMPY\x01\x00v\x00{'descr'",
        b"PK\x03\x04 looks like an archive",
    ],
    ids=["empty", "text", "cut off", "archive"],
)
def test_bad_npy_files(tmp_path, content):
    path = tmp_path / "bad.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="path") as error:
        MatrixRandomizer.from_file(str(path))
    assert "bad.npy" in str(error.value)


def test_pickled_objects_are_refused(tmp_path):
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="path"):
        MatrixRandomizer.from_file(str(path))


def test_archives_hold_no_single_matrix(tmp_path):
    path = tmp_path / "several.npy"
    with path.open("wb") as file:
        np.savez(file, a=np.eye(2))
    with pytest.raises((TypeError, ValueError), match=r"path|matrix"):
        MatrixRandomizer.from_file(str(path))


def test_bad_probabilities_in_a_file(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("0.5,0.6\n0.5,0.5\n")
    with pytest.raises(ValueError, match="row 0"):
        MatrixRandomizer.from_file(str(path))
