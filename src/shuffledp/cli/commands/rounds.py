"""``shuffledp rounds``: what several collections reveal together, and how many fit."""

from __future__ import annotations

import click

from shuffledp.accounting import Rounds, Setting, ShuffleAccountant, max_rounds
from shuffledp.accounting.setting import ROUNDS_RTOL
from shuffledp.basics.errors import MAX_ROUNDS, MAX_USERS, check_rtol, check_total_epsilon
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import shorten
from shuffledp.cli.answers.asked import delta_of_rounds, epsilon_of_rounds
from shuffledp.cli.answers.printable import question
from shuffledp.cli.answers.rounds_answer import RoundsAnswer
from shuffledp.cli.parameters import DELTA, EPSILON, number, optional, reading, whole
from shuffledp.cli.setting_options import SETTING, complete, is_typed, refuse
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


_KINDS = click.Option(
    ["--round", "kinds"],
    type=(str, str, str),
    callback=_read_kinds,
    multiple=True,
    metavar="TIMES MECHANISM USERS",
    help='More rounds, of another kind: 4 "oue(epsilon0=1)" 50000. May be repeated.',
)

_RTOL = click.Option(
    ["--rtol"],
    callback=reading(number("rtol", check_rtol)),
    metavar="NUMBER",
    default=str(ROUNDS_RTOL),
    show_default=True,
    help="Relative width of the enclosure of epsilon, from 1e-10 to 0.5.",
)

_EPSILON = optional(EPSILON)
_EPSILON.callback = reading(number("epsilon", check_total_epsilon))
_EPSILON.help = "Privacy level of all rounds together, at least 0."


@question(*SETTING[:3], _KINDS, optional(DELTA), _EPSILON, *SETTING[3:], _RTOL)
def rounds(
    setting: Setting,
    kinds: tuple[tuple[int, LocalRandomizer, int], ...],
    delta: float | None,
    epsilon: float | None,
    rtol: float,
) -> RoundsAnswer:
    """Find what several rounds reveal together, or how many fit.

    MECHANISM is what each user runs in a round, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them. Give --delta to find epsilon, --epsilon to find delta, and both,
    without --times, to find how many rounds there may be.
    """
    refuse(setting, "nothing is proved about several rounds of groups", "groups")
    if epsilon is not None and delta is not None:
        if is_typed("rounds", "kinds", "at_most"):
            raise click.UsageError(
                "'--delta' and '--epsilon' together ask how many rounds of MECHANISM fit, without "
                "'--times', '--round' and '--at-most'"
            )
        return _how_many(setting, epsilon, delta, rtol)
    asked = _all(setting, kinds, rtol)
    if delta is not None:
        return epsilon_of_rounds(asked, delta)
    if epsilon is None:
        raise click.UsageError("one of '--delta' and '--epsilon' is needed")
    return delta_of_rounds(asked, epsilon)


def _all(
    setting: Setting, kinds: tuple[tuple[int, LocalRandomizer, int], ...], rtol: float
) -> Rounds:
    """Return all rounds; shares of corrupted users are of each kind's own."""
    if (setting.mechanism is None) != (setting.n is None):
        raise click.UsageError("MECHANISM and '-n' / '--users' belong together")
    if setting.mechanism is None and is_typed("rounds"):
        raise click.UsageError("MECHANISM and '--times' belong together")
    if setting.mechanism is None and not kinds:
        raise click.UsageError("rounds are missing: MECHANISM with '--times', or '--round'")
    try:
        pairs = [(_one(setting), setting.rounds)] if setting.mechanism is not None else []
        pairs += [(_one(setting.of(mechanism, n)), times) for times, mechanism, n in kinds]
        return Rounds(pairs, at_most=setting.at_most, rtol=rtol)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _one(setting: Setting) -> ShuffleAccountant:
    return ShuffleAccountant.of(complete(setting).one_round)


def _how_many(setting: Setting, epsilon: float, delta: float, rtol: float) -> RoundsAnswer:
    one = _one(setting)
    found = max_rounds(one, target_epsilon=epsilon, target_delta=delta, rtol=rtol)
    return RoundsAnswer(
        head=(
            ("mechanism", shorten(str(one.randomizer))),
            ("users", one.crowd.in_figures),
            ("target", f"epsilon = {plain(epsilon)}, delta = {plain(delta)}"),
            ("rounds", f"{found.times:,}  (the largest safe number)"),
        ),
        report=found.report,
        met=epsilon,
    )
