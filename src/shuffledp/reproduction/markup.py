"""Pieces of HTML that are always escaped and always closed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.reproduction.table import Cell, Table
from shuffledp.rounding import nearest

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


def paragraphs(texts: Sequence[str]) -> Markup:
    """Return a list of sentences, or one paragraph if there is only one."""
    if len(texts) == 1:
        return tag("p", texts[0])
    return tag("ul", *(tag("li", text) for text in texts))


def to_html(table: Table) -> Markup:
    """Return a table, in a frame that scrolls where it is too wide."""
    head = tag("tr", *(tag("th", column, scope="col") for column in table.columns))
    body = [tag("tr", *(_cell(cell) for cell in row)) for row in table.rows]
    frame = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", frame, class_="wide", tabindex="0", role="region", **{"aria-label": "table"})


def _cell(cell: Cell) -> Markup:
    if isinstance(cell, int | float):
        return tag("td", f"{cell:,}" if isinstance(cell, int) else nearest(cell), class_="number")
    return tag("td", "no answer" if cell is None else cell)
