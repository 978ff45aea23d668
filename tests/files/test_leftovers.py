"""What killed runs left behind is removed, and nothing else."""

from __future__ import annotations

import os
import sys

import pytest

from shuffledp.deployment.files import DataError
from shuffledp.deployment.files.draft import remove_leftovers

FOLDER = ".reports.csv.shuffledp-ab_d1234"


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
        (FOLDER, ()),
        (FOLDER, ("reports.csv",)),
        (FOLDER, ("reports.csv.json",)),
        (FOLDER, ("reports.csv", "reports.csv.json", "bucketx1y2z3_4")),
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
        (FOLDER, ("reports.csv", "notes.txt")),
        (FOLDER.replace("reports", "others"), ("reports.csv",)),
        (FOLDER + "5", ("reports.csv",)),
        (FOLDER.upper(), ("reports.csv",)),
        (FOLDER[1:], ("reports.csv",)),
        (FOLDER.replace("reports.csv", "reportsxcsv"), ("reports.csv",)),
        (FOLDER.replace("shuffledp-", ""), ("bucket0",)),
        (FOLDER, ("bucket0", "notes.txt")),
        (".reports.csv.back.up1", ("bucket0",)),
    ],
)
def test_foreign_folders_stay(out, folder, files):
    place = put(out, folder, *files)
    remove_leftovers(out)
    assert sorted(os.listdir(place)) == sorted(files)


def test_foreign_things_with_the_right_name_stay(out):
    out.with_name(FOLDER).write_text("mine")
    elsewhere = put(out, "elsewhere", "reports.csv")
    out.with_name(FOLDER.replace("1234", "link")).symlink_to(elsewhere)
    nested = put(out, FOLDER.replace("1234", "deep"))
    (nested / "reports.csv").mkdir()
    linked = put(out, FOLDER.replace("1234", "soft"))
    (linked / "reports.csv").symlink_to(elsewhere / "reports.csv")
    before = sorted(out.parent.rglob("*"))
    remove_leftovers(out)
    assert sorted(out.parent.rglob("*")) == before


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden to this user"
)
def test_leftovers_that_cannot_be_removed(out):
    place = put(out, FOLDER, "reports.csv")
    place.chmod(0o500)
    try:
        with pytest.raises(DataError, match=r"cannot remove .*: Permission denied"):
            remove_leftovers(out)
    finally:
        place.chmod(0o700)
