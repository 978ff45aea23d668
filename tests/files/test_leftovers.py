"""What killed runs left behind is removed, and nothing else."""

from __future__ import annotations

import os
import sys

import pytest

from shuffledp.deployment.files import DataError
from shuffledp.deployment.files.draft import remove_leftovers

MARKED, OLD = ".reports.csv.shuffledp-ab_d1234", ".reports.csv.ab_d1234"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "reports.csv"


def put(out, folder, *files):
    place = out.with_name(folder)
    place.mkdir()
    for file in files:
        (place / file).write_text("content")
    return place


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        (MARKED, ()),
        (MARKED, ("reports.csv",)),
        (MARKED, ("reports.csv.json",)),
        (MARKED, ("reports.csv", "reports.csv.json", "bucketx1y2z3_4")),
        (OLD, ("bucket0",)),
        (OLD, ("bucket3", "bucket12", "reports.csv", "reports.csv.json")),
    ],
)
def test_leftovers_are_removed(out, folder, files):
    put(out, folder, *files)
    put(out, folder.replace("1234", "1235"), *files)
    remove_leftovers(out)
    assert os.listdir(out.parent) == []


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        (MARKED, ("reports.csv", "notes.txt")),
        (MARKED.replace("reports", "others"), ("reports.csv",)),
        (MARKED + "5", ("reports.csv",)),
        (MARKED.upper(), ("reports.csv",)),
        (MARKED[1:], ("reports.csv",)),
        (MARKED.replace("reports.csv", "reportsxcsv"), ("reports.csv",)),
        (OLD, ()),
        (OLD, ("reports.csv", "reports.csv.json")),
        (OLD, ("bucket0", "notes.txt")),
        (".reports.csv.back.up1", ("bucket0",)),
    ],
)
def test_foreign_folders_stay(out, folder, files):
    place = put(out, folder, *files)
    remove_leftovers(out)
    assert sorted(os.listdir(place)) == sorted(files)


def test_foreign_things_with_the_right_name_stay(out):
    out.with_name(MARKED).write_text("mine")
    elsewhere = put(out, "elsewhere", "reports.csv")
    out.with_name(MARKED.replace("1234", "link")).symlink_to(elsewhere)
    nested = put(out, MARKED.replace("1234", "deep"))
    (nested / "reports.csv").mkdir()
    linked = put(out, MARKED.replace("1234", "soft"))
    (linked / "reports.csv").symlink_to(elsewhere / "reports.csv")
    before = sorted(out.parent.rglob("*"))
    remove_leftovers(out)
    assert sorted(out.parent.rglob("*")) == before


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden to this user"
)
def test_leftovers_that_cannot_be_removed(out):
    place = put(out, MARKED, "reports.csv")
    place.chmod(0o500)
    try:
        with pytest.raises(DataError, match=r"cannot remove .*: Permission denied"):
            remove_leftovers(out)
    finally:
        place.chmod(0o700)
