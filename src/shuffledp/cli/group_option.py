"""The option ``--group``: a tier of users, whose level may still be open."""

from __future__ import annotations

import click

from shuffledp.accounting import Group, OpenGroup
from shuffledp.basics.errors import MAX_USERS
from shuffledp.basics.wording import shorten
from shuffledp.cli.parameters import reading, whole
from shuffledp.mechanisms import parse


def read_group(text: str) -> Group | OpenGroup:
    """Read ``krr(k=10, epsilon0=1)=500``, or ``krr(k=10)=500`` whose level is looked for."""
    mechanism, sign, count = text.rpartition("=")
    if not sign or not mechanism.strip().endswith(")"):
        raise ValueError(
            "group must be a mechanism, = and a number of users, such as "
            f'"krr(k=10, epsilon0=1)=500", got {shorten(text, 60)!r}'
        )
    n = whole("the number of users", 1, MAX_USERS)(count)
    try:
        return Group(parse(mechanism), n)
    except ValueError:
        try:
            return OpenGroup(mechanism.strip(), n)
        except ValueError:
            pass
        raise


def read_groups(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[Group | OpenGroup, ...]:
    """Read all groups."""
    read = reading(read_group)
    return tuple(group for text in texts if (group := read(ctx, param, text)) is not None)


GROUP = click.Option(
    ["--group", "groups"],
    multiple=True,
    callback=read_groups,
    metavar='"MECHANISM=USERS"',
    help='A tier, for example "krr(k=10, epsilon0=1)=500"; give one per tier. Tiers without '
    'epsilon0, as "krr(k=10)=500", get the largest common one that meets --epsilon and --delta.',
)

DUMMIES = click.Option(
    ["--dummies"],
    callback=reading(whole("dummies", 0, MAX_USERS)),
    metavar="INTEGER",
    help="Reports from the common blanket law that are added to those of the users. Default: 0.",
)
