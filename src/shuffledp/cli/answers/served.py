"""The commands that the local page may run, and how a line is answered there."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence

import click

from shuffledp.cli.answers.opened import QUESTIONS
from shuffledp.outputs.review.cover import ANSWERS, LINES
from shuffledp.web import Parameter, Reply, Served

#: Of a setting: nothing that reads or writes files.
_SETTING = ("mechanism", "n", "rounds", "at_most", "corrupted", "corrupted_adaptively", "view")
_BOUND = ("bound", "rtol")
_REST = _SETTING[2:]

#: By command the parameters that are allowed from outside: none that reads or writes files.
_ALLOWED = {
    "epsilon": (*_SETTING, *_BOUND, "delta"),
    "delta": (*_SETTING, *_BOUND, "epsilon"),
    "calibrate": ("family", "n", *_REST, "bound", "epsilon", "delta"),
    "users": ("mechanism", *_REST, "bound", "epsilon", "delta"),
    "rounds": (*_SETTING, *_BOUND, "delta", "epsilon"),
    "compare": (*_SETTING, "rtol", "delta"),
    "curve": (
        *("mechanisms", "against", "n", "delta", "low", "high", "count", "bounds", "rtol"),
        *_REST,
    ),
    "plan": ("task", "n", *_REST, "bound", "epsilon", "error", "delta", "domain"),
    "tiers": ("groups", "delta", "epsilon", "dummies", "corrupted"),
    "mechanisms": (),
    "report": (*_SETTING, *_BOUND, "delta", *LINES, *ANSWERS),
    "setting": (*_SETTING, "bound", "groups", "dummies"),
}

#: What does not print JSON.
_TYPES = {"report": "text/html", "setting": "application/toml"}

#: What decides how long the work takes.
_MOST = {"count": 200}

_MECHANISMS = ("mechanism", "mechanisms", "family", "groups")


def served(commands: Mapping[str, click.Command]) -> Sequence[Served]:
    """Return what the page may ask, described by the commands themselves."""
    known = {**commands, **QUESTIONS}
    return [
        Served(
            name,
            known[name].get_short_help_str(limit=200),
            [_parameter(p) for p in known[name].params if p.name in allowed],
            fixed=() if name in _TYPES else ("--json",),
            media_type=_TYPES.get(name, "application/json"),
        )
        for name, allowed in _ALLOWED.items()
    ]


def _parameter(parameter: click.Parameter) -> Parameter:
    name = parameter.name or ""
    is_option = isinstance(parameter, click.Option)
    return Parameter(
        name=name,
        option=max(parameter.opts, key=len) if is_option else None,
        meaning=parameter.help or "" if isinstance(parameter, click.Option) else _ARGUMENT,
        required=parameter.required,
        multiple=parameter.multiple or parameter.nargs == -1,
        most=_MOST.get(name),
        mechanism=name in _MECHANISMS,
    )


_ARGUMENT = 'What each user runs, such as "krr(k=10, epsilon0=2)".'


def ask(arguments: tuple[str, ...]) -> Reply:
    """Run a command line here and return what it prints, or what is wrong."""
    group = _group_of(arguments[0])
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            group.main(list(arguments), prog_name="shuffledp", standalone_mode=False)
    except click.ClickException as error:
        return Reply(error.exit_code, _message(error), _field(error, group.commands[arguments[0]]))
    return Reply(0, printed.getvalue())


def _group_of(name: str) -> click.Group:
    from shuffledp.cli.group import TidyGroup, main

    return TidyGroup("shuffledp", QUESTIONS) if name in QUESTIONS else main


def _message(error: click.ClickException) -> str:
    """Return what is wrong; the page shows beside the field which one it is."""
    named = isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)
    return error.message if named else error.format_message()


def _field(error: click.ClickException, command: click.Command) -> str | None:
    """Return the parameter that is wrong: the one click names, or the first word of the message."""
    parameter = getattr(error, "param", None)
    if parameter is not None:
        return str(parameter.name)
    word = error.message.partition(" ")[0]
    known = {p.name for p in command.params}
    return word if isinstance(error, click.UsageError) and word in known else None
