"""What runs left behind that could not clean up, because they were killed or the power failed."""

from __future__ import annotations

import re
from pathlib import Path

from shuffledp.files.problems import naming
from shuffledp.files.sidecar import sidecar_path

#: A bucket of reports, which has a name for a moment at most; in version 0.1 it kept its name.
_BUCKET = re.compile("bucket[a-z0-9_]*")


def folder_prefix(out: Path) -> str:
    """Return how the name of the folder begins that holds what is temporary.

    >>> folder_prefix(Path("a/reports.csv"))
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
    # Before folders were marked as ours, their names had eight random characters only.
    pattern = re.compile(rf"\.{re.escape(out.name)}\.(?P<mark>shuffledp-)?[a-z0-9_]{{8}}")
    for folder in out.parent.iterdir():
        match = pattern.fullmatch(folder.name)
        if match is None or folder.is_symlink() or not folder.is_dir():
            continue
        with naming(folder, "remove"):
            files = list(folder.iterdir())
            if _are_ours(files, out, is_marked=match["mark"] is not None):
                for file in files:
                    file.unlink(missing_ok=True)  # a worker that was given up may remove it, too
                folder.rmdir()


def _are_ours(files: list[Path], out: Path, *, is_marked: bool) -> bool:
    """Whether a run that wrote ``out`` made these files; a folder without mark needs a bucket."""
    drafts = {out.name, sidecar_path(out).name}
    buckets = [file for file in files if _BUCKET.fullmatch(file.name)]
    known = all(file.name in drafts or file in buckets for file in files)
    plain = all(file.is_file() and not file.is_symlink() for file in files)
    return known and plain and (is_marked or bool(buckets))
