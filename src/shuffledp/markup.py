"""Pieces of HTML that are always escaped and always closed."""

from __future__ import annotations

import html
from dataclasses import dataclass

_VOID = frozenset({"img", "meta"})


@dataclass(frozen=True)
class Markup:
    """Text that is HTML already."""

    text: str


def tag(name: str, /, *children: Markup | str, **attributes: str) -> Markup:
    """Return an element; text is escaped, a trailing underscore of an attribute dropped.

    >>> tag("p", "a < b", class_="note").text
    '<p class="note">a &lt; b</p>'
    """
    opening = name + "".join(
        f' {key.rstrip("_")}="{html.escape(value)}"' for key, value in attributes.items()
    )
    if name in _VOID:
        return Markup(f"<{opening} />")
    return Markup(f"<{opening}>{join(*children).text}</{name}>")


def join(*children: Markup | str) -> Markup:
    """Return several pieces, one after the other."""
    return Markup("".join(c.text if isinstance(c, Markup) else html.escape(c) for c in children))
