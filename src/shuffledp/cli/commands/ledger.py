"""``shuffledp ledger``: record rounds as they happen; what was spent, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from shuffledp.accounting.setting import DEFAULT_BOUND, Bound
from shuffledp.basics.errors import MAX_ROUNDS, check_total_epsilon
from shuffledp.cli.answers.ledger_answer import LedgerAnswer
from shuffledp.cli.answers.printable import question
from shuffledp.cli.parameters import (
    DELTA,
    EPSILON,
    USERS,
    number,
    optional,
    reading,
    whole,
)
from shuffledp.cli.setting_options import BOUND
from shuffledp.cli.signals import ending_tidily
from shuffledp.deployment.files import Ledger
from shuffledp.mechanisms import LocalRandomizer, parse

ACTIONS = ("new", "add", "show")

#: The options that each action takes, by their names on the command line.
_TAKEN = {
    "new": {"--epsilon", "--delta", "--bound", "--adaptive"},
    "add": {"MECHANISM", "-n", "--times", "--beyond"},
    "show": {"MECHANISM", "-n"},
}


@dataclass(frozen=True, kw_only=True)
class LedgerRequest:
    """The options of the command line, by their names there."""

    action: str
    ledger: str
    mechanism: LocalRandomizer | None
    n: int | None
    times: int | None
    beyond: bool
    epsilon: float | None
    delta: float | None
    bound: Bound | None
    adaptive: bool

    def __post_init__(self) -> None:
        """Refuse what is missing, and what would be ignored."""
        given = {
            "MECHANISM": self.mechanism is not None,
            "-n": self.n is not None,
            "--times": self.times is not None,
            "--beyond": self.beyond,
            "--epsilon": self.epsilon is not None,
            "--delta": self.delta is not None,
            "--bound": self.bound is not None,
            "--adaptive": self.adaptive,
        }
        taken = _TAKEN[self.action]
        for name, is_given in given.items():
            if is_given and name not in taken:
                raise click.UsageError(f"{name} is not for 'ledger {self.action}'")
        if self.action == "new":
            _ = self.budget
        elif self.action == "add" or self.mechanism is not None or self.n is not None:
            _ = self.kind

    @property
    def budget(self) -> tuple[float, float]:
        """Epsilon and delta."""
        if self.epsilon is None or self.delta is None:
            raise click.UsageError("'ledger new' needs both '--epsilon' and '--delta'")
        return self.epsilon, self.delta

    @property
    def kind(self) -> tuple[LocalRandomizer, int]:
        """The mechanism and the number of users."""
        if self.mechanism is None or self.n is None:
            raise click.UsageError("MECHANISM and '-n' / '--users' belong together")
        return self.mechanism, self.n


_EPSILON, _BOUND = optional(EPSILON), optional(BOUND)
_EPSILON.callback = reading(number("epsilon", check_total_epsilon))
_EPSILON.help = "With new: the epsilon that all rounds together may reach."
_BOUND.help = "With new: which bound counts the cost, best (if left out) or blanket."
_DELTA = optional(DELTA)
_DELTA.help = "With new: the delta at which they may reach it."


@question(
    click.Argument(["action"], type=click.Choice(ACTIONS)),
    click.Argument(["ledger"]),
    click.Argument(["mechanism"], required=False, callback=reading(parse)),
    optional(USERS),
    click.Option(
        ["--times"],
        callback=reading(whole("times", 1, MAX_ROUNDS)),
        metavar="INTEGER",
        help="With add: how many rounds, 1 if left out.",
    ),
    click.Option(
        ["--beyond"],
        is_flag=True,
        help="With add: record rounds that happened already, even beyond the budget.",
    ),
    _EPSILON,
    _DELTA,
    _BOUND,
    click.Option(
        ["--adaptive"],
        is_flag=True,
        help="With new: rounds may be chosen after looking at results; fewer fit.",
    ),
)
def ledger(**options: Any) -> LedgerAnswer:
    """Record rounds as they happen; see what is spent and left.

    ACTION is new (begin a ledger with the budget --epsilon and --delta), add (record a round of
    MECHANISM with -n users, unless it exceeds the budget) or show (what is spent; with MECHANISM
    and -n also how many such rounds still fit). LEDGER is the file. MECHANISM is what each user
    runs, for example "krr(k=10, epsilon0=2)".

    Rounds must be planned in advance. If mechanisms or numbers of users are chosen after looking at
    results, a privacy filter is needed: begin the ledger with --adaptive.
    """
    request = LedgerRequest(**options)
    try:
        with ending_tidily():
            return LedgerAnswer.of(*_act(request))
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _act(request: LedgerRequest) -> tuple[Ledger, tuple[str, int, int] | None]:
    """Return the ledger afterwards, and what was asked about the rounds that still fit."""
    if request.action == "new":
        epsilon, delta = request.budget
        created = Ledger.create(
            request.ledger,
            epsilon=epsilon,
            delta=delta,
            bound=request.bound or DEFAULT_BOUND,
            adaptive=request.adaptive,
        )
        return created, None
    found = Ledger(request.ledger)
    if request.action == "add":
        found.add(*request.kind, request.times or 1, beyond=request.beyond)
        return found, None
    if request.mechanism is None:
        return found, None
    mechanism, n = request.kind
    return found, (str(mechanism), n, found.fitting(mechanism, n))
