"""``shuffledp tiers``: users who choose their own level."""

from __future__ import annotations

import math
from fractions import Fraction

import click

from shuffledp.accounting import (
    Group,
    MixedAccountant,
    OpenGroup,
    Tier,
    TierCalibration,
    calibrate_tiers,
)
from shuffledp.accounting.assumptions import assumptions_of, noteworthy
from shuffledp.accounting.report import level_fields
from shuffledp.basics.errors import MAX_USERS
from shuffledp.basics.rounding import plain, round_down, round_up
from shuffledp.basics.wording import fill, shorten
from shuffledp.cli.answers.document import envelope
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import (
    CORRUPTED,
    DELTA,
    EPSILON,
    JSON,
    optional,
    reading,
    whole,
)
from shuffledp.cli.terminal import progress
from shuffledp.mechanisms import parse

_WIDEST = 56  # characters of a mechanism in the table: tiers must be told apart

_TIER = "which tier a user is in does not depend on the data"
_DUMMIES = "dummies are drawn from the common blanket law by somebody whom the users trust"


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
    required=True,
    callback=read_groups,
    metavar='"MECHANISM=USERS"',
    help='A tier, for example "krr(k=10, epsilon0=1)=500"; give one per tier. Tiers without '
    'epsilon0, as "krr(k=10)=500", get the largest common one that meets --epsilon and --delta.',
)

_DUMMIES_OPTION = click.Option(
    ["--dummies"],
    callback=reading(whole("dummies", 0, MAX_USERS)),
    metavar="INTEGER",
    default="0",
    show_default=True,
    help="Reports from the common blanket law that are added to those of the users.",
)


@click.command(
    params=[_GROUP, optional(DELTA), optional(EPSILON), _DUMMIES_OPTION, CORRUPTED, JSON],
    epilog=EPILOG,
)
def tiers(
    groups: tuple[Group | OpenGroup, ...],
    delta: float | None,
    epsilon: float | None,
    dummies: int,
    corrupted: int | Fraction,
    as_json: bool,
) -> None:
    """Find epsilon, delta or a level of users with different levels.

    All reports go through one shuffler. Every tier gets its own answer: users of mechanisms that
    share a blanket law hide each other, whatever their levels.
    """
    given = [group for group in groups if isinstance(group, Group)]
    if len(given) < len(groups):
        if delta is None or epsilon is None:
            raise click.UsageError("tiers without epsilon0 need both --epsilon and --delta")
    elif (delta is None) == (epsilon is None):
        raise click.UsageError("give one of --delta and --epsilon: the other one is answered")
    answer = _to_json if as_json else _to_text
    try:
        with progress():
            if epsilon is not None and delta is not None:
                solved = calibrate_tiers(
                    groups,
                    target_epsilon=epsilon,
                    target_delta=delta,
                    dummies=dummies,
                    corrupted=corrupted,
                )
                found = solved.accountant.epsilon_tiers(delta)
                text = answer(solved.accountant, found, "epsilon", delta, solved)
            else:
                accountant = MixedAccountant(given, dummies=dummies, corrupted=corrupted)
                if delta is not None:
                    found = accountant.epsilon_tiers(delta)
                    text = answer(accountant, found, "epsilon", delta)
                else:
                    found = accountant.delta_tiers(epsilon or 0.0)
                    text = answer(accountant, found, "delta", epsilon or 0.0)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    click.echo(text)


def _to_text(
    accountant: MixedAccountant,
    found: tuple[Tier, ...],
    quantity: str,
    given: float,
    solved: TierCalibration | None = None,
) -> str:
    name = "delta" if quantity == "epsilon" else "epsilon"
    rows = [("mechanism", "users", quantity, "lower bound", "hidden among")]
    for tier in found:
        upper = tier.guarantee.upper
        rows.append(
            (
                shorten(str(tier.group.randomizer), _WIDEST),
                f"{tier.group.n:,}",
                round_up(upper),
                round_down(tier.lower_bound) if tier.lower_bound else "none",
                tier.among,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    crowd = f"{accountant.crowd}"
    if accountant.dummies:
        crowd += f", and {accountant.dummies:,} dummies"
    worst = max(tier.guarantee.upper for tier in found)
    meaning = (
        f"With {crowd}, the shuffled reports have {quantity} = {round_up(worst)} at {name} = "
        f"{plain(given)} for everybody, and what the table says for each tier."
    )
    facts = noteworthy(group.randomizer for group in accountant.groups)
    paragraphs = (meaning, *(f"This assumes that {fact}." for fact in facts))
    if solved is not None:
        level = round_down(solved.epsilon0)
        lines = [f"epsilon0  {level}  (the largest safe common level, rounded down)", "", *lines]
    return "\n".join([*lines, "", *map(fill, paragraphs)])


def _to_json(
    accountant: MixedAccountant,
    found: tuple[Tier, ...],
    quantity: str,
    given: float,
    solved: TierCalibration | None = None,
) -> str:
    name = "delta" if quantity == "epsilon" else "epsilon"
    fields: dict[str, object] = {
        "n": accountant.n,
        "dummies": accountant.dummies,
        "corrupted": accountant.crowd.corrupted,
        "quantity": quantity,
        f"target_{name}": given,
        f"target_{quantity}": None if solved is None else solved.target_epsilon,
        "epsilon0": None if solved is None else solved.epsilon0,
        "tiers": [
            {
                "mechanism": str(tier.group.randomizer),
                "relation": tier.relation.to_dict(),
                **level_fields(tier.group.randomizer),
                "n": tier.group.n,
                "guarantee": {
                    end: value if math.isfinite(value) else None
                    for end, value in (
                        ("lower", tier.guarantee.lower),
                        ("upper", tier.guarantee.upper),
                    )
                },
                "lower_bound": tier.lower_bound if math.isfinite(tier.lower_bound) else None,
                "among": tier.among,
                "datasets": None if tier.datasets is None else str(tier.datasets),
            }
            for tier in found
        ],
    }
    mechanisms = [group.randomizer for group in accountant.groups]
    facts = (*assumptions_of(mechanisms), _TIER, *accountant.crowd.assumptions)
    return envelope("tiers", fields, (*facts, _DUMMIES) if accountant.dummies else facts)
