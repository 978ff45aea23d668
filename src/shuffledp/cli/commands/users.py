"""``shuffledp users``: the smallest crowd that is enough."""

from __future__ import annotations

import click

from shuffledp.accounting import Setting, required_users
from shuffledp.basics.errors import MAX_USERS
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import shorten
from shuffledp.cli.answers.printable import Printable, question
from shuffledp.cli.answers.solution import solution
from shuffledp.cli.parameters import DELTA, EPSILON, MECHANISM, optional
from shuffledp.cli.setting_options import CONDITIONS, complete, refuse


@question(optional(MECHANISM), EPSILON, DELTA, *CONDITIONS)
def users(setting: Setting, epsilon: float, delta: float) -> Printable:
    """Find the smallest n that meets epsilon and delta.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them. If the file of --setting says a number of users, the smallest one
    is found nevertheless.
    """
    refuse(setting, "the number of users is found for one mechanism", "groups")
    try:
        most = complete(setting.of(n=MAX_USERS))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    found = required_users(
        most.randomizer,
        target_epsilon=epsilon,
        target_delta=delta,
        **setting.conditions,
    )
    crowd = found.setting.crowd
    return solution(
        head=(
            ("mechanism", shorten(str(found.mechanism))),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("users", f"{crowd.in_figures}  (the smallest safe number)"),
        ),
        report=found.report,
        met=epsilon,
    )
