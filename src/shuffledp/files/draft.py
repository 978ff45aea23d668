"""A file of reports and its sidecar on their way: both appear complete, or neither."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shuffledp.files.problems import DataError, naming
from shuffledp.files.sidecar import sidecar_path


class Draft:
    """The files before they get their names.

    Attributes:
        folder: holds all that is temporary; only its owner may look into it.
        reports: where to write the reports.
        sidecar: where to write the sidecar.
    """

    def __init__(self, folder: Path, out: Path) -> None:
        self.folder, self._out = folder, out
        self.reports = folder / out.name
        self.sidecar = sidecar_path(self.reports)

    def publish(self) -> None:
        """Give the files their names: reports first, so that no sidecar is ever without them."""
        for path in (self.reports, self.sidecar):
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        self.reports.replace(self._out)
        try:
            self.sidecar.replace(sidecar_path(self._out))
        except BaseException:
            self._out.unlink(missing_ok=True)
            raise


@contextmanager
def draft(out: Path, *, force: bool) -> Iterator[Draft]:
    """Give a place beside ``out`` for all that is temporary; remove it whatever happens.

    Args:
        out: the file of reports that is to appear.
        force: whether it may replace another one.

    Raises:
        DataError: if the folder cannot be written, or files are there that may not be replaced.
    """
    for path in (out, sidecar_path(out)):
        if path.is_dir():
            raise DataError(f"cannot write {str(path)!r}: {os.strerror(errno.EISDIR)}")
        if path.exists() and not force:
            raise DataError(f"{str(path)!r} exists already; force replaces it")
    with naming(out, "write"):
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            yield Draft(folder, out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
