"""Files that are absent or complete, never half written."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write ``content`` under another name in the same folder, then give it its name.

    A file that is replaced keeps who may read and write it.

    Raises:
        OSError: if the folder cannot be written; what was there before stays.
    """
    partial = _partial(path)
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(path, partial)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def check_writable(path: Path) -> None:
    """Find out whether ``write_whole`` can write there, and leave nothing behind.

    Raises:
        OSError: if it cannot.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    partial = _partial(path)
    partial.open("xb").close()
    partial.unlink()


def _partial(path: Path) -> Path:
    # Not the number of the process: in a container it may be that of the one killed before.
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")
