"""Runs: what is finished stays, what is damaged is computed again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reproduction.folder as folder_module
from reproduction import ITEMS, Settings, reproduce
from reproduction.folder import Folder
from reproduction.hierarchy import Hierarchy
from shuffledp.basics.extras import MissingExtraError

NAMES = ("hierarchy", "hamming-low", "gparv")
QUICK = Settings(points=2)

pytestmark = pytest.mark.usefixtures("drawn")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_files_of_a_run(tmp_path, drawn):
    target = tmp_path / "new" / "folder"
    outcome = reproduce(NAMES, target, QUICK)
    assert outcome.computed == NAMES
    assert outcome.reused == ()
    assert outcome.plotting_missing is None
    assert outcome.report == target / "report.html"
    assert sorted(files(target)) == sorted(
        [
            *("hierarchy.csv", "hierarchy.json", "hierarchy.svg"),
            *("hamming-low.csv", "hamming-low.json", "hamming-low.svg"),
            *("gparv.csv", "gparv.json"),
            "report.html",
        ]
    )
    assert len(drawn) == 2
    record = json.loads((target / "hamming-low.json").read_text())
    assert record["identity"]["points"] == 2
    assert record["identity"]["delta"] == 1e-6
    assert record["version"]


def test_finished_items_are_not_computed_again(tmp_path):
    reproduce(NAMES[:2], tmp_path, QUICK)
    before = files(tmp_path)
    outcome = reproduce(NAMES, tmp_path, QUICK)
    assert outcome.computed == ("gparv",)
    assert outcome.reused == NAMES[:2]
    after = files(tmp_path)
    assert all(after[name] == before[name] for name in before if name != "report.html")


def test_other_settings_are_computed_again(tmp_path):
    reproduce(NAMES, tmp_path, QUICK)
    outcome = reproduce(NAMES, tmp_path, Settings(points=3))
    assert outcome.computed == ("hierarchy", "hamming-low")
    assert outcome.reused == ("gparv",)  # it does not depend on them
    page = outcome.report.read_text()
    assert "3 numbers of users" in page
    assert "of 2 numbers of users" not in page


def test_report_shows_only_items_of_the_same_settings(tmp_path):
    reproduce(NAMES, tmp_path, QUICK)
    page = reproduce(("gparv",), tmp_path, Settings(points=3)).report.read_text()
    assert 'id="gparv"' in page
    assert 'id="hamming-low"' not in page
    assert 'id="hamming-low"' in reproduce(("gparv",), tmp_path, QUICK).report.read_text()


def test_other_versions_are_computed_again(tmp_path, monkeypatch):
    reproduce(NAMES[2:], tmp_path, QUICK)
    monkeypatch.setattr(folder_module, "__version__", "0.0.0")
    assert reproduce(NAMES[2:], tmp_path, QUICK).computed == NAMES[2:]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("gparv.csv", lambda content: content[:-20]),
        ("gparv.csv", lambda content: content.replace(b"BLH", b"XYZ")),
        ("gparv.csv", lambda content: b"\xff\xfe"),
        ("gparv.csv", None),
        ("gparv.json", lambda content: content[: len(content) // 2]),
        ("gparv.json", lambda content: b""),
        ("gparv.json", lambda content: b"[]"),
        ("gparv.json", lambda content: b'{"identity": 3}'),
        ("gparv.json", None),
    ],
    ids=["cut", "changed", "binary", "no csv", "half", "empty", "list", "other", "no record"],
)
def test_damaged_files_do_not_count(tmp_path, name, damage):
    reproduce(NAMES[2:], tmp_path, QUICK)
    good = files(tmp_path)
    path = tmp_path / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(good[name]))
    assert Folder(tmp_path).load(ITEMS["gparv"], QUICK) is None
    assert reproduce(NAMES[2:], tmp_path, QUICK).computed == NAMES[2:]
    assert files(tmp_path) == good


def test_damaged_pictures_are_drawn_again(tmp_path):
    reproduce(("hierarchy",), tmp_path, QUICK)
    good = files(tmp_path)
    (tmp_path / "hierarchy.svg").write_bytes(b"half")
    assert reproduce(("hierarchy",), tmp_path, QUICK).reused == ("hierarchy",)
    assert files(tmp_path) == good


def test_interrupted_runs_continue(tmp_path, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Hierarchy, "compute", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reproduce(("gparv", "hierarchy"), tmp_path, QUICK)
    assert sorted(files(tmp_path)) == ["gparv.csv", "gparv.json"]
    outcome = reproduce(("gparv", "hierarchy"), tmp_path, QUICK)
    assert (outcome.reused, outcome.computed) == (("gparv",), ("hierarchy",))


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("which", [1, 2], ids=["numbers", "record"])
def test_interrupted_while_writing(tmp_path, monkeypatch, which):
    """Old files of other settings must not be taken for new ones, whenever the writing ends."""
    reproduce(("hierarchy",), tmp_path, QUICK)
    calls = []
    write = folder_module.write_whole

    def failing(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) == which:
            raise KeyboardInterrupt
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "write_whole", failing)
        with pytest.raises(KeyboardInterrupt):
            reproduce(("hierarchy",), tmp_path, Settings(points=3))
    folder = Folder(tmp_path)
    assert folder.load(ITEMS["hierarchy"], QUICK) is None
    assert folder.load(ITEMS["hierarchy"], Settings(points=3)) is None
    assert reproduce(("hierarchy",), tmp_path, QUICK).computed == ("hierarchy",)


def test_progress_counts_all_items(tmp_path):
    counts: list[tuple[int, int]] = []
    reproduce(("gparv", "hierarchy"), tmp_path, QUICK, lambda *count: counts.append(count))
    total = 1 + ITEMS["hierarchy"].size(QUICK)
    assert counts[-1] == (total, total)
    assert counts == sorted(counts)
    assert {of for _, of in counts} == {total}


def test_unknown_names_are_refused_first(tmp_path):
    with pytest.raises(ValueError, match=r"hierarchy, krr-low, .*got 'all'"):
        reproduce(("gparv", "all"), tmp_path / "new", QUICK)
    assert not (tmp_path / "new").exists()


def test_folder_is_checked_before_any_work(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise AssertionError("no work is to be done")

    monkeypatch.setattr(Hierarchy, "compute", fail)
    file = tmp_path / "file"
    file.write_text("")
    for target in (file, file / "below"):
        with pytest.raises(OSError, match=r"exists|directory"):
            reproduce(("hierarchy",), target, QUICK)


def test_without_plotting(tmp_path, monkeypatch):
    def draw(*_: object) -> None:
        raise MissingExtraError("matplotlib")

    monkeypatch.setattr(folder_module, "draw", draw)
    outcome = reproduce(NAMES, tmp_path, QUICK)
    assert "shuffledp[plot]" in outcome.plotting_missing
    assert not list(tmp_path.glob("*.svg"))
    assert len(list(tmp_path.glob("*.csv"))) == 3
    page = outcome.report.read_text()
    assert "shuffledp[plot]" in page
    assert "<img" not in page
    assert "standard clone" in page
