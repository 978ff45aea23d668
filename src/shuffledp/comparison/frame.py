"""Tables as pandas DataFrames; pandas is optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.errors import MissingExtraError


def to_frame(rows: Sequence[Mapping[str, object]], index: str | None = None) -> Any:
    """Return a DataFrame with one row per mapping, indexed by one of the columns if asked.

    Raises:
        MissingExtraError: if pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("to_pandas()", "pandas", "pandas") from error
    frame = pd.DataFrame(list(rows))
    return frame if index is None else frame.set_index(index)
