"""``shuffledp mechanisms``: the list of mechanisms and their parameters."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

import click

from shuffledp._version import __version__
from shuffledp.cli.document import to_json
from shuffledp.cli.facts import EPILOG
from shuffledp.cli.parameters import JSON
from shuffledp.randomizers import COMPOSITIONS, MECHANISMS, LocalRandomizer, parameters, parse

#: A sensible value of every parameter that has no default.
_EXAMPLE_VALUES: Mapping[str, object] = {
    "k": 10,
    "epsilon0": 1.0,
    "p": 0.75,
    "q": 0.25,
    "domain_size": 10,
    "sigma": 1.0,
    "bound": 4,
    "path": [[0.75, 0.25], [0.25, 0.75]],
}

_COMPOSED_EXAMPLES: Mapping[str, str] = {
    "joint": "joint(krr(k=10, epsilon0=1), oue(epsilon0=1))",
    "parallel": "parallel(0.5*krr(k=10, epsilon0=1), 0.5*blh(epsilon0=1))",
    "one_of": "one_of(0.5*krr(k=10, epsilon0=1), 0.5*oue(epsilon0=1))",
    "subsample": "subsample(krr(k=10, epsilon0=1), rate=0.1)",
}


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

    def __str__(self) -> str:
        return self.name if self.required else f"{self.name}={self.default!r}"


@dataclass(frozen=True)
class _Entry:
    name: str
    parameters: tuple[_Parameter, ...]
    meaning: str
    example: str

    def to_text(self) -> str:
        call = f"{self.name}({', '.join(map(str, self.parameters))})"
        return f"{call}\n  {self.meaning}\n  Example: {self.example}"


def _describe(name: str, mechanism: type[LocalRandomizer]) -> _Entry:
    known = []
    for key, parameter in parameters(mechanism).items():
        required = parameter.default is inspect.Parameter.empty
        known.append(_Parameter(key, required, None if required else parameter.default))
    values = (f"{p.name}={_EXAMPLE_VALUES[p.name]!r}" for p in known if p.required)
    example = _COMPOSED_EXAMPLES.get(name) or f"{name}({', '.join(values)})"
    return _Entry(name, tuple(known), _meaning(mechanism), str(parse(example)))


def _meaning(mechanism: type[LocalRandomizer]) -> str:
    """Return the first line of the docstring, its formulas as plain text."""
    line = (mechanism.__doc__ or "").partition("\n")[0]
    return re.sub(r":math:`(.*?)`", r"\1", line).replace(r"\varepsilon_0", "epsilon0")
