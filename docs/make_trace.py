"""Which files one epsilon passes through, in the order in which they are first entered.

``python docs/make_trace.py`` prints the list of docs/architecture.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import shuffledp
from shuffledp import ShuffleAccountant

SOURCE = Path(shuffledp.__file__).parent


def epsilon() -> float:
    """Answer the question that is traced."""
    return ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000).get_epsilon(1e-6)


def trace() -> dict[str, list[str]]:
    """Return the functions that an answer calls, by their files, in order."""
    found: dict[str, list[str]] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        file = Path(code.co_filename)
        if event == "call" and file.is_relative_to(SOURCE) and not code.co_name.startswith("<"):
            names = found.setdefault(file.relative_to(SOURCE).as_posix(), [])
            if code.co_qualname not in names:
                names.append(code.co_qualname)

    sys.setprofile(note)
    try:
        epsilon()
    finally:
        sys.setprofile(None)
    return found


if __name__ == "__main__":
    files = trace()
    sys.stdout.write("\n".join(f"{file:36} {names[0]}" for file, names in files.items()))
    sys.stderr.write(f"{len(files)} files, {sum(map(len, files.values()))} functions\n")
