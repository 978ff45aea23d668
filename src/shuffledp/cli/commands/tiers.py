"""``shuffledp tiers``: users who choose their own level."""

from __future__ import annotations

from dataclasses import replace

import click

from shuffledp.accounting import Group, OpenGroup, Setting, calibrate_tiers
from shuffledp.basics.errors import MAX_USERS
from shuffledp.basics.wording import shorten
from shuffledp.cli.answers.asked import delta_answer, epsilon_answer
from shuffledp.cli.answers.printable import Printable, question
from shuffledp.cli.answers.tiers_answer import TiersAnswer
from shuffledp.cli.parameters import DELTA, EPSILON, optional, reading, whole
from shuffledp.cli.setting_options import CORRUPTED, FILES
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


_GROUP = click.Option(
    ["--group", "groups"],
    multiple=True,
    callback=read_groups,
    metavar='"MECHANISM=USERS"',
    help='A tier, for example "krr(k=10, epsilon0=1)=500"; give one per tier. Tiers without '
    'epsilon0, as "krr(k=10)=500", get the largest common one that meets --epsilon and --delta.',
)

_DUMMIES = click.Option(
    ["--dummies"],
    callback=reading(whole("dummies", 0, MAX_USERS)),
    metavar="INTEGER",
    help="Reports from the common blanket law that are added to those of the users. Default: 0.",
)


@question(_GROUP, optional(DELTA), optional(EPSILON), _DUMMIES, CORRUPTED, *FILES)
def tiers(
    setting: Setting,
    groups: tuple[Group | OpenGroup, ...],
    delta: float | None,
    epsilon: float | None,
    dummies: int | None,
) -> Printable:
    """Find epsilon, delta or a level of users with different levels.

    All reports go through one shuffler. Every tier gets its own answer: users of mechanisms that
    share a blanket law hide each other, whatever their levels.
    """
    dummies = setting.dummies if dummies is None else dummies
    given = [group for group in groups if isinstance(group, Group)]
    try:
        if len(given) < len(groups):
            return _solved(groups, delta, epsilon, dummies, setting)
        if (delta is None) == (epsilon is None):
            raise click.UsageError("give one of --delta and --epsilon: the other one is answered")
        asked = replace(setting, groups=tuple(given) or setting.groups, dummies=dummies)
        if not asked.groups:
            raise click.UsageError("Missing option '--group': give it, or '--setting'")
        if delta is not None:
            return epsilon_answer(asked, delta, None)
        return delta_answer(asked, epsilon or 0.0, None)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _solved(
    groups: tuple[Group | OpenGroup, ...],
    delta: float | None,
    epsilon: float | None,
    dummies: int,
    setting: Setting,
) -> TiersAnswer:
    """Return the answer for the largest level of the tiers that have none."""
    if delta is None or epsilon is None:
        raise click.UsageError("tiers without epsilon0 need both --epsilon and --delta")
    found = calibrate_tiers(
        groups,
        target_epsilon=epsilon,
        target_delta=delta,
        dummies=dummies,
        corrupted=setting.corrupted,
    )
    accountant = found.accountant
    return TiersAnswer(accountant, accountant.epsilon_tiers(delta), "epsilon", delta, found)
