"""What ``shuffledp ledger`` was asked, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass

import click

from shuffledp.accounting.setting import Bound
from shuffledp.mechanisms import LocalRandomizer

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
