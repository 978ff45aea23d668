"""The arguments and options of the commands, and how their text is read and checked."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn, TypeVar

import click

from shuffledp.basics.errors import (
    MAX_USERS,
    check_delta,
    check_epsilon,
    check_probability,
    check_rtol,
)
from shuffledp.basics.rounding import written, written_at_most
from shuffledp.basics.wording import shorten
from shuffledp.mechanisms import parse, parse_family

_MAX_ECHO = 60

_GROUPS = re.compile("[0-9]{1,3}(_[0-9]{3})+")

_LEAST_SHARE = Decimal("1e-18")  # of 2**53 users it is less than one

_T = TypeVar("_T")
_P = TypeVar("_P", bound=click.Parameter)


def reading(
    read: Callable[[str], _T],
) -> Callable[[click.Context, click.Parameter, str | None], _T | None]:
    """Return a callback that reads a value; what cannot be read is a usage error that names it.

    A value that was left out, or belongs to a line that the shell is completing, is None.
    """

    def callback(ctx: click.Context, param: click.Parameter, text: str | None) -> _T | None:
        if text is None or ctx.resilient_parsing:
            return None
        try:
            return read(text)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from None

    return callback


def optional(parameter: _P) -> _P:
    """Return the same parameter, which may be left out."""
    changed = copy.copy(parameter)
    changed.required = False
    return changed


def _read_family(text: str) -> str:
    parse_family(text)
    return text.strip()


def whole(name: str, least: int, most: int) -> Callable[[str], int]:
    """Return a reader of 10000, 1e4 or 10_000.

    Decimal neither rounds nor expands a huge exponent.
    """
    shown = f"2**{most.bit_length() - 1} = {most}" if most & (most - 1) == 0 else f"{most}"

    def read(text: str) -> int:
        try:
            number = written(text.replace("_", "") if _GROUPS.fullmatch(text) else text)
        except ValueError:
            _refuse(f"{name} must be a whole number such as 10000, 1e4 or 10_000", text)
        if not least <= number <= most:
            _refuse(f"{name} must be at least {least} and at most {shown}", text)
        if number != int(number):
            _refuse(f"{name} must be a whole number", text)
        return int(number)

    return read


def count_or_share(name: str) -> Callable[[str], int | Fraction]:
    """Return a reader of 500, 0.05 or 5%; whether it fits n is seen later.

    One user is 1, and nothing else: 1.0 could as well be the share of all.
    """

    def read(text: str) -> int | Fraction:
        digits = text.strip().removesuffix("%")
        try:
            number = written(digits)
        except ValueError:
            number = Decimal(-1)
        if not 0 <= number <= MAX_USERS:
            _refuse(f"{name} must be a number such as 500, or a share such as 0.05 or 5%", text)
        if 0 < number < _LEAST_SHARE:
            _refuse(f"{name} must be 0 or at least {_LEAST_SHARE}", text)
        share = Fraction(number) / (100 if digits != text.strip() else 1)
        if share < 1:
            return share if share else 0
        if digits != text.strip() or share.denominator != 1 or (share == 1 and digits != "1"):
            _refuse(f"{name} must be a whole number such as 1, or a share below 1", text)
        return int(share)

    return read


def number(name: str, check: Callable[[object, str], float]) -> Callable[[str], float]:
    """Return a reader of real numbers within the bounds of ``check``, rounded down to doubles."""

    def read(text: str) -> float:
        try:
            exact = written(text)
        except ValueError:
            _refuse(f"{name} must be a number", text)
        value = written_at_most(text)
        if value <= 0 < exact:
            _refuse(f"{name} must be 0 or at least 5e-324, the smallest double", text)
        return check(value, name)

    return read


def _refuse(rule: str, text: str) -> NoReturn:
    raise ValueError(f"{rule}, got {shorten(text, _MAX_ECHO)!r}")


MECHANISM = click.Argument(["mechanism"], metavar="MECHANISM", callback=reading(parse))

FAMILY = click.Argument(["family"], callback=reading(_read_family))

USERS = click.Option(
    ["-n", "--users", "n"],
    callback=reading(whole("n", 1, MAX_USERS)),
    metavar="INTEGER",
    required=True,
    help="Number of users, the one whose data changes included: 10000, 1e4 or 10_000.",
)

EPSILON = click.Option(
    ["--epsilon"],
    callback=reading(number("epsilon", check_epsilon)),
    metavar="NUMBER",
    required=True,
    help="Privacy level of the shuffled reports, at least 0.",
)

DELTA = click.Option(
    ["--delta"],
    callback=reading(number("delta", check_delta)),
    metavar="NUMBER",
    required=True,
    help="Failure probability of the shuffled reports, from 0 to 1.",
)

RTOL = click.Option(
    ["--rtol"],
    callback=reading(number("rtol", check_rtol)),
    metavar="NUMBER",
    help="Relative width of the enclosure of the guarantee, from 1e-10 to 0.5. Default: 1e-4, and "
    "1e-3 for several rounds.",
)


def confidence_option(default: str, meaning: str) -> click.Option:
    """Return the option ``--confidence``."""
    return click.Option(
        ["--confidence"],
        callback=reading(number("confidence", lambda value, name: check_probability(name, value))),
        metavar="NUMBER",
        default=default,
        show_default=True,
        help=meaning,
    )


JSON = click.Option(
    ["--json", "as_json"],
    is_flag=True,
    help="Print one JSON object with all digits; docs/json.md lists its fields.",
)
