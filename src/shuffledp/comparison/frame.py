"""Tables as pandas DataFrames; pandas is optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.basics.extras import import_extra


def to_frame(rows: Sequence[Mapping[str, object]], index: str | None = None) -> Any:
    """Return a DataFrame with one row per mapping, indexed by one of the columns if asked.

    Raises:
        MissingExtraError: if pandas is not installed.
    """
    frame = import_extra("pandas").DataFrame(list(rows))
    return frame if index is None else frame.set_index(index)
