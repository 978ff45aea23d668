"""What ``shuffledp rounds`` was asked, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import click

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.accounting.accountant import DEFAULT_RTOL
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.cli.accountant import accountant
from shuffledp.mechanisms import LocalRandomizer


@dataclass(frozen=True, kw_only=True)
class RoundsRequest:
    """The options of the command line, by their names there."""

    mechanism: LocalRandomizer | None
    n: int | None
    times: int | None
    kinds: tuple[tuple[int, LocalRandomizer, int], ...]
    delta: float | None
    epsilon: float | None
    at_most: int | None
    bound: Bound
    corrupted: int | Fraction
    corrupted_adaptively: int | Fraction
    view: View
    rtol: float

    def __post_init__(self) -> None:
        """Refuse what is missing, and what would be ignored."""
        if (self.mechanism is None) != (self.n is None):
            raise click.UsageError("MECHANISM and '-n' / '--users' belong together")
        if self.delta is None and self.epsilon is None:
            raise click.UsageError("one of '--delta' and '--epsilon' is needed")
        if self.budget is None:
            if (self.mechanism is None) != (self.times is None):
                raise click.UsageError("MECHANISM and '--times' belong together")
            if self.mechanism is None and not self.kinds:
                raise click.UsageError("rounds are missing: MECHANISM with '--times', or '--round'")
        elif self.mechanism is None or self.times or self.kinds or self.at_most:
            raise click.UsageError(
                "'--delta' and '--epsilon' together ask how many rounds of MECHANISM fit, without "
                "'--times', '--round' and '--at-most'"
            )

    @property
    def budget(self) -> tuple[float, float] | None:
        """Epsilon and delta, if both are given."""
        if self.epsilon is None or self.delta is None:
            return None
        return self.epsilon, self.delta

    def accountant(self) -> ShuffleAccountant:
        """Return one round of the mechanism that was named first."""
        if self.mechanism is None or self.n is None:
            raise click.UsageError("MECHANISM and '-n' / '--users' are missing")
        return self._one(self.mechanism, self.n)

    def _one(self, randomizer: LocalRandomizer, n: int) -> ShuffleAccountant:
        """Return one round; shares of corrupted users are of its own."""
        return accountant(
            randomizer,
            n,
            DEFAULT_RTOL,
            self.bound,
            self.corrupted,
            self.corrupted_adaptively,
            self.view,
        )

    def rounds(self) -> Rounds:
        """Return all rounds."""
        pairs = [(self.accountant(), self.times)] if self.times is not None else []
        pairs += [(self._one(randomizer, n), times) for times, randomizer, n in self.kinds]
        try:
            return Rounds(pairs, at_most=self.at_most, rtol=self.rtol)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
