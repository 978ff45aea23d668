"""Sums over reports in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.sealed import seal, unseal
from shuffledp.whole_file import write_whole

#: Says what a file is and how it is laid out.
_FORMAT = "shuffledp sums of reports, 1"


@dataclass(frozen=True, eq=False)
class Stored:
    """The content of a file.

    Attributes:
        mechanism: the text of the mechanism.
        fingerprint: a digest of the mechanism and of what is counted.
        state: the sums.
    """

    mechanism: str
    fingerprint: str
    state: Sequence[NDArray[Any]]


def write(path: Path, stored: Stored) -> None:
    """Write a file such that it is complete, or else as it was before.

    Raises:
        OSError: if it cannot be written.
    """
    content = {
        "format": _FORMAT,
        "mechanism": stored.mechanism,
        "fingerprint": stored.fingerprint,
        "sums": [array.tolist() for array in stored.state],
    }
    write_whole(path, seal(content).encode())


def read(path: Path) -> Stored:
    """Read a file that :func:`write` wrote.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is damaged or something else.
    """
    raw = path.read_bytes()
    try:
        content = unseal(raw, _FORMAT)
        state = [np.array(sums) for sums in content["sums"]]
        return Stored(content["mechanism"], content["fingerprint"], state)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"path {str(path)!r} does not hold sums of reports, or is damaged: {error}"
        ) from None
