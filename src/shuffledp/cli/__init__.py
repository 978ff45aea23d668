"""The command line: one command per question."""

from shuffledp.cli.group import main

__all__ = ["main"]
