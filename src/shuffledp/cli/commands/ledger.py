"""``shuffledp ledger``: record rounds as they happen; what was spent, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from shuffledp.accounting.setting import DEFAULT_BOUND, Bound, Setting
from shuffledp.basics.errors import check_total_epsilon
from shuffledp.cli.answers.ledger_answer import LedgerAnswer
from shuffledp.cli.answers.printable import question
from shuffledp.cli.parameters import DELTA, EPSILON, number, optional, reading
from shuffledp.cli.setting_options import BOUND, SAVE, SETTING, is_typed
from shuffledp.cli.signals import ending_tidily
from shuffledp.deployment.files import Ledger
from shuffledp.deployment.ledger.ledger import OneRound

ACTIONS = ("new", "add", "show")

#: What says which rounds are meant.
_OF_A_ROUND = {
    "MECHANISM",
    "-n",
    "--corrupted",
    "--corrupted-adaptively",
    "--view",
    "--setting",
}

#: The options that each action takes, by their names on the command line.
_TAKEN = {
    "new": {"--epsilon", "--delta", "--bound", "--adaptive"},
    "add": {*_OF_A_ROUND, "--times", "--beyond"},
    "show": _OF_A_ROUND,
}


@dataclass(frozen=True, kw_only=True)
class LedgerRequest:
    """The options of the command line, by their names there."""

    action: str
    ledger: str
    setting: Setting
    given: tuple[str, ...]
    beyond: bool
    epsilon: float | None
    delta: float | None
    bound: Bound | None
    adaptive: bool

    def __post_init__(self) -> None:
        """Refuse what is missing, and what would be ignored."""
        given = {
            **dict.fromkeys(self.given, True),
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
        elif self.action == "add" or _OF_A_ROUND & {*self.given}:
            self._check_round()

    def _check_round(self) -> None:
        if self.setting.mechanism is None or self.setting.n is None:
            raise click.UsageError("MECHANISM and '-n' / '--users' belong together")
        if self.setting.at_most is not None:
            raise click.UsageError(
                "a ledger counts every round for everybody: leave out '--at-most'"
            )

    @property
    def budget(self) -> tuple[float, float]:
        """Epsilon and delta."""
        if self.epsilon is None or self.delta is None:
            raise click.UsageError("'ledger new' needs both '--epsilon' and '--delta'")
        return self.epsilon, self.delta

    @property
    def one_round(self) -> OneRound:
        """What is said of a round besides mechanism and users."""
        crowd = self.setting.crowd
        return {
            "corrupted": crowd.corrupted,
            "corrupted_adaptively": crowd.corrupted_adaptively,
            "view": self.setting.view,
        }


_EPSILON, _BOUND = optional(EPSILON), optional(BOUND)
_EPSILON.callback = reading(number("epsilon", check_total_epsilon))
_EPSILON.help = "With new: the epsilon that all rounds together may reach."
_BOUND.help = "With new: which bound counts the cost, best (if left out) or blanket."
_DELTA = optional(DELTA)
_DELTA.help = "With new: the delta at which they may reach it."


_ROUND = {
    "mechanism": "MECHANISM",
    "n": "-n",
    "rounds": "--times",
    "corrupted": "--corrupted",
    "corrupted_adaptively": "--corrupted-adaptively",
    "view": "--view",
    "setting_file": "--setting",
}


@question(
    click.Argument(["action"], type=click.Choice(ACTIONS)),
    click.Argument(["ledger"]),
    *(option for option in SETTING if option not in (BOUND, SAVE)),
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
    MECHANISM with -n users, or several with --times, unless they exceed the budget) or show (what
    is spent; with MECHANISM and -n also how many such rounds still fit). LEDGER is the file.
    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)". The bound is that of the
    budget.

    Rounds must be planned in advance. If mechanisms or numbers of users are chosen after looking at
    results, a privacy filter is needed: begin the ledger with --adaptive.
    """
    given = tuple(label for name, label in _ROUND.items() if is_typed(name))
    bound = options["setting"].bound if is_typed("bound") else None
    request = LedgerRequest(given=given, bound=bound, **options)
    try:
        with ending_tidily():
            return LedgerAnswer.of(*_act(request))
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _act(request: LedgerRequest) -> tuple[Ledger, tuple[Setting, int] | None]:
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
    found, setting = Ledger(request.ledger), request.setting
    if request.action == "add":
        found.add(
            setting.randomizer,
            setting.crowd.n,
            setting.rounds,
            beyond=request.beyond,
            **request.one_round,
        )
        return found, None
    if setting.mechanism is None:
        return found, None
    times = found.fitting(setting.randomizer, setting.crowd.n, **request.one_round)
    return found, (setting, times)
