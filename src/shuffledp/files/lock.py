"""A lock on a file that is being written: it goes when the process goes, however that ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shuffledp.files.problems import DataError


class BusyError(DataError):
    """Another run is writing the same file."""


@contextmanager
def lock(out: Path) -> Iterator[None]:
    """Let one run at a time write ``out``: another one fails at once.

    The lock is on an empty hidden file beside ``out``. If the process is killed the file may stay,
    but its lock does not, and the next run takes the file over.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, lock(Path(folder) / "reports.csv"):
    ...     print(os.listdir(folder))
    ['.reports.csv.shuffledp-lock']

    Raises:
        BusyError: if another run holds it.
        DataError: if something else has the name of the hidden file.
        OSError: if files cannot be created or locked in this folder.
    """
    path = out.with_name(f".{out.name}.shuffledp-lock")
    handle = _hold(path)
    if handle is None:
        raise BusyError(f"cannot write {str(out)!r}: another run is writing it")
    try:
        yield
    finally:
        _release(path, handle)


if sys.platform == "win32":

    def _hold(path: Path) -> int | None:
        """Create the file, which Windows removes when it is closed or the process ends."""
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_TEMPORARY)
        except (FileExistsError, PermissionError):
            return None

    def _release(path: Path, handle: int) -> None:
        os.close(handle)

else:
    import fcntl

    def _hold(path: Path) -> int | None:
        """Return the open and locked file, or None if another process has locked it."""
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(handle)
                if status.st_size:
                    raise DataError(f"{str(path)!r} is in the way: it is not the lock of a run")
                # If another run has removed the file since it was opened here, a third one can
                # lock a new file of that name: this lock would be worth nothing.
                if _is_at(path, status):
                    return handle
            except BlockingIOError:
                os.close(handle)
                return None
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _release(path: Path, handle: int) -> None:
        path.unlink(missing_ok=True)
        os.close(handle)


def _is_at(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.lstat(), status)
    except FileNotFoundError:
        return False
