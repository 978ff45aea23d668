"""The versions of what proves."""

from __future__ import annotations


def versions() -> dict[str, str]:
    """Return the versions a certificate names."""
    import flint

    from shuffledp import __version__

    return {"shuffledp": __version__, "python-flint": flint.__version__}
