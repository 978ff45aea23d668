"""The files a chart is written to: pictures, and its numbers beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from shuffledp.extras import MissingExtraError
from shuffledp.figures import Chart, draw
from shuffledp.figures.drawing import PICTURE_SUFFIXES
from shuffledp.whole_file import check_writable, write_whole
from shuffledp.wording import shorten

_NUMBERS = (".csv", ".json")
_MAX_ECHO = 200


def read_outputs(
    ctx: click.Context, param: click.Parameter, names: tuple[str, ...]
) -> tuple[Path, ...]:
    """Return the paths to write to; one that cannot be written fails now, not after the work."""
    if ctx.resilient_parsing:  # the shell completes a line that is not whole yet
        return ()
    known = (*PICTURE_SUFFIXES, *_NUMBERS)
    paths = tuple(map(Path, names))
    for path in paths:
        if path.suffix.lower() not in known:
            given = shorten(str(path), _MAX_ECHO)
            message = f"the file name must end in one of {', '.join(known)}, got {given!r}"
            raise click.BadParameter(message, ctx, param)
        for file in _with_numbers(path):
            try:
                check_writable(file)
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else error
                raise click.BadParameter(f"cannot write {str(file)!r}: {why}", ctx, param) from None
    return paths


def write_chart(chart: Chart, paths: Iterable[Path], numbers: str) -> list[str]:
    """Write all files, pictures last, and return their names; ``numbers`` is the JSON of the chart.

    Without the plotting package the numbers are written, and the error says so.
    """
    written: list[str] = []
    for path in all_files(paths):
        match path.suffix.lower():
            case ".csv":
                write_whole(path, chart.to_csv().encode())
            case ".json":
                write_whole(path, numbers.encode() + b"\n")
            case _:
                try:
                    draw(chart, path)
                except MissingExtraError as error:
                    done = f"; written without: {', '.join(written)}"
                    raise click.ClickException(f"{error}{done}") from None
        written.append(str(path))
    return written


def all_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files to write, each once, numbers first: they need no plotting package.

    >>> [str(path) for path in all_files([Path("a.png"), Path("b.csv"), Path("a.pdf")])]
    ['a.csv', 'a.json', 'b.csv', 'a.png', 'a.pdf']
    """
    files = dict.fromkeys(file for path in paths for file in _with_numbers(path))
    return sorted(files, key=lambda file: file.suffix.lower() in PICTURE_SUFFIXES)


def _with_numbers(path: Path) -> tuple[Path, ...]:
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        return (path,)
    return (*(path.with_suffix(suffix) for suffix in _NUMBERS), path)
