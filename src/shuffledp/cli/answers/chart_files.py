"""The files a chart is written to: pictures, and its numbers beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from shuffledp.basics.extras import MissingExtraError, import_extra
from shuffledp.basics.figures import Chart, RowChart, draw
from shuffledp.basics.figures.drawing import PICTURE_SUFFIXES
from shuffledp.basics.whole_file import check_writable, write_whole
from shuffledp.basics.wording import shorten

_NUMBERS = (".csv", ".json")
_MAX_ECHO = 200  # characters of a path in a message


def read_outputs(
    ctx: click.Context, param: click.Parameter, names: tuple[str, ...]
) -> tuple[Path, ...]:
    """Return the paths to write to; one that cannot be written fails now, not after the work.

    That pictures need a package which is not there is said now, too; the rest is done all the same.
    """
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
    if any(path.suffix.lower() in PICTURE_SUFFIXES for path in paths):
        try:
            import_extra("matplotlib")
        except MissingExtraError as error:
            click.echo(f"Warning: {error}; only the numbers of the chart will be there.", err=True)
    return paths


def keep_apart(paths: Iterable[Path], others: Iterable[Path]) -> None:
    """Refuse a chart one of whose files, numbers beside a picture included, is another one.

    Args:
        paths: the files of the chart, as they were given.
        others: what the command reads, or writes besides.

    Raises:
        click.UsageError: if one of them would be replaced.
    """
    kept = {other.resolve() for other in others}
    for path in paths:
        for file in _with_numbers(path):
            if file.resolve() in kept:
                raise click.UsageError(
                    f"--chart {str(path)!r} would replace {str(file)!r}: choose another name"
                )


@dataclass(frozen=True)
class Written:
    """What was written of a chart.

    Attributes:
        names: the files.
        problem: why a picture is not among them, if so.
    """

    names: list[str]
    problem: str | None = None

    def echo(self) -> None:
        """Say which files there are."""
        for name in self.names:
            click.echo(f"Written: {name}")

    def check(self) -> None:
        """Fail if a picture is missing; to be called when everything else has been said.

        Raises:
            click.ClickException: if one is.
        """
        if self.problem is not None:
            done = f"; written without: {', '.join(self.names)}"
            raise click.ClickException(f"{self.problem}{done}")


def write_chart(chart: Chart | RowChart, paths: Iterable[Path], numbers: str) -> Written:
    """Write all files, pictures last; ``numbers`` is the JSON of the chart.

    Without the plotting package the numbers are written.
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
                    return Written(written, str(error))
        written.append(str(path))
    return Written(written)


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
