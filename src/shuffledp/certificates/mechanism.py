"""The mechanism of a certificate: one text that holds everything."""

from __future__ import annotations

from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.wording import shorten
from shuffledp.certificates.certificate import MAX_CHARACTERS, CertificateError
from shuffledp.mechanisms import LocalRandomizer, parse
from shuffledp.mechanisms.composed.parts import without_paths

#: Longer texts cannot be read back.
_MAX_TEXT = min(1_000_000, MAX_CHARACTERS)
_MAX_ECHO = 80


def self_contained(randomizer: LocalRandomizer) -> LocalRandomizer:
    """Return the randomizer with matrices written out instead of named by their files.

    Raises:
        NoAnswerError: if the text is too long to be read back.
    """
    whole = without_paths(randomizer)
    if len(str(whole)) > _MAX_TEXT:
        raise NoAnswerError(f"the mechanism written out has more than {_MAX_TEXT} characters")
    return whole


def read_mechanism(text: str) -> LocalRandomizer:
    """Return the randomizer of a certificate; its text must be the one that is printed.

    Raises:
        CertificateError: if it is not; a matrix must be written out, no file is read.
    """
    try:
        randomizer = parse(text, files=False)
    except ValueError as error:
        raise CertificateError(f"mechanism: {error}") from None
    if str(randomizer) != text:
        own = shorten(str(randomizer), _MAX_ECHO)
        raise CertificateError(f"mechanism must be written as {own!r}")
    return randomizer
