"""JSON for programs: what stands around the answer of every command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from shuffledp._version import __version__


def envelope(command: str, fields: Mapping[str, object], assumptions: Sequence[str]) -> str:
    """Return the answer of a command, with what it assumes and the version that gave it.

    >>> print(envelope("plan", {"n": 10}, assumptions=["nobody lies"]).replace(__version__, "..."))
    {
      "command": "plan",
      "n": 10,
      "assumptions": [
        "nobody lies"
      ],
      "version": "..."
    }
    """
    facts = {"assumptions": assumptions, "version": __version__}
    return to_json({"command": command, **fields} | facts)


def to_json(fields: Mapping[str, object]) -> str:
    """Return one JSON object; its numbers must be finite, as JSON knows no others."""
    return json.dumps(fields, indent=2, allow_nan=False)
