"""What a command answered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reply:
    """The answer of a command, or what was wrong.

    Attributes:
        code: the exit code of the command line.
        text: what it printed, or the error in one line.
        field: the parameter that is wrong, if it is a certain one.
    """

    code: int
    text: str
    field: str | None = None
