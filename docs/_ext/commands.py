"""The reference of the command line, made from the commands themselves.

``{command-reference}`` becomes one section per command of ``shuffledp``: usage, what it does, its
arguments and options, as ``--help`` has them.
"""

from __future__ import annotations

import inspect
from typing import Any

import click
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from shuffledp.cli import main


def lines_of(name: str, command: click.Command, context: click.Context) -> list[str]:
    """Return the Markdown of one command.

    >>> lines_of("users", main.commands["users"], click.Context(main, info_name="shuffledp"))[0]
    '## shuffledp users'
    """
    inner = click.Context(command, info_name=name, parent=context)
    usage = " ".join((inner.command_path, *command.collect_usage_pieces(inner)))
    lines = [f"## {inner.command_path}", "", "```text", usage, "```", ""]
    lines += [_markdown(inspect.cleandoc(command.help or "")), ""]
    records = [
        record
        for parameter in command.get_params(inner)
        if (record := parameter.get_help_record(inner)) is not None and record[1]
    ]
    lines += ["| Option | Meaning |", "|---|---|"]
    lines += [f"| `{_cell(option)}` | {_markdown(_cell(text))} |" for option, text in records]
    return [*lines, ""]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _markdown(text: str) -> str:
    """Return plain text as Markdown: what click formats away, and signs that would be markup."""
    paragraphs = (
        " ".join(part.replace("\b", "").split()) for part in text.replace("\f", "").split("\n\n")
    )
    signs = str.maketrans({sign: f"\\{sign}" for sign in "*_<>[]"})
    return "\n\n".join(paragraph.translate(signs) for paragraph in paragraphs)


class CommandReference(SphinxDirective):
    """All commands."""

    def run(self) -> list[nodes.Node]:
        """Return one section per command."""
        context = click.Context(main, info_name="shuffledp", **main.context_settings)
        lines: list[str] = []
        for name in main.list_commands(context):
            lines += lines_of(name, main.commands[name], context)
        return self.parse_text_to_nodes(
            "\n".join(StringList(lines, source="shuffledp --help")), allow_section_headings=True
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
