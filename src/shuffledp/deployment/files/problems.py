"""What can be wrong with a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal


class DataError(ValueError):
    """A file cannot be used: the message, one line, says which one and why."""


@contextmanager
def naming(path: Path, action: Literal["read", "write", "remove"]) -> Iterator[None]:
    """Turn errors of the operating system into one that names the file.

    >>> with naming(Path("no/such.csv"), "read"):  # doctest: +ELLIPSIS
    ...     open("no/such.csv")
    Traceback (most recent call last):
    ...
    shuffledp.deployment.files.problems.DataError: cannot read 'no/such.csv': ...
    """
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error).partition("\n")[0]
        raise DataError(f"cannot {action} {str(path)!r}: {why}") from None
