"""``shuffledp mechanisms``: the list of mechanisms and their parameters."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import Literal, get_args, get_origin, get_type_hints

import click

from shuffledp._version import __version__
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.shown import to_json
from shuffledp.cli.parameters import JSON
from shuffledp.mechanisms import COMPOSITIONS, MECHANISMS, LocalRandomizer, parameters


@click.command(params=[JSON], epilog=EPILOG)
def mechanisms(as_json: bool) -> None:
    """List all mechanisms: name, parameters, meaning, an example.

    A parameter with "=" may be left out. domain_size=None stands for the limit of large domains,
    which is an upper bound for every size. The path of a matrix may also be the rows themselves.
    joint, parallel, one_of and subsample combine other mechanisms as their examples show.
    """
    known = {**MECHANISMS, **COMPOSITIONS}
    entries = [_describe(name, mechanism) for name, mechanism in known.items()]
    if as_json:
        fields = {
            "mechanisms": [dataclasses.asdict(entry) for entry in entries],
            "version": __version__,
        }
        click.echo(to_json(fields))
    else:
        click.echo("\n\n".join(entry.to_text() for entry in entries))


@dataclass(frozen=True)
class _Parameter:
    name: str
    required: bool
    default: object
    choices: tuple[object, ...] | None

    def __str__(self) -> str:
        return self.name if self.required else f"{self.name}={self.default!r}"


@dataclass(frozen=True)
class _Entry:
    name: str
    parameters: tuple[_Parameter, ...]
    meaning: str
    example: str | None

    def to_text(self) -> str:
        call = f"{self.name}({', '.join(map(str, self.parameters))})"
        shown = "" if self.example is None else f"\n  Example: {self.example}"
        return f"{call}\n  {self.meaning}{shown}"


def _describe(name: str, mechanism: type[LocalRandomizer]) -> _Entry:
    known = []
    for key, parameter in parameters(mechanism).items():
        required = parameter.default is inspect.Parameter.empty
        default = None if required else parameter.default
        known.append(_Parameter(key, required, default, _choices(mechanism, key)))
    return _Entry(name, tuple(known), _meaning(mechanism), mechanism.example)


def _choices(mechanism: type[LocalRandomizer], parameter: str) -> tuple[object, ...] | None:
    """Return the values that a parameter may have, where its type lists them."""
    try:
        hint = get_type_hints(mechanism).get(parameter)
    except NameError:  # of a mechanism of one's own, imported for type checkers only
        return None
    return get_args(hint) if get_origin(hint) is Literal else None


def _meaning(mechanism: type[LocalRandomizer]) -> str:
    """Return the first line of the docstring, its formulas as plain text."""
    line = (mechanism.__doc__ or "").partition("\n")[0]
    return re.sub(r":math:`(.*?)`", r"\1", line).replace(r"\varepsilon_0", "epsilon0")
