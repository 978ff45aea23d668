"""The files that a table is spread over."""

from __future__ import annotations

from pathlib import Path

from shuffledp.files.formats import SUFFIXES
from shuffledp.files.problems import DataError, naming

_WILD = frozenset("*?[")


def parts_of(source: Path) -> list[Path]:
    """Return the files of a table, in the order of their names.

    That is one file; all .csv and .parquet files of a folder; or those that a pattern such as
    ``answers/2025-*.parquet`` matches, if no file has it as its name. Files whose names start
    with a dot or an underscore are left out: Spark and others put such beside their data.

    Raises:
        DataError: if there is none, or one of them is there twice, under two names: its rows are
            users, who must be counted once.
    """
    with naming(source, "read"):
        if source.is_dir():
            found = source.iterdir()
        elif not source.exists() and _WILD & set(source.name):
            found = (path for path in source.parent.iterdir() if path.match(source.name))
        else:
            return [source]
        parts = sorted(
            path
            for path in found
            if path.suffix.lower() in SUFFIXES and not path.name.startswith((".", "_"))
        )
        if not parts:
            raise DataError(f"{str(source)!r} has no files that end in {' or '.join(SUFFIXES)}")
        known: dict[tuple[int, int], Path] = {}
        for part in parts:
            status = part.stat()
            first = known.setdefault((status.st_dev, status.st_ino), part)
            if first is not part:
                raise DataError(f"{str(first)!r} and {str(part)!r} are the same file")
    return parts
