"""Files appear complete or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from shuffledp import ShuffleAccountant, parse
from shuffledp.basics.errors import NoAnswerError
from shuffledp.deployment.files import (
    Column,
    DataError,
    Randomization,
    estimate_files,
    sidecar,
    sidecar_path,
)
from shuffledp.deployment.files.buckets import Buckets
from shuffledp.deployment.files.draft import draft
from shuffledp.deployment.files.report_files import CsvReports, ParquetReports

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("answer\n0\n1\n2\n")
    return path


def run(source, out, **options):
    mechanism = parse("krr(k=3, epsilon0=2)")
    return Randomization(mechanism, [Column("answer")]).run(
        source, out, target_delta=1e-6, assumptions=(), **options
    )


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fail(error):
    def raise_it(*arguments, **options):
        raise error

    return raise_it


@pytest.mark.parametrize("error", [KeyboardInterrupt(), FULL, MemoryError()], ids=repr)
@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (Buckets, "add"),
        (Buckets, "empty"),
        (ShuffleAccountant, "epsilon_report"),
        (CsvReports, "_text"),
        (ParquetReports, "_to_arrow"),
        (Path, "write_text"),
        (os, "fsync"),
        (Path, "replace"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_failure_leaves_nothing(source, monkeypatch, owner, method, error):
    suffix = ".parquet" if owner is ParquetReports else ".csv"
    out = source.with_name(f"reports{suffix}")
    monkeypatch.setattr(owner, method, fail(error))
    expected = DataError if error is FULL else type(error)
    with pytest.raises(expected) as caught:
        run(source, out)
    if error is FULL:
        assert str(caught.value) == f"cannot write {str(out)!r}: No space left on device"
    assert names(source.parent) == ["answers.csv"]


def test_a_failure_between_the_two_files_leaves_none(source, monkeypatch):
    rename = Path.replace

    def rename_reports_only(path, target):
        if path.suffix == ".json":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", rename_reports_only)
    with pytest.raises(KeyboardInterrupt):
        run(source, source.with_name("reports.csv"))
    assert names(source.parent) == ["answers.csv"]


def test_a_failure_keeps_what_was_there(source, monkeypatch):
    out = source.with_name("reports.csv")
    run(source, out)
    before = out.read_bytes(), sidecar_path(out).read_bytes()
    monkeypatch.setattr(CsvReports, "_text", fail(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run(source, out, force=True)
    assert (out.read_bytes(), sidecar_path(out).read_bytes()) == before
    assert names(source.parent) == ["answers.csv", "reports.csv", "reports.csv.json"]


def test_a_failure_between_the_two_files_leaves_no_sidecar_of_others(source, monkeypatch):
    out = source.with_name("reports.csv")
    run(source, out)
    rename = Path.replace

    def rename_reports_only(path, target):
        if path.suffix == ".json":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", rename_reports_only)
    with pytest.raises(KeyboardInterrupt):
        run(source, out, force=True)
    assert names(source.parent) == ["answers.csv"]


@pytest.mark.parametrize("existing", ["reports.csv", "reports.csv.json"])
def test_files_that_appear_during_the_work_are_not_replaced(source, monkeypatch, existing):
    digest = sidecar.digest

    def create(path):
        source.with_name(existing).write_text("mine")
        return digest(path)

    monkeypatch.setattr(sidecar, "digest", create)
    with pytest.raises(DataError, match=f"{existing}' exists already"):
        run(source, source.with_name("reports.csv"))
    assert source.with_name(existing).read_text() == "mine"
    assert names(source.parent) == ["answers.csv", existing]


@pytest.mark.parametrize("is_refused", [False, True])
def test_leftovers_of_killed_runs_are_removed(source, is_refused):
    out = source.with_name("reports.csv")
    folder = source.with_name(".reports.csv.shuffledp-abcdefgh")
    folder.mkdir()
    (folder / "bucket0").write_bytes(b"012")
    if is_refused:
        out.write_text("mine")
        with pytest.raises(DataError, match="exists already"):
            run(source, out)
        assert names(source.parent) == ["answers.csv", "reports.csv"]
    else:
        run(source, out)
        assert names(source.parent) == ["answers.csv", "reports.csv", "reports.csv.json"]


@pytest.mark.parametrize("existing", ["reports.csv", "reports.csv.json"])
def test_existing_files_are_not_replaced(source, existing):
    source.with_name(existing).write_text("mine")
    with pytest.raises(DataError, match=f"{existing}' exists already"):
        run(source, source.with_name("reports.csv"))
    assert source.with_name(existing).read_text() == "mine"
    assert names(source.parent) == ["answers.csv", existing]


def test_force_replaces_both(source):
    out = source.with_name("reports.csv")
    for path in (out, sidecar_path(out)):
        path.write_text("old")
    run(source, out, force=True)
    assert estimate_files([out]).n == 3


def test_the_input_is_never_replaced(source):
    before = source.read_bytes()
    with pytest.raises(DataError, match="it is the file that is read"):
        run(source, source, force=True)
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/such/reports.csv", "No such file or directory"),
        ("answers.csv/reports.csv", "Not a directory"),
        ("folder.csv", "Is a directory"),
        ("reports.txt", "must end in .csv or .parquet"),
        ("reports", "must end in .csv or .parquet"),
    ],
)
def test_places_that_cannot_be_written_fail_before_the_work(source, monkeypatch, out, message):
    source.with_name("folder.csv").mkdir()
    monkeypatch.setattr(Buckets, "add", fail(AssertionError("worked")))
    with pytest.raises(DataError, match=message):
        run(source, source.parent / out)
    assert names(source.parent) == ["answers.csv", "folder.csv"]


def test_without_a_guarantee_nothing_is_written(source):
    noise = Randomization(parse("gaussian(sigma=5)"), [Column("answer")])
    source.write_text("answer\n0\n1\n")
    with pytest.raises(NoAnswerError, match="no finite epsilon can be certified at delta = 0"):
        noise.run(source, source.with_name("reports.csv"), target_delta=0.0, assumptions=())
    assert names(source.parent) == ["answers.csv"]


def test_only_the_owner_sees_what_is_temporary(source, monkeypatch):
    modes = []

    def look(self, reports):
        [folder] = [path for path in source.parent.iterdir() if path.is_dir()]
        modes.append(folder.stat().st_mode & 0o777)
        return "0\n" * reports.size

    monkeypatch.setattr(CsvReports, "_text", look)
    run(source, source.with_name("reports.csv"))
    assert modes == [0o700]


def test_an_interrupt_while_the_folder_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp

    def interrupted(**place: object) -> str:
        make(**place)  # type: ignore[call-overload]
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(KeyboardInterrupt), draft(tmp_path / "out.csv", force=False):
        pytest.fail("there is no folder")
    assert list(tmp_path.iterdir()) == []
