"""``shuffledp certify``: an answer as a proof that others can check."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from shuffledp.accounting import ShuffleAccountant
from shuffledp.cli.facts import EPILOG
from shuffledp.cli.parameters import DELTA, EPSILON, MECHANISM, USERS, optional
from shuffledp.cli.ticker import ticking
from shuffledp.randomizers import LocalRandomizer


@click.command(params=[MECHANISM, USERS, optional(DELTA), optional(EPSILON)], epilog=EPILOG)
def certify(mechanism: LocalRandomizer, n: int, delta: float | None, epsilon: float | None) -> None:
    """Prove the epsilon at a delta, or the delta at an epsilon.

    The answer is computed again in ball arithmetic, rounding included, and printed as a certificate
    (JSON) that "shuffledp verify" checks. Needs the extra "certify".

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    if (delta is None) == (epsilon is None):
        raise click.UsageError("give one of --delta and --epsilon: the other one is proved")
    from shuffledp.certification import certify as prove

    accountant = ShuffleAccountant(mechanism, n)
    with proving() as progress:
        certificate = prove(
            accountant, target_delta=delta, target_epsilon=epsilon, progress=progress
        )
    click.echo(certificate.to_json())


@contextmanager
def proving() -> Iterator[Callable[[str, float], None]]:
    """Give a function that takes what is being done and which share of it is done.

    It is shown with the time that is left.
    """
    state = ("", 0.0, time.monotonic())

    def report(what: str, share: float) -> None:
        nonlocal state
        begun = state[2] if what == state[0] and share > state[1] else time.monotonic()
        state = (what, share, begun)

    def line(elapsed: float) -> str:
        what, share, begun = state
        return show(elapsed, what, share, time.monotonic() - begun)

    with ticking(line):
        yield report


def show(elapsed: float, what: str, share: float, in_step: float) -> str:
    """Return the line for a terminal.

    >>> show(12.0, "contour", 0.25, 5.0)
    'proving for 12 s; contour: 25%, about 15 s left'
    >>> show(3.0, "", 0.0, 3.0)
    'proving for 3 s ...'
    """
    if share <= 0:
        return f"proving for {elapsed:.0f} s ..."
    left = in_step * (1 - share) / share
    return f"proving for {elapsed:.0f} s; {what}: {share:.0%}, about {left:.0f} s left"
