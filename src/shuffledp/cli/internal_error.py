"""What the command line says when shuffledp itself is wrong."""

from __future__ import annotations

import os
import platform
import shlex
import traceback
from collections.abc import Sequence
from typing import IO, Any

import click
import numpy as np

from shuffledp._version import __version__

#: Set it to see the traceback of an internal error.
TRACEBACK = "SHUFFLEDP_TRACEBACK"

_EX_SOFTWARE = 70  # "internal software error" in sysexits.h


class InternalError(click.ClickException):
    """A mistake of the package: no answer, and one line with all that a report of it needs."""

    exit_code = _EX_SOFTWARE

    def __init__(self, error: Exception, arguments: Sequence[str]) -> None:
        self.error = error
        where = (
            f"shuffledp {__version__}, numpy {np.__version__}, Python {platform.python_version()}, "
            f"{platform.machine()}"
        )
        command = shlex.join(["shuffledp", *arguments])
        line = (
            "no answer because of an error in shuffledp itself, please report it: "
            f"{error!r} in {command} ({where}; {TRACEBACK}=1 shows more)"
        )
        super().__init__(" ".join(line.split()))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line, after the traceback if that is wanted."""
        if os.environ.get(TRACEBACK, "0") not in ("", "0"):
            click.echo(
                "".join(traceback.format_exception(self.error)), file=file, err=True, nl=False
            )
        super().show(file)
