"""``shuffledp tiers``: users who choose their own level."""

from __future__ import annotations

from dataclasses import replace

import click

from shuffledp.accounting import Group, OpenGroup, Setting, calibrate_tiers
from shuffledp.cli.answers.asked import delta_answer, epsilon_answer
from shuffledp.cli.answers.printable import Printable, question
from shuffledp.cli.answers.tiers_answer import TiersAnswer
from shuffledp.cli.group_option import DUMMIES, GROUP
from shuffledp.cli.parameters import DELTA, EPSILON, optional
from shuffledp.cli.setting_options import CORRUPTED, FILES


@question(GROUP, optional(DELTA), optional(EPSILON), DUMMIES, CORRUPTED, *FILES)
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
