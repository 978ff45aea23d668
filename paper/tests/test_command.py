"""``python paper/reproduce.py``: names, folders, pictures, interruptions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reproduce import main
from reproduction import ITEMS, folder
from reproduction.gparv import GparvTable
from shuffledp import __version__
from shuffledp.basics.extras import MissingExtraError


def run(*arguments: str) -> Result:
    """Run the script; it ends with an answer or with one line, never with a traceback."""
    result = CliRunner().invoke(main, arguments, prog_name="reproduce.py")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture(autouse=True)
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw an empty picture, whether or not the package that draws is installed."""
    monkeypatch.setattr(folder, "draw", lambda chart, path: path.write_text("<svg/>"))


def test_text(tmp_path):
    result = run("gparv", "decompositions-limit", "decompositions", "-o", str(tmp_path))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == ["computed  3", "reused    0", f"report    {tmp_path}/report.html"]
    assert any(line.startswith("DOES NOT HOLD EVERYWHERE: The formulas in") for line in lines)
    assert lines[-1] == "NOT MEASURED: 11 claims need more items."
    assert max(map(len, lines)) <= 100
    again = run("gparv", "-o", str(tmp_path))
    assert again.stdout.splitlines()[:2] == ["computed  0", "reused    1"]


def test_json(tmp_path):
    result = run("gparv", "--points", "10", "--out", str(tmp_path), "--json")
    document = json.loads(result.stdout)
    assert document["settings"]["points"] == 10
    assert document["computed"] == ["gparv"]
    assert document["reused"] == []
    assert Path(document["report"]).exists()
    assert {claim["verdict"] for claim in document["claims"]} == {"not measured"}
    assert document["version"] == __version__


def test_several_names_in_the_order_of_the_paper(tmp_path):
    result = run("gparv", "laplace-cdf", "gparv", "-o", str(tmp_path), "--json")
    assert json.loads(result.stdout)["computed"] == ["laplace-cdf", "gparv"]


@pytest.mark.parametrize("name", ["krr", "Figure 2", "", "krr-low,gparv", "../gparv"])
def test_unknown_names_list_the_known_ones(tmp_path, name):
    result = run(name, "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert f"unknown name {name!r}" in result.stderr
    assert all(known in result.stderr for known in ("all", *ITEMS))
    assert not (tmp_path / "out").exists()


def test_unknown_among_known_names(tmp_path):
    assert run("gparv", "nothing", "-o", str(tmp_path)).exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("points", ["1", "0", "-3", "1001", "2.5", "many", ""])
def test_bad_points(tmp_path, points):
    result = run("gparv", "-o", str(tmp_path), "--points", points)
    assert result.exit_code == 2
    assert "--points" in result.stderr


def test_folder_is_required():
    result = run("gparv")
    assert result.exit_code == 2
    assert "--out" in result.stderr


@pytest.mark.parametrize("where", ["file", "file/below", "\0"], ids=["file", "below", "nul"])
def test_unwritable_folder_fails_before_any_work(tmp_path, monkeypatch, where):
    def fail(*_: object) -> None:
        raise AssertionError("no work is to be done")

    monkeypatch.setattr(GparvTable, "compute", fail)
    (tmp_path / "file").write_text("")
    result = run("gparv", "-o", str(tmp_path / where))
    assert result.exit_code == 2
    assert "cannot write to" in result.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    result = run("gparv", "-o", str(tmp_path))
    tmp_path.chmod(0o700)
    assert result.exit_code == 2
    assert "cannot write to" in result.stderr


def test_missing_plotting_says_what_to_install(tmp_path, monkeypatch):
    def draw(*_: object) -> None:
        raise MissingExtraError("matplotlib")

    monkeypatch.setattr(folder, "draw", draw)
    result = run("laplace-cdf", "-o", str(tmp_path))
    assert result.exit_code == 1
    assert 'pip install "shuffledp[plot]"' in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "laplace-cdf.csv",
        "laplace-cdf.json",
        "report.html",
    ]


def test_interruption_is_told_and_resumed(tmp_path, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(GparvTable, "compute", interrupt)
        arguments = ["laplace-cdf", "gparv", "-o", str(tmp_path)]
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 130
    assert result.stderr.startswith("interrupted: ")
    again = run("laplace-cdf", "gparv", "-o", str(tmp_path), "--json")
    document = json.loads(again.stdout)
    assert (document["reused"], document["computed"]) == (["laplace-cdf"], ["gparv"])


def test_disk_errors_end_in_one_line(tmp_path, monkeypatch):
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_whole", full)
    result = run("gparv", "-o", str(tmp_path))
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr


def test_help_lists_all_names():
    text = run("--help").stdout
    assert all(f" {name}" in text for name in ITEMS)
    assert max(map(len, text.splitlines())) <= 80
