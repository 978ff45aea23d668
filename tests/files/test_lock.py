"""One run at a time writes a file."""

from __future__ import annotations

import os
import threading

import pytest

from shuffledp.deployment.files import DataError
from shuffledp.deployment.files.draft import lock

fcntl = pytest.importorskip("fcntl", reason="Windows has locks of another kind")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "reports.csv"


@pytest.fixture
def hidden(out):
    return out.with_name(".reports.csv.shuffledp-lock")


def test_it_is_held_once(out):
    with lock(out):
        with pytest.raises(DataError, match=r"reports\.csv': another run is writing it"), lock(out):
            pass
        with lock(out.with_name("more.csv")):
            pass
    with lock(out):
        pass
    assert os.listdir(out.parent) == []


def test_it_is_released_by_a_failure(out):
    with pytest.raises(KeyboardInterrupt), lock(out):
        raise KeyboardInterrupt
    assert os.listdir(out.parent) == []


def test_the_way_to_the_folder_does_not_matter(out):
    other = out.parent.parent / "link"
    other.symlink_to(out.parent)
    with lock(out), pytest.raises(DataError, match="another run"), lock(other / out.name):
        pass


def test_a_file_that_a_killed_run_left_is_taken_over(out, hidden):
    hidden.touch()
    with lock(out):
        pass
    assert os.listdir(out.parent) == []


def test_a_link_is_not_followed(out, hidden):
    hidden.symlink_to(out.with_name("elsewhere"))
    with pytest.raises(OSError, match="Too many levels of symbolic links"), lock(out):
        pass
    assert os.listdir(out.parent) == [hidden.name]


def test_a_file_removed_between_opening_and_locking_is_no_lock(out, hidden, monkeypatch):
    """The run that held it has removed it and ended; a third one can lock a new file."""
    flock, calls = fcntl.flock, []

    def remove_first(handle, operation):
        calls.append(handle)
        if len(calls) == 1:
            hidden.unlink()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with lock(out, patience=10):
        assert len(calls) == 2
        with pytest.raises(DataError, match="another run"), lock(out):
            pass
    assert os.listdir(out.parent) == []


def test_it_waits_for_another_run(out):
    begun, ended = threading.Event(), threading.Event()

    def run():
        with lock(out):
            begun.set()
            ended.wait()

    other = threading.Thread(target=run)
    other.start()
    begun.wait()
    threading.Timer(0.05, ended.set).start()
    with lock(out, patience=60):
        assert ended.is_set()
    other.join()


def test_folders_without_locks(out, monkeypatch):
    def refuse(handle, operation):
        raise OSError("No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="No locks available"), lock(out):
        pass
