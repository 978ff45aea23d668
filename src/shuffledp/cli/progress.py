"""A sign of life on the terminal while a search takes long."""

from __future__ import annotations

from contextlib import AbstractContextManager

from shuffledp.cli.ticker import ticking


def progress() -> AbstractContextManager[None]:
    """Show the elapsed seconds."""
    return ticking(lambda elapsed: f"computing for {elapsed:.0f} s ...")
