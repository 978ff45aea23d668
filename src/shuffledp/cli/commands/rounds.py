"""``shuffledp rounds``: what several collections reveal together, and how many fit."""

from __future__ import annotations

import math
from typing import Any

import click

from shuffledp.accounting import Rounds, ShuffleAccountant, max_rounds
from shuffledp.basics.errors import (
    MAX_ROUNDS,
    MAX_USERS,
    NoAnswerError,
    check_rtol,
    check_total_epsilon,
)
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import counted, shorten
from shuffledp.cli.answers.question import question
from shuffledp.cli.answers.rounds_answer import RoundsAnswer
from shuffledp.cli.answers.rounds_request import RoundsRequest
from shuffledp.cli.parameters import (
    BOUND,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    DELTA,
    EPSILON,
    USERS,
    VIEW,
    number,
    optional,
    reading,
    whole,
)
from shuffledp.mechanisms import LocalRandomizer, parse

_read_times, _read_users = whole("times", 1, MAX_ROUNDS), whole("n", 1, MAX_USERS)


def _read_kinds(
    ctx: click.Context, param: click.Parameter, texts: tuple[tuple[str, str, str], ...]
) -> tuple[tuple[int, LocalRandomizer, int], ...]:
    if ctx.resilient_parsing:
        return ()
    try:
        return tuple((_read_times(t), parse(text), _read_users(n)) for t, text, n in texts)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None


_MECHANISM = click.Argument(["mechanism"], required=False, callback=reading(parse))

_TIMES = click.Option(
    ["--times"],
    callback=reading(_read_times),
    metavar="INTEGER",
    help="Number of rounds of MECHANISM: 52 or 1e6. Without it, and with epsilon and delta both "
    "given, the largest safe number is found.",
)

_KINDS = click.Option(
    ["--round", "kinds"],
    type=(str, str, str),
    callback=_read_kinds,
    multiple=True,
    metavar="TIMES MECHANISM USERS",
    help='More rounds, of another kind: 4 "oue(epsilon0=1)" 50000. May be repeated.',
)

_AT_MOST = click.Option(
    ["--at-most"],
    callback=reading(whole("at-most", 1, MAX_ROUNDS)),
    metavar="INTEGER",
    help="In how many of the rounds a user takes part, whichever these are.",
)

_RTOL = click.Option(
    ["--rtol"],
    callback=reading(number("rtol", check_rtol)),
    metavar="NUMBER",
    default="1e-3",
    show_default=True,
    help="Relative width of the enclosure of epsilon, from 1e-10 to 0.5.",
)

_EPSILON = optional(EPSILON)
_EPSILON.callback = reading(number("epsilon", check_total_epsilon))
_EPSILON.help = "Privacy level of all rounds together, at least 0."


@question(
    _MECHANISM,
    optional(USERS),
    _TIMES,
    _KINDS,
    optional(DELTA),
    _EPSILON,
    _AT_MOST,
    BOUND,
    CORRUPTED,
    CORRUPTED_ADAPTIVELY,
    VIEW,
    _RTOL,
)
def rounds(**options: Any) -> RoundsAnswer:
    """Find what several rounds reveal together, or how many fit.

    MECHANISM is what each user runs in a round, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them. Give --delta to find epsilon, --epsilon to find delta, and both,
    without --times, to find how many rounds there may be.
    """
    request = RoundsRequest(**options)
    if request.budget is not None:
        return _how_many(request.accountant(), *request.budget, request.rtol)
    asked = request.rounds()
    if request.delta is not None:
        return _which_epsilon(asked, request.delta)
    epsilon = request.epsilon or 0.0
    head = (*_head(asked), ("epsilon", plain(epsilon)))
    return RoundsAnswer(head=head, report=asked.delta_report(epsilon))


def _which_epsilon(asked: Rounds, delta: float) -> RoundsAnswer:
    report = asked.epsilon_report(delta)
    if report.guarantee.upper == math.inf:
        raise NoAnswerError(
            f"no finite epsilon can be certified at so small a delta as {plain(delta)} for "
            f"{counted(asked.total, 'round')}"
        )
    return RoundsAnswer(head=(*_head(asked), ("delta", plain(delta))), report=report)


def _head(asked: Rounds) -> list[tuple[str, str]]:
    head = [
        (
            "" if place else "rounds",
            f"{kind.times:,} of {shorten(str(kind.accountant.randomizer))} "
            f"with {kind.accountant.crowd}",
        )
        for place, kind in enumerate(asked.kinds)
    ]
    if asked.at_most is not None:
        head.append(("at most", f"{asked.at_most:,} of them for each user"))
    return head


def _how_many(
    accountant: ShuffleAccountant, epsilon: float, delta: float, rtol: float
) -> RoundsAnswer:
    found = max_rounds(accountant, target_epsilon=epsilon, target_delta=delta, rtol=rtol)
    return RoundsAnswer(
        head=(
            ("mechanism", shorten(str(accountant.randomizer))),
            ("users", accountant.crowd.in_figures),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("rounds", f"{found.times:,}  (the largest safe number)"),
        ),
        report=found.report,
        met=epsilon,
    )
