"""Pieces of HTML that are always escaped and always closed."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
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


def facts(rows: Mapping[str, str]) -> Markup:
    """Return a table of named values.

    >>> facts({"users": "10"}).text
    '<table><tbody><tr><th scope="row">users</th><td>10</td></tr></tbody></table>'
    """
    lines = (
        tag("tr", tag("th", name, scope="row"), tag("td", text)) for name, text in rows.items()
    )
    return tag("table", tag("tbody", *lines))


def bar(part: float) -> Markup:
    """Return a small picture of a number: a bar, ``part`` of the longest; seen on light and dark.

    >>> bar(0.5).text
    '<div style="background:#3d8bcd;height:0.7em;min-width:1px;width:4em"></div>'
    """
    width = f"{8 * min(max(0.0, part), 1.0):.3g}em"
    return tag("div", style=f"background:#3d8bcd;height:0.7em;min-width:1px;width:{width}")


def grid(caption: str, head: Iterable[str], rows: Iterable[Iterable[Markup | str]]) -> Markup:
    """Return a table of rows below a head.

    >>> grid("errors", ["name"], [["krr"]]).text.partition("<tbody>")[2]
    '<tr><td>krr</td></tr></tbody></table>'
    """
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", text, scope="col") for text in head))),
        tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows)),
    )
