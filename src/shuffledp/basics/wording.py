"""Words for people: texts that fit a line, counted nouns, and what was probably meant."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable

#: Characters of a line.
_WIDTH = 88

#: Characters of a text that shares a line with its label; a matrix written out has more.
_BESIDE_LABEL = 72


def fill(text: str, first: str = "", rest: str = "") -> str:
    """Return a paragraph as lines, ``first`` before the first one and ``rest`` before the others.

    >>> print(fill("much " * 18, first="- ", rest="  "))
    - much much much much much much much much much much much much much much much much much
      much
    """
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest)


def shorten(text: str, limit: int = _BESIDE_LABEL) -> str:
    """Return ``text`` in at most ``limit`` characters; one that is cut says how much is missing.

    >>> shorten("matrix([[0.5, 0.5], [0.25, 0.75]])", 30)
    'matrix... (28 more characters)'
    """
    if len(text) <= limit:
        return text
    kept = max(limit - len(_missing(len(text))), 0)
    return text[:kept] + _missing(len(text) - kept)


def _missing(count: int) -> str:
    return f"... ({counted(count, 'more character')})"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "point"), counted(1200, "point")
    ('1 point', '1,200 points')
    """
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"


def closest(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the known names that look like ``word``, the most alike first.

    >>> closest("Subsett", ["krr", "subset", "subsample"])
    ['subset', 'subsample']
    """
    by_small = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_small, n=3, cutoff=0.6)
    return [by_small[name] for name in found]


def did_you_mean(names: Iterable[str]) -> str:
    """Return the question, to be put behind a message; nothing where there is no guess.

    >>> did_you_mean(["krr", "oue"]), did_you_mean([])
    ('; did you mean krr or oue?', '')
    """
    meant = " or ".join(names)
    return f"; did you mean {meant}?" if meant else ""
