"""HTML from templates, which escape whatever they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Markup", "bar", "facts", "grid", "render"]


def render(package: str, template: str, /, **values: object) -> str:
    """Return what a file in the folder ``templates`` of a package says about some values."""
    return _environment(package).get_template(template).render(values)


@cache
def _environment(package: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def facts(rows: Mapping[str, str]) -> str:
    """Return a table of named values.

    >>> facts({"users": "10 < 20"})
    '<table><tbody><tr><th scope="row">users</th><td>10 &lt; 20</td></tr></tbody></table>'
    """
    return render("shuffledp.basics", "facts.html", rows=rows)


def bar(part: float) -> Markup:
    """Return a small picture of a number: a bar, ``part`` of the longest; seen on light and dark.

    >>> bar(0.5)
    Markup('<div style="background:#3d8bcd;height:0.7em;min-width:1px;width:4em"></div>')
    """
    width = f"{8 * min(max(0.0, part), 1.0):.3g}em"
    style = f"background:#3d8bcd;height:0.7em;min-width:1px;width:{width}"
    return Markup('<div style="{}"></div>').format(style)


def grid(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Markup | str]],
    foot: Iterable[Sequence[Markup | str]] = (),
) -> str:
    """Return a table of rows below a head; the last cell of a short row takes what is left.

    >>> grid("errors", ["name", "error"], [["krr"]]).partition("<tbody>")[2]
    '<tr><td colspan="2">krr</td></tr></tbody></table>'
    """
    return render("shuffledp.basics", "grid.html", caption=caption, head=head, rows=rows, foot=foot)
