"""``shuffledp calibrate``: the least local noise that is still safe."""

from __future__ import annotations

import click

from shuffledp.accounting import Calibration, Setting, calibrate_epsilon0
from shuffledp.basics.rounding import plain, round_down
from shuffledp.basics.wording import shorten
from shuffledp.cli.answers.printable import Printable, question
from shuffledp.cli.answers.solution import solution
from shuffledp.cli.parameters import DELTA, EPSILON, FAMILY, USERS, optional
from shuffledp.cli.setting_options import CONDITIONS, refuse


@question(FAMILY, optional(USERS), EPSILON, DELTA, *CONDITIONS)
def calibrate(setting: Setting, family: str, epsilon: float, delta: float) -> Printable:
    """Find the largest epsilon0 that meets epsilon and delta.

    FAMILY is a mechanism without epsilon0, for example "krr(k=10)"; see "shuffledp mechanisms" for
    all of them. In a composition every part without epsilon0 gets the same one.
    """
    refuse(setting, "epsilon0 is found for one mechanism; 'tiers' does so for groups", "groups")
    if setting.n is None:
        raise click.UsageError("Missing option '-n' / '--users': give it, or '--setting'")
    found = calibrate_epsilon0(
        family,
        n=setting.n,
        target_epsilon=epsilon,
        target_delta=delta,
        **setting.conditions,
    )
    return solution(
        head=(
            ("family", shorten(family)),
            ("users", setting.crowd.in_figures),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("epsilon0", _show(found)),
            ("mechanism", str(found.mechanism)),
        ),
        report=found.report,
        met=epsilon,
        family=family,
        epsilon0=found.epsilon0,
    )


def _show(found: Calibration) -> str:
    """Return epsilon0 in few digits, or in all where a smaller one can be less private."""
    if found.mechanism.monotone:
        return f"{round_down(found.epsilon0)}  (the largest safe value, rounded down)"
    return f"{found.epsilon0!r}  (the largest safe value found)"
