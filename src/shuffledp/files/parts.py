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
        elif _is_pattern(source):
            found = (path for path in source.parent.iterdir() if path.match(source.name))
        else:
            return [source]
        parts = sorted(path for path in found if _is_part(path))
        if not parts:
            raise DataError(f"{str(source)!r} has no files that end in {' or '.join(SUFFIXES)}")
        known: dict[tuple[int, int], Path] = {}
        for part in parts:
            status = part.stat()
            first = known.setdefault((status.st_dev, status.st_ino), part)
            if first is not part:
                raise DataError(f"{str(first)!r} and {str(part)!r} are the same file")
    return parts


def would_join(source: Path, out: Path) -> bool:
    """Whether a file is one of those that a table is spread over, or would be if it existed.

    >>> would_join(Path("answers-*.csv"), Path("answers-shuffled.csv"))
    True
    >>> would_join(Path("answers-*.csv"), Path("reports.csv"))
    False
    """
    if source.is_dir():
        return out.parent.resolve() == source.resolve()
    is_beside = out.parent.resolve() == source.parent.resolve()
    return _is_pattern(source) and is_beside and _is_part(out) and out.match(source.name)


def _is_pattern(source: Path) -> bool:
    return bool(_WILD & set(source.name)) and not source.exists()


def _is_part(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith((".", "_"))
