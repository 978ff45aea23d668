"""A file of reports and its sidecar on their way: both appear complete, or neither."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shuffledp.files.leftovers import folder_prefix, remove_leftovers
from shuffledp.files.lock import lock
from shuffledp.files.problems import DataError, naming
from shuffledp.files.sidecar import sidecar_path

_TRIES, _PAUSE = 20, 0.05  # seconds between two


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
            folder = Path(tempfile.mkdtemp(prefix=folder_prefix(out), dir=out.parent))
            yield Draft(folder, out, force=force)
        finally:
            if folder is None:  # interrupted while it was made
                remove_leftovers(out)
            else:
                _remove(folder)
