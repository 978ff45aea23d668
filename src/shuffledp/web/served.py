"""What the page may ask: commands with the parameters that are allowed from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shuffledp.web.no_files import names_a_file
from shuffledp.web.reply import Reply

#: Longer values, such as a matrix that was pasted, are refused.
MAX_CHARACTERS = 20_000

_REFUSED = 2


@dataclass(frozen=True)
class Parameter:
    """A parameter of a command.

    Attributes:
        name: its name in an address.
        option: its option on the command line; None for an argument.
        meaning: what it is, for the list of all questions.
        required: whether it must be given.
        multiple: whether it may be given several times.
        most: the largest whole number that it may be, if it decides how long the work takes.
        mechanism: whether it is the text of a mechanism, or of a tier.
    """

    name: str
    option: str | None
    meaning: str
    required: bool = False
    multiple: bool = False
    most: int | None = None
    mechanism: bool = False


@dataclass(frozen=True)
class Served:
    """A command that the page may run.

    Attributes:
        name: its name in an address, and on the command line.
        meaning: what it answers.
        parameters: what may be given.
        fixed: options that are always given.
        media_type: what it prints.
    """

    name: str
    meaning: str
    parameters: Sequence[Parameter]
    fixed: Sequence[str] = ("--json",)
    media_type: str = "application/json"

    def arguments(self, given: Iterable[tuple[str, str]]) -> tuple[str, ...] | Reply:
        """Return the command line for what an address asks, or why that is refused."""
        known = {parameter.name: parameter for parameter in self.parameters}
        options, texts, seen = [], [], set()
        for name, value in given:
            parameter = known.get(name)
            if parameter is None:
                return Reply(_REFUSED, f"{self.name} takes {', '.join(known)}", name[:80])
            if name in seen and not parameter.multiple:
                return Reply(_REFUSED, f"{name} is given twice", name)
            seen.add(name)
            if why := _objection(parameter, value):
                return Reply(_REFUSED, why, name)
            if parameter.option is None:
                texts.append(value)
            else:
                options.append(f"{parameter.option}={value}")
        return (self.name, *self.fixed, *options, "--", *texts)


def _objection(parameter: Parameter, value: str) -> str | None:
    """Return what is wrong with a value before anything reads it; the command finds the rest."""
    if len(value) > MAX_CHARACTERS:
        return f"{parameter.name} must have at most {MAX_CHARACTERS} characters, got {len(value)}"
    # A tier is a mechanism, = and a number of users.
    if parameter.mechanism and (names_a_file(value) or names_a_file(value.rpartition("=")[0])):
        return (
            "files cannot be read from here; write the rows themselves: matrix([[0.75, 0.25], ...])"
        )
    if parameter.most is not None and not _is_at_most(value, parameter.most):
        allowed = f"a whole number of at most {parameter.most}"
        return f"{parameter.name} must be {allowed}, got {value[:40]!r}"
    return None


def _is_at_most(value: str, most: int) -> bool:
    return value.isascii() and value.isdecimal() and len(value) < 10 and int(value) <= most
