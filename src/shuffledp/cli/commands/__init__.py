"""The commands of ``shuffledp``, each imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

#: In the order in which they are listed; each is a function of its name in a module of its name.
NAMES = (
    "epsilon",
    "delta",
    "calibrate",
    "users",
    "rounds",
    "tiers",
    "messages",
    "ledger",
    "plan",
    "compare",
    "curve",
    "report",
    "explore",
    "certify",
    "verify",
    "audit",
    "randomize",
    "estimate",
    "mechanisms",
)


class Commands(MutableMapping[str, click.Command]):
    """All commands by their names: whoever asks for an epsilon does not wait for studies.

    >>> commands = Commands()
    >>> next(iter(commands)), commands["epsilon"].name, "nothing" in commands
    ('epsilon', 'epsilon', False)
    """

    def __init__(self) -> None:
        self._known: dict[str, click.Command | None] = dict.fromkeys(NAMES)

    def __getitem__(self, name: str) -> click.Command:
        """Return a command; KeyError if there is none of this name."""
        command = self._known[name]
        if command is None:
            command = getattr(import_module(f"shuffledp.cli.commands.{name}"), name)
            if not isinstance(command, click.Command):
                raise TypeError(f"shuffledp.cli.commands.{name} must define the command {name}")
            self._known[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        """Add a command, or replace one."""
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        """Remove a command."""
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names, without importing anything."""
        return iter(self._known)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._known)
