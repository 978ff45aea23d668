"""Sentences and tables of the report, as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.markup import Markup, tag
from shuffledp.reproduction.table import Cell, Table
from shuffledp.rounding import nearest


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
