"""A record of the rounds that happened, and of what they may cost."""

from __future__ import annotations

import errno
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TypedDict, Unpack

from shuffledp.accounting import Rounds
from shuffledp.accounting.calibration.max_rounds import largest_times
from shuffledp.accounting.rounds.renyi_filter import natural_order
from shuffledp.accounting.setting import DEFAULT_BOUND, Bound, Setting
from shuffledp.accounting.sum_view import View
from shuffledp.basics.errors import (
    MAX_ROUNDS,
    check_delta,
    check_rounds,
    check_total_epsilon,
    check_users,
    wide_is_enough,
)
from shuffledp.basics.rounding import plain, round_down, round_up
from shuffledp.basics.whole_file import write_whole
from shuffledp.basics.wording import counted, shorten
from shuffledp.deployment.files.draft import lock
from shuffledp.deployment.files.mechanism_text import self_contained
from shuffledp.deployment.files.problems import DataError, naming
from shuffledp.deployment.ledger.ledger_entries import Budget, Entries, RecordedRounds, kinds_of
from shuffledp.mechanisms import LocalRandomizer, parse

_PATIENCE = 60.0  # seconds to wait for another writer

#: What a ledger does not do, unless it is adaptive.
NO_FILTER = (
    "nothing is claimed if mechanisms or numbers are chosen after looking at results: that needs a "
    "privacy filter, and this ledger is none"
)

#: What an adaptive ledger does instead.
FILTER = (
    "mechanisms, numbers of users and of rounds may be chosen after looking at results: the budget "
    "holds for all rounds of this ledger together, as long as every one was added before it "
    "happened and none beyond the budget; what is spent so far is no guarantee of its own"
)


class OneRound(TypedDict, total=False):
    """What else is said of a round: the keywords of all who ask a ledger about one."""

    corrupted: float | Fraction
    corrupted_adaptively: float | Fraction
    view: View


class BudgetExceededError(DataError):
    """Further rounds would cost more than the budget of a ledger; nothing was recorded."""


class Ledger:
    """What was collected from the same users so far, what it cost, and what is left.

    It is a file of lines that are only ever added. The first holds the budget, each other one some
    rounds, and every line the checksum of the one before: a changed, lost or exchanged line is
    found out, unless it is at the end. The file is replaced as a whole, by one writer at a time, so
    that a crash leaves it as it was before or after. Answers are about what was last read; adding
    reads it again.

    The cost is that of :class:`shuffledp.Rounds`, with all it assumes: mechanisms, numbers of users
    and of rounds are planned in advance. Whoever chooses them after looking at results needs a
    privacy filter, which a ledger is if it was created with ``adaptive=True``: then costs are
    counted in Rényi divergences of one order, which is fixed when the ledger begins, and fewer
    rounds fit. Otherwise it is none, and its numbers are no guarantee then.

    Args:
        path: an existing ledger; :meth:`create` begins a new one.

    Raises:
        DataError: if there is no ledger, or it is damaged.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(Path(folder) / "spent.jsonl", epsilon=1.0, delta=1e-6)
    ...     ledger.add("krr(k=10, epsilon0=2)", n=10_000, times=52)
    ...     print(f"{ledger.spent_epsilon():.3f}", ledger.fitting("krr(k=10, epsilon0=2)", 10_000))
    0.661 60
    """

    def __init__(self, path: str | Path) -> None:
        self.path = _real(path)
        self._entries = self._read()

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        epsilon: float,
        delta: float,
        bound: Bound = DEFAULT_BOUND,
        adaptive: bool = False,
    ) -> Ledger:
        """Begin a ledger.

        Args:
            path: a file that does not exist yet.
            epsilon: the epsilon that all rounds together may reach at ``delta``.
            delta: the delta.
            bound: which bound counts the cost, "blanket" or "best".
            adaptive: whether mechanisms and numbers may be chosen after looking at results.

        Raises:
            DataError: if the file exists, or cannot be written.
        """
        allowed = check_total_epsilon(epsilon, "epsilon"), check_delta(delta, "delta")
        order = natural_order(*allowed) if adaptive else None
        budget, own = Budget(*allowed, bound, _now(), order), _real(path)
        with _alone(own):
            if own.exists():
                raise DataError(f"{str(own)!r} exists already; a ledger is never replaced")
            _write(own, Entries.begin(budget))
        return cls(own)

    @property
    def budget(self) -> Budget:
        """What all rounds together may cost."""
        return self._entries.budget

    @property
    def recorded(self) -> tuple[RecordedRounds, ...]:
        """The rounds as they were recorded, oldest first."""
        return self._entries.rounds

    @property
    def checksum(self) -> str:
        """The checksum of all lines: noted elsewhere, it shows whether the last ones were lost."""
        return self._entries.checksum

    @property
    def rounds(self) -> Rounds | None:
        """All rounds so far; None if there are none."""
        return self._rounds

    @property
    def times(self) -> int:
        """How many rounds there were."""
        return sum(entry.times for entry in self.recorded)

    @property
    def is_exceeded(self) -> bool:
        """Whether more was spent than the budget allows, by rounds that had happened already."""
        if self.budget.filter is not None:
            return self.spent_divergence() > self.budget.filter.allowed
        return self.spent_epsilon() > self.budget.epsilon

    def spent_divergence(self) -> float:
        """Return what an adaptive ledger counts: Rényi divergences of its order, rounded up."""
        if self.budget.filter is None:
            raise ValueError(f"{str(self.path)!r} was not created with adaptive=True")
        return self.budget.filter.spent(kinds_of(self.recorded, self.budget.bound))

    def spent_epsilon(self, delta: float | None = None) -> float:
        """Return the certified epsilon of all rounds so far, at a delta or that of the budget.

        It is that of rounds planned in advance, also of an adaptive ledger.
        """
        target = self.budget.delta if delta is None else delta
        return 0.0 if self.rounds is None else self.rounds.get_epsilon(target)

    def spent_delta(self, epsilon: float | None = None) -> float:
        """Return the certified delta of all rounds so far, at an epsilon or that of the budget."""
        target = self.budget.epsilon if epsilon is None else epsilon
        return 0.0 if self.rounds is None else self.rounds.get_delta(target)

    def left_epsilon(self) -> float:
        """Return what the budget's epsilon is above that spent, rounded down, and at least 0.

        Any release that is this-much differentially private on its own, with delta 0, still fits.
        Of shuffled rounds more do: costs of rounds do not simply add up, see :meth:`fitting`. Of an
        adaptive ledger it is what is left of the divergence that is allowed.
        """
        if self.budget.filter is not None:
            rest = self.budget.filter.allowed - self.spent_divergence()
            return max(math.nextafter(rest, -math.inf), 0.0)
        left = self.budget.epsilon - self.spent_epsilon()
        return max(math.nextafter(left, -math.inf), 0.0) if self.recorded else left

    def fitting(
        self, mechanism: str | LocalRandomizer, n: int, **conditions: Unpack[OneRound]
    ) -> int:
        """Return how many rounds of this kind still fit into the budget, up to 1e9 in all."""
        one = self._new(mechanism, n, 1, None, conditions).accountant(self.budget.bound)
        most, before = MAX_ROUNDS - self.times, kinds_of(self.recorded, self.budget.bound)
        if most < 1:
            return 0
        if self.budget.filter is not None:
            return self.budget.filter.fitting(before, one, most)
        return largest_times(
            lambda times: Rounds([*before, (one, times)]),
            self.budget.epsilon,
            self.budget.delta,
            most,
        )

    def check(
        self,
        mechanism: str | LocalRandomizer,
        n: int,
        times: int = 1,
        **conditions: Unpack[OneRound],
    ) -> None:
        """Find out whether some rounds still fit; record nothing.

        Raises:
            BudgetExceededError: if they do not.
        """
        self._check(self._entries, [self._new(mechanism, n, times, None, conditions)])

    def check_all(self, kinds: Iterable[tuple[str | LocalRandomizer, int]]) -> None:
        """Find out whether one round of each kind, a mechanism and n, still fits; record nothing.

        Raises:
            BudgetExceededError: if they do not.
        """
        self._check(self._entries, [self._new(*kind, 1, None, {}) for kind in kinds])

    def add(
        self,
        mechanism: str | LocalRandomizer,
        n: int,
        times: int = 1,
        *,
        reports: str | None = None,
        beyond: bool = False,
        **conditions: Unpack[OneRound],
    ) -> None:
        """Record rounds. Do so before anybody sees their reports.

        Args:
            mechanism: what each user runs.
            n: the number of users in each of these rounds.
            times: how many rounds.
            reports: the SHA-256 of the file of reports, if there is one.
            beyond: record rounds that happened already, even if they exceed the budget.
            conditions: ``corrupted``, ``corrupted_adaptively`` and ``view`` of each round, as in
                :class:`shuffledp.Setting`.

        Raises:
            BudgetExceededError: if they would exceed the budget; nothing is recorded.
            DataError: if the ledger is damaged or cannot be written.
        """
        self._record([self._new(mechanism, n, times, reports, conditions)], beyond=beyond)

    def add_all(self, kinds: Iterable[tuple[str | LocalRandomizer, int, str | None]]) -> None:
        """Record one round of each kind, all of them or none.

        Args:
            kinds: a mechanism, the number of users, and the SHA-256 of the file of reports if there
                is one.

        Raises:
            BudgetExceededError: if they would exceed the budget; nothing is recorded.
            DataError: if the ledger is damaged or cannot be written.
        """
        new = [self._new(mechanism, n, 1, reports, {}) for mechanism, n, reports in kinds]
        self._record(new, beyond=False)

    def _record(self, new: Sequence[RecordedRounds], *, beyond: bool) -> None:
        with _alone(self.path):
            entries = self._read()
            if not beyond:
                self._check(entries, new)
            grown = entries
            for one in new:
                grown = grown.plus(one)
            check_rounds(sum(entry.times for entry in grown.rounds), "the sum of all rounds")
            _write(self.path, grown)
        self._take(grown)

    @cached_property
    def _rounds(self) -> Rounds | None:
        kinds = kinds_of(self.recorded, self.budget.bound)
        return Rounds(kinds) if kinds else None

    def _new(
        self,
        mechanism: str | LocalRandomizer,
        n: int,
        times: int,
        reports: str | None,
        conditions: OneRound,
    ) -> RecordedRounds:
        count, setting = check_rounds(times, "times"), Setting(n=check_users(n), **conditions)
        crowd = setting.crowd
        return RecordedRounds(
            _text(mechanism),
            crowd.n,
            count,
            _now(),
            crowd.corrupted,
            crowd.corrupted_adaptively,
            setting.view,
            reports,
        )

    def _check(self, entries: Entries, new: Sequence[RecordedRounds]) -> None:
        budget, kinds = entries.budget, kinds_of([*entries.rounds, *new], entries.budget.bound)
        if budget.filter is not None:
            spent, allowed = budget.filter.spent(kinds), budget.filter.allowed
            what, where = "Rényi divergence", f"of order {plain(budget.filter.order)}"
        else:
            with wide_is_enough():
                spent = Rounds(kinds).get_epsilon(budget.delta)
            what, where, allowed = "epsilon", f"at delta = {plain(budget.delta)}", budget.epsilon
        if spent <= allowed:
            return
        most = round_down(max(allowed, 0.0)) if budget.filter is not None else plain(allowed)
        raise BudgetExceededError(
            f"the budget of {str(self.path)!r} does not allow {_described(new)}: all together "
            f"would have {what} = {round_up(spent)} {where}, and {most} is allowed"
        )

    def _read(self) -> Entries:
        with naming(self.path, "read"):
            raw = self.path.read_bytes()
            names = self.path.stat().st_nlink
        if (
            names > 1
        ):  # what is written replaces one name only: the others would keep the old budget
            raise DataError(
                f"{str(self.path)!r} is one of {names} hard links to a ledger, each of which would "
                "count alone; keep one of them, and use symbolic links for further names"
            )
        try:
            return Entries.read(raw.decode("utf-8"))
        except ValueError as error:
            raise DataError(f"{str(self.path)!r} is no ledger, or was changed: {error}") from None

    def _take(self, entries: Entries) -> None:
        self._entries = entries
        self.__dict__.pop("_rounds", None)


def _described(new: Sequence[RecordedRounds]) -> str:
    more = counted(sum(one.times for one in new), "more round")
    kinds = ", ".join(
        f"{shorten(one.mechanism)} with n = {one.accountant('blanket').crowd.in_figures}"
        if one.corrupted or one.corrupted_adaptively
        else f"{shorten(one.mechanism)} with n = {one.n}"
        for one in new
    )
    return f"{more} of {kinds}"


def _text(mechanism: str | LocalRandomizer) -> str:
    return str(self_contained(parse(mechanism) if isinstance(mechanism, str) else mechanism))


def _real(path: str | Path) -> Path:
    """Return the file behind all symbolic links: it is locked and replaced, by whatever name."""
    try:
        with naming(Path(path), "read"):
            return Path(path).resolve()
    except (ValueError, RuntimeError):  # a null character, or links in a circle
        raise DataError(f"{str(path)!r} is no name of a file") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other writers away, after waiting for those that are there."""
    with naming(path, "write"), lock(path, _PATIENCE):
        yield


def _write(path: Path, entries: Entries) -> None:
    """Replace the file; once this returns, not even a loss of power takes it back.

    Whoever made it read-only does not want more lines in it, although it could be replaced.
    """
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    write_whole(path, entries.text.encode())
    if sys.platform != "win32":  # where folders cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
