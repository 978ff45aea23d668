"""Commands that write files continue where they were interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shuffledp.comparison import Kept
from shuffledp.errors import NoAnswerError


def kept_for(outputs: Sequence[Path]) -> Kept | None:
    """Return what an interrupted run has kept beside the first file; None if none is written."""
    return Kept.beside(outputs[0]) if outputs else None


@contextmanager
def forgetting(kept: Kept | None) -> Iterator[None]:
    """Forget what was kept when the files are there, or when it is clear that there is no answer.

    Whatever else ends the block, it stays.
    """
    try:
        yield
    except NoAnswerError:
        _forget(kept)
        raise
    _forget(kept)


def _forget(kept: Kept | None) -> None:
    if kept is not None:
        kept.clear()
