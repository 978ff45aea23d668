"""``shuffledp messages``: clear values among fabricated messages, or under noise in counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import click

from shuffledp.accounting.messages import (
    FabricatedMessages,
    NoisyCounts,
    fewest_devices,
    least_fabricated,
    least_noise,
)
from shuffledp.accounting.messages.counts_setting import CHANGES, CountsSetting, MessagesReport
from shuffledp.accounting.messages.noisy_counts import ADDED_BY, TRUST
from shuffledp.accounting.messages.solve import KINDS, NoiseKind
from shuffledp.basics.errors import check_integer, check_positive
from shuffledp.basics.rounding import gap, plain, round_down, round_up
from shuffledp.basics.wording import fill
from shuffledp.cli.answers.printable import question
from shuffledp.cli.answers.shown import envelope
from shuffledp.cli.parameters import (
    DELTA,
    EPSILON,
    USERS,
    number,
    optional,
    reading,
    whole,
)
from shuffledp.cli.setting_options import CORRUPTED
from shuffledp.mechanisms.messages.fabricated import (
    Fabricated,
    FixedNumber,
    Identity,
    PerDevice,
    PoissonPerValue,
    Reports,
    as_reports,
)

_FABRICATED: dict[str, Callable[[float], Fabricated]] = {
    "poisson": PoissonPerValue,
    "per-device": PerDevice,
    "fixed": lambda x: FixedNumber(check_integer("amount", x, 0)),
}

_NOISE: tuple[NoiseKind, ...] = get_args(NoiseKind)

#: What an amount is.
_AMOUNTS = {
    "poisson": "poisson_mean",
    "per-device": "probability",
    "fixed": "fabricated messages",
    "coins": "coins",
    "discrete_laplace": "level of noise",
    "discrete_gaussian": "sigma",
}


@dataclass(frozen=True, kw_only=True)
class MessagesAnswer:
    """A report, and what was solved for."""

    report: MessagesReport
    found: tuple[str, str] | None

    @property
    def setting(self) -> None:
        """None: files of settings know no fabricated messages."""

    def to_text(self) -> str:
        """Return aligned lines and one sentence of meaning."""
        report = self.report
        other = "delta" if report.quantity == "epsilon" else "epsilon"
        rows = [
            *([(self.found[0], f"{self.found[1]}  (found)")] if self.found else []),
            ("guarantee", f"{report.quantity} = {round_up(report.guarantee)}"),
            ("at", f"{other} = {plain(report.target)}"),
            ("lower bound", f"{report.quantity} = {round_down(report.lower_bound)}"),
            ("gap", gap(report.guarantee, report.lower_bound)),
        ]
        width = max(len(label) for label, _ in rows) + 2
        return "\n".join(
            [*(label.ljust(width) + value for label, value in rows), "", fill(report.sentence)]
        )

    def to_json(self, command: str) -> str:
        """Return one JSON object; docs/json.md documents its fields."""
        setting = self.report.setting
        facts = (
            f"{setting.seen} all that the analyst sees",
            f"neighbouring datasets {setting.change_in_words}",
            setting.warning,
        )
        return envelope(command, self.report.to_dict(), facts)


@question(
    click.Argument(["reports"], callback=reading(as_reports)),
    optional(USERS),
    optional(EPSILON),
    optional(DELTA),
    click.Option(
        ["--hide"],
        type=click.Choice([*_FABRICATED, *_NOISE]),
        default="poisson",
        show_default=True,
        help="What hides values. Fabricated messages: of every device, a Poisson number for every "
        "value, or one with a probability; or a fixed number in all. Or noise in every count.",
    ),
    click.Option(
        ["--amount"],
        callback=reading(number("amount", lambda value, name: check_positive(name, value))),
        metavar="NUMBER",
        help="How much of it: the mean per device and value, the probability, the number of "
        "messages or coins, the level of Laplace noise, or sigma. Left out, the least that meets "
        "both targets is found.",
    ),
    CORRUPTED,
    click.Option(
        ["--relation"],
        type=click.Choice(CHANGES),
        default=CHANGES[0],
        show_default=True,
        help="What neighbouring datasets do with the values of one user.",
    ),
    click.Option(
        ["--values"],
        callback=reading(whole("values", 1, 10_000)),
        metavar="INTEGER",
        default="1",
        show_default=True,
        help="How many different values a user sends.",
    ),
    click.Option(
        ["--added-by"],
        type=click.Choice(ADDED_BY),
        default="protocol",
        show_default=True,
        help="Who adds noise to counts: every client, every aggregator, or one protocol, once.",
    ),
    click.Option(
        ["--trust"],
        type=click.Choice(TRUST),
        default="OAOC",
        show_default=True,
        help="Whose noise counts: of one aggregator and most clients, of one aggregator and one "
        "client, or of one client.",
    ),
)
def messages(
    reports: Reports,
    n: int | None,
    epsilon: float | None,
    delta: float | None,
    hide: str,
    amount: float | None,
    corrupted: int | Fraction | None,
    relation: str,
    values: int,
    added_by: str,
    trust: str,
) -> MessagesAnswer:
    """Account for fabricated messages, or noise in counts.

    REPORTS is what users send: clear values such as "identity(k=10)", or "krr(k=10, epsilon0=2)".
    One of --epsilon, --delta, --amount and -n is left out, and found. The local level of clear
    values is infinite.
    """
    own: dict[str, Any] = {"relation": relation, "values": values, "corrupted": corrupted or 0}
    is_noise = hide in _NOISE
    if is_noise:
        if not isinstance(reports, Identity):
            raise click.UsageError(f"{hide} in counts is for clear values: identity(k=...)")
        own |= {"added_by": added_by, "trust": trust, "n": n or 1}
    given = {"--epsilon": epsilon, "--delta": delta, "--amount": amount}
    given |= {} if is_noise else {"-n": n}
    left_out = [name for name, value in given.items() if value is None]
    if len(left_out) != 1:
        raise click.UsageError(
            f"one of {', '.join(given)} must be left out, which is found; left out are "
            f"{', '.join(left_out) or 'none'}"
        )
    try:
        if epsilon is None or delta is None:
            setting = _made(reports, n, hide, amount or 0.0, own)
            found = None
        elif amount is None:
            setting, found = _least(reports, n, hide, (epsilon, delta), own)
        else:
            setting, found = _threshold(reports, _FABRICATED[hide](amount), (epsilon, delta), own)
        report = (
            setting.delta_report(epsilon or 0.0) if delta is None else setting.epsilon_report(delta)
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return MessagesAnswer(report=report, found=found)


def _made(
    reports: Reports, n: int | None, hide: str, amount: float, own: dict[str, Any]
) -> CountsSetting:
    """Return the setting that is given in full."""
    if hide in _FABRICATED:
        return FabricatedMessages(reports, n or 1, _FABRICATED[hide](amount), **own)
    return NoisyCounts(f"{hide}({plain(amount)})", **own)


def _least(
    reports: Reports, n: int | None, hide: str, target: tuple[float, float], own: dict[str, Any]
) -> tuple[CountsSetting, tuple[str, str]]:
    """Return the setting with the least amount, and that amount."""
    own |= {"target_epsilon": target[0], "target_delta": target[1]}
    for noise in _NOISE:
        if noise == hide:
            counts = least_noise(noise, **own)
            return counts, (_AMOUNTS[hide], plain(counts.noise.amount))
    for kind in KINDS:
        if kind == hide.replace("-", " "):
            setting = least_fabricated(reports, n or 1, kind, **own)
            return setting, (_AMOUNTS[hide], plain(setting.fabricated.amount))
    raise ValueError(f"hide must be one of {', '.join(_AMOUNTS)}, got {hide!r}")


def _threshold(
    reports: Reports, fabricated: Fabricated, target: tuple[float, float], own: dict[str, Any]
) -> tuple[CountsSetting, tuple[str, str]]:
    """Return the setting with the fewest devices."""
    setting = fewest_devices(
        reports, fabricated, target_epsilon=target[0], target_delta=target[1], **own
    )
    return setting, ("users", f"{setting.n:,}")
