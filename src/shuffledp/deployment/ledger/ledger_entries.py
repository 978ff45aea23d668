"""The lines of a ledger: a budget, then rounds, each bound to the line before by a checksum."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.crowd import crowd_of
from shuffledp.accounting.rounds.renyi_filter import RenyiFilter
from shuffledp.accounting.setting import BOUNDS, Bound
from shuffledp.accounting.sum_view import View, check_view
from shuffledp.basics.errors import (
    check_delta,
    check_integer,
    check_rounds,
    check_total_epsilon,
    check_users,
)
from shuffledp.basics.sealed import checksum_of, no_number
from shuffledp.mechanisms import parse

FORMAT = "shuffledp ledger, 1"

_T = TypeVar("_T")


@dataclass(frozen=True)
class Budget:
    """What all rounds of a ledger together may cost.

    Attributes:
        epsilon: the epsilon they may reach at ``delta``.
        delta: the delta.
        bound: which bound counts their cost, as in :class:`shuffledp.ShuffleAccountant`.
        when: when the ledger began, in ISO 8601.
        order: the order of the Rényi divergences in which costs are counted, so that rounds may be
            chosen after looking at results; None if they are planned in advance.
        format: the layout of the file.
    """

    epsilon: float
    delta: float
    bound: Bound
    when: str
    order: float | None = None
    format: str = FORMAT

    def __post_init__(self) -> None:
        """Refuse what is no budget."""
        check_total_epsilon(self.epsilon, "epsilon")
        check_delta(self.delta, "delta")
        if self.bound not in BOUNDS:
            raise ValueError(f"bound must be one of {', '.join(BOUNDS)}, got {self.bound!r}")
        if self.format != FORMAT:
            raise ValueError(f"its format is {self.format!r}, not {FORMAT!r}")
        _check_text("when", self.when)
        _ = self.filter

    @property
    def filter(self) -> RenyiFilter | None:
        """What divergences may add up to; None if costs are not counted in them."""
        return None if self.order is None else RenyiFilter.of(self.epsilon, self.delta, self.order)


@dataclass(frozen=True)
class RecordedRounds:
    """Rounds that a ledger has recorded.

    Attributes:
        mechanism: the text of what each user ran.
        n: the number of users.
        times: how many such rounds.
        when: when they were recorded, in ISO 8601.
        corrupted: how many of the users the analyst controls in each round.
        corrupted_adaptively: of how many more the analyst learns the reports afterwards.
        view: what the analyst sees of a round.
        reports: the SHA-256 of the file of reports, if this package wrote one.
    """

    mechanism: str
    n: int
    times: int
    when: str
    corrupted: int = 0
    corrupted_adaptively: int = 0
    view: View = "multiset"
    reports: str | None = None

    def __post_init__(self) -> None:
        """Refuse what are no rounds."""
        _check_text("mechanism", self.mechanism)
        parse(self.mechanism, files=False)
        check_users(self.n)
        for name in ("corrupted", "corrupted_adaptively"):
            check_integer(name, getattr(self, name), 0, self.n)
        check_view(self.view)
        crowd_of(self.n, self.corrupted, self.corrupted_adaptively)
        check_rounds(self.times, "times")
        _check_text("when", self.when)
        if self.reports is not None:
            _check_text("reports", self.reports)

    def accountant(self, bound: Bound) -> ShuffleAccountant:
        """Return one of the rounds."""
        return ShuffleAccountant(
            self.mechanism,
            self.n,
            bound=bound,
            corrupted=self.corrupted,
            corrupted_adaptively=self.corrupted_adaptively,
            view=self.view,
        )


@dataclass(frozen=True)
class Entries:
    """All lines of a ledger.

    Attributes:
        budget: the first line.
        rounds: the others, oldest first.
        lines: the text of all, each with its checksum and that of the line before.
        checksum: that of the last line, which depends on all lines.

    >>> empty = Entries.begin(Budget(1.0, 1e-6, "blanket", "2030-01-01T00:00:00+00:00"))
    >>> one = empty.plus(RecordedRounds("krr(k=3, epsilon0=1.0)", 100, 1, "2030-01-02"))
    >>> Entries.read(one.text).rounds == one.rounds, one.text.startswith(empty.text)
    (True, True)
    """

    budget: Budget
    rounds: tuple[RecordedRounds, ...]
    lines: tuple[str, ...]
    checksum: str

    @classmethod
    def begin(cls, budget: Budget) -> Entries:
        """Return a ledger without rounds."""
        line, checksum = _seal(asdict(budget), "")
        return cls(budget, (), (line,), checksum)

    def plus(self, rounds: RecordedRounds) -> Entries:
        """Return the ledger with one line more."""
        line, checksum = _seal(asdict(rounds), self.checksum)
        return Entries(self.budget, (*self.rounds, rounds), (*self.lines, line), checksum)

    @property
    def text(self) -> str:
        """The content of the file."""
        return "".join(f"{line}\n" for line in self.lines)

    @classmethod
    def read(cls, text: str) -> Entries:
        """Return the ledger with this content.

        Raises:
            ValueError: if it has none, or a line is malformed, changed, lost or out of order.
        """
        if not text.endswith("\n"):
            raise ValueError("its last line is not complete" if text else "it is empty")
        first, *others = text[:-1].split("\n")
        found = cls.begin(_opened(Budget, first, 1, ""))
        _check_same(found.lines[-1], first, 1)
        checksum, rounds, lines = found.checksum, [], [first]
        for number, line in enumerate(others, start=2):
            rounds.append(_opened(RecordedRounds, line, number, checksum))
            sealed, checksum = _seal(asdict(rounds[-1]), checksum)
            _check_same(sealed, line, number)
            lines.append(line)
        return cls(found.budget, tuple(rounds), tuple(lines), checksum)


def _opened(kind: Callable[..., _T], line: str, number: int, previous: str) -> _T:
    """Return what a line says, if its checksums are right."""
    try:
        content = json.loads(line, parse_constant=no_number)
        if not isinstance(content, dict):
            raise TypeError("it is no JSON object")
        checksum, before = content.pop("checksum", None), content.get("previous")
        if checksum != checksum_of(content):
            raise ValueError("its checksum is wrong")
        if before != previous:
            raise ValueError("it does not follow the line before: lines were lost or exchanged")
        del content["previous"]
        names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        if set(content) != names:
            raise ValueError(f"its fields must be {', '.join(sorted(names))}")
        return kind(**content)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"line {number}: {error}") from None


def _check_same(sealed: str, line: str, number: int) -> None:
    if sealed != line:
        raise ValueError(f"line {number}: it is not written as this package writes it")


def _seal(content: Mapping[str, Any], previous: str) -> tuple[str, str]:
    """Return the line for some content, and its checksum."""
    chained = {**content, "previous": previous}
    checksum = checksum_of(chained)
    return json.dumps({**chained, "checksum": checksum}, allow_nan=False), checksum


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r}")


def kinds_of(rounds: Sequence[RecordedRounds], bound: Bound) -> list[tuple[ShuffleAccountant, int]]:
    """Return recorded rounds as :class:`shuffledp.Rounds` takes them."""
    return [(entry.accountant(bound), entry.times) for entry in rounds]
