"""How far a long proof is."""

from __future__ import annotations

from collections.abc import Callable

#: Called with what is being done and which share of it, from 0 to 1, is done.
Progress = Callable[[str, float], None]


def silent(what: str, share: float) -> None:
    """Report nothing."""
