"""A file of reports and its sidecar on their way: both appear complete, or neither."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from shuffledp.deployment.files.problems import DataError, naming
from shuffledp.deployment.files.sidecar import sidecar_path

#: A bucket of reports, which has a name for a moment at most.
_BUCKET = re.compile("bucket[a-z0-9_]*")

_TRIES, _PAUSE = 20, 0.05  # seconds between two


@contextmanager
def lock(out: Path, patience: float = 0.0) -> Iterator[None]:
    """Let one run at a time write ``out``: another one fails after so many seconds.

    The lock is on an empty hidden file beside ``out``. If the process is killed the file may stay,
    but its lock does not, and the next run takes the file over.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, lock(Path(folder) / "reports.csv"):
    ...     print(os.listdir(folder))
    ['.reports.csv.shuffledp-lock']

    Raises:
        DataError: if another run holds it.
        OSError: if files cannot be created or locked in this folder.
    """
    path = out.with_name(f".{out.name}.shuffledp-lock")
    os.scandir(out.parent).close()  # a folder that is missing is an error, and not made here
    held = FileLock(path, patience, mode=0o600, fallback_to_soft=False)
    try:
        held.acquire()
    except Timeout:
        raise DataError(f"cannot write {str(out)!r}: another run is writing it") from None
    try:
        yield
    finally:
        with suppress(PermissionError):  # Windows cannot remove a file that is open
            path.unlink(missing_ok=True)  # while it is held: whoever opened it sees that it is gone
        held.release()


class Draft:
    """The files before they get their names.

    Attributes:
        folder: holds all that is temporary; only its owner may look into it.
        reports: where to write the reports.
        sidecar: where to write the sidecar.
    """

    def __init__(self, folder: Path, out: Path, *, force: bool) -> None:
        self.folder, self._out, self._force = folder, out, force
        self.reports = folder / out.name
        self.sidecar = sidecar_path(self.reports)

    def publish(self) -> None:
        """Give the files their names: reports first, so that no sidecar is ever without them.

        If that is interrupted half-way, none of the two stays, neither of this run nor of another
        one: reports beside the sidecar of others would be taken for damaged.

        Raises:
            DataError: if there are files meanwhile that may not be replaced.
            OSError: if it cannot be done.
        """
        for path in (self.reports, self.sidecar):
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        _check_free(self._out, force=self._force)
        names = self._out, sidecar_path(self._out)
        try:
            self.reports.replace(names[0])
            self.sidecar.replace(names[1])
        except BaseException:
            if not self.reports.exists() and self.sidecar.exists():
                for path in names:
                    path.unlink(missing_ok=True)
            raise


def _check_free(out: Path, *, force: bool) -> None:
    """Find out whether a file of reports and its sidecar may get their names.

    Raises:
        DataError: if folders are in the way, or files that may not be replaced.
    """
    for path in (out, sidecar_path(out)):
        if path.is_dir():
            raise DataError(f"cannot write {str(path)!r}: {os.strerror(errno.EISDIR)}")
        if path.exists() and not force:
            raise DataError(f"{str(path)!r} exists already; force replaces it")


def _remove(folder: Path) -> None:
    """Remove a folder; a worker that was given up may just be writing one more file into it."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_PAUSE)


@contextmanager
def draft(out: Path, *, force: bool) -> Iterator[Draft]:
    """Give a place beside ``out`` for all that is temporary; remove it whatever happens.

    If the process is killed the place stays, and the next run for the same file removes it.

    Args:
        out: the file of reports that is to appear.
        force: whether it may replace another one.

    Raises:
        DataError: if the folder cannot be written, files are there that may not be replaced, or
            another run is writing ``out``.
    """
    with naming(out, "write"), lock(out):
        remove_leftovers(out)
        _check_free(out, force=force)
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix=_folder_prefix(out), dir=out.parent))
            yield Draft(folder, out, force=force)
        finally:
            if folder is None:  # interrupted while it was made
                remove_leftovers(out)
            else:
                _remove(folder)


def _folder_prefix(out: Path) -> str:
    """Return how the name of the folder begins that holds what is temporary.

    >>> _folder_prefix(Path("a/reports.csv"))
    '.reports.csv.shuffledp-'
    """
    return f".{out.name}.shuffledp-"


def remove_leftovers(out: Path) -> None:
    """Remove the folders of runs that wrote ``out`` and are no more.

    To be called by who holds the lock: no other run is writing ``out``. A folder is removed if its
    name is that of such a folder and nothing in it has another origin.

    Raises:
        DataError: if such a folder cannot be removed.
    """
    pattern = re.compile(rf"{re.escape(_folder_prefix(out))}[a-z0-9_]{{8}}")
    for folder in out.parent.iterdir():
        if not pattern.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
            continue
        with naming(folder, "remove"):
            files = list(folder.iterdir())
            if _are_ours(files, out):
                for file in files:
                    file.unlink(missing_ok=True)  # a worker that was given up may remove it, too
                folder.rmdir()


def _are_ours(files: list[Path], out: Path) -> bool:
    """Whether a run that wrote ``out`` made these files."""
    drafts = {out.name, sidecar_path(out).name}
    known = all(file.name in drafts or _BUCKET.fullmatch(file.name) for file in files)
    return known and all(file.is_file() and not file.is_symlink() for file in files)
