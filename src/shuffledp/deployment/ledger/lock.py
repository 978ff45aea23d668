"""A lock on a file that is being written: it goes when the process goes, however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from shuffledp.deployment.files.problems import DataError


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
