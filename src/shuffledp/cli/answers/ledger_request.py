"""What ``shuffledp ledger`` was asked, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass

import click

from shuffledp.accounting.setting import Bound, Setting
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
