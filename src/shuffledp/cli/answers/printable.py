"""What all commands that ask about privacy have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import click

from shuffledp.accounting import Setting
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import JSON
from shuffledp.cli.setting_options import save_setting, take_setting
from shuffledp.cli.terminal import progress


class Printable(Protocol):
    """An answer for people and programs."""

    @property
    def setting(self) -> Setting | None:
        """What it is the answer for; None if that is no single setting."""
        ...

    def to_text(self) -> str:
        """Return aligned lines and one sentence of meaning."""
        ...

    def to_json(self, command: str) -> str:
        """Return one JSON object."""
        ...


def question(*parameters: click.Parameter) -> Callable[[Callable[..., Printable]], click.Command]:
    """Make a command of a function that returns an answer; its docstring is the help text.

    Where the options of a setting are among the parameters, the function gets it as ``setting``,
    and ``--save-setting`` keeps that of the answer. Nothing is printed before the whole answer is
    there.
    """

    def decorate(function: Callable[..., Printable]) -> click.Command:
        name = function.__name__
        names = [parameter.name or "" for parameter in parameters]
        about_setting = "setting_file" in names

        def run(as_json: bool, **arguments: Any) -> None:
            kept = arguments.pop("kept", None)
            if about_setting:
                arguments["setting"] = take_setting(arguments)
            with progress():
                answer = function(**arguments)
                text = answer.to_json(name) if as_json else answer.to_text()
            if kept is not None:
                save_setting(answer.setting, kept)
            click.echo(text)

        return click.Command(
            name, callback=run, params=[*parameters, JSON], help=function.__doc__, epilog=EPILOG
        )

    return decorate
