"""Formulas as MathML, which browsers show by themselves: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def to_mathml(latex: str, display: str) -> str:
    """Return the MathML of a formula, with its LaTeX as the text for copying."""
    return convert(latex, display=display).replace(
        "<math ", f'<math alttext="{escape(latex, quote=True)}" ', 1
    )


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    self.body.append(f'<span class="math">{to_mathml(node.astext(), "inline")}</span>')
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(to_mathml(node.astext(), "block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
