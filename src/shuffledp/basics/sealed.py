"""JSON that shows whether it was damaged or changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NoReturn


def seal(content: Mapping[str, object]) -> str:
    """Return fields, of which one is ``format``, as JSON with their checksum.

    >>> unseal(seal({"format": "notes, 1", "text": "a"}), "notes, 1")["text"]
    'a'
    """
    return json.dumps({**content, "checksum": checksum_of(content)}, indent=2, allow_nan=False)


def unseal(text: str | bytes, layout: str) -> dict[str, Any]:
    """Return the fields that were sealed.

    Raises:
        ValueError: if the text is something else, of another format, or was changed.
    """
    try:
        content = json.loads(text, parse_constant=no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError("it holds no fields")
    for name in ("format", "checksum"):
        if name not in content:
            raise ValueError(f"it has no {name!r}")
    if content["format"] != layout:
        raise ValueError(f"its format is {content['format']!r}, not {layout!r}")
    if content.pop("checksum") != checksum_of(content):
        raise ValueError("its checksum is wrong")
    return content


def checksum_of(content: Mapping[str, object]) -> str:
    """Return the SHA-256 of fields, in whatever order."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def no_number(text: str) -> NoReturn:
    """Refuse what Python reads as a number, and JSON does not know: NaN and infinities."""
    raise ValueError(f"{text} is no number")
