"""What all commands that ask about privacy have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import click

from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import JSON
from shuffledp.cli.terminal import progress


class Printable(Protocol):
    """An answer for people and programs."""

    def to_text(self) -> str:
        """Return aligned lines and one sentence of meaning."""
        ...

    def to_json(self, command: str) -> str:
        """Return one JSON object."""
        ...


def question(*parameters: click.Parameter) -> Callable[[Callable[..., Printable]], click.Command]:
    """Make a command of a function that returns an answer; its docstring is the help text.

    Nothing is printed before the whole answer is there.
    """

    def decorate(function: Callable[..., Printable]) -> click.Command:
        name = function.__name__

        def run(as_json: bool, **arguments: object) -> None:
            with progress():
                answer = function(**arguments)
            click.echo(answer.to_json(name) if as_json else answer.to_text())

        return click.Command(
            name, callback=run, params=[*parameters, JSON], help=function.__doc__, epilog=EPILOG
        )

    return decorate
