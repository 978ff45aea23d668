"""The versions of what proves."""

from __future__ import annotations

from shuffledp._version import __version__


def versions() -> dict[str, str]:
    """Return the versions a certificate names."""
    import flint

    return {"shuffledp": __version__, "python-flint": flint.__version__}
