"""Whether ball arithmetic is installed."""

from __future__ import annotations

import importlib.util

from shuffledp.errors import NoAnswerError


class CertifyMissingError(NoAnswerError):
    """The package for ball arithmetic is not installed."""


def check_available() -> None:
    """Say how to install what is missing."""
    if importlib.util.find_spec("flint") is None:
        raise CertifyMissingError(
            'proofs need the package python-flint: pip install "shuffledp[certify]"'
        )


def versions() -> dict[str, str]:
    """Return the versions a certificate names."""
    import flint

    from shuffledp import __version__

    return {"shuffledp": __version__, "python-flint": flint.__version__}
