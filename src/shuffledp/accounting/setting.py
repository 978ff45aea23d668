"""What is asked: who runs what, who is honest, what the analyst sees, and how often."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

from shuffledp.accounting.crowd import Corruption, Crowd, as_count, crowd_of
from shuffledp.accounting.setting_text import from_text, plain_share, read_share, to_text, to_toml
from shuffledp.accounting.sum_view import View, check_view
from shuffledp.basics.errors import (
    MAX_USERS,
    check_integer,
    check_rounds,
    check_users,
)
from shuffledp.basics.whole_file import write_whole
from shuffledp.basics.wording import closest, did_you_mean
from shuffledp.mechanisms import LocalRandomizer, as_randomizer

if TYPE_CHECKING:
    from shuffledp.accounting.accountant import ShuffleAccountant
    from shuffledp.accounting.mixed import MixedAccountant
    from shuffledp.accounting.rounds.rounds import Rounds


#: Which guarantee to compute.
Bound = Literal["best", "blanket"]
BOUNDS: tuple[Bound, ...] = ("best", "blanket")

#: Which one to compute if nothing is said.
DEFAULT_BOUND: Bound = "best"

#: Relative width of epsilon unless told: of one round, and of several.
DEFAULT_RTOL, ROUNDS_RTOL = 1e-4, 1e-3


class Conditions(TypedDict, total=False):
    """What a setting says besides mechanism and users: the keywords of all who ask about one.

    What each of them means stands in :class:`Setting`.
    """

    corrupted: float | Fraction
    corrupted_adaptively: float | Fraction
    view: View
    bound: Bound
    rounds: int
    at_most: int | None


@dataclass(frozen=True)
class Group:
    """Users who run the same mechanism: a privacy tier.

    Args:
        randomizer: what each of them runs, or its text.
        n: how many they are.

    >>> Group("krr(k=10, epsilon0=1)", 500)
    Group(randomizer=KRR(k=10, epsilon0=1.0), n=500)
    """

    randomizer: LocalRandomizer
    n: int

    def __init__(self, randomizer: LocalRandomizer | str, n: int) -> None:
        object.__setattr__(self, "randomizer", as_randomizer(randomizer))
        object.__setattr__(self, "n", check_users(n))

    def __str__(self) -> str:
        """Return the text form."""
        return f"{self.n}*{self.randomizer}"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One collection, or a plan of it in which something is still open.

    Everything that can be asked is asked about a setting, and it has one text, one JSON and one
    TOML form. What is looked for is left open: ``calibrate`` needs no ``mechanism``, ``users`` no
    ``n``.

    Args:
        mechanism: what each user runs, or its text; None if that is open, or there are ``groups``.
        n: number of users, the one whose data changes included; None if that is open.
        groups: users with different mechanisms, instead of ``mechanism`` and ``n``.
        dummies: reports added to those of groups, drawn from their common blanket.
        corrupted: how many users the analyst controls, a number or a share of n: their reports are
            known or set. Who they are is fixed before the reports are drawn.
        corrupted_adaptively: how many reports, besides, the analyst learns after seeing the
            shuffled ones, chosen one after the other; "best" then gives the blanket, too.
        view: what the analyst sees: "multiset", the shuffled reports, or "sum", nothing but their
            sum, as after secure aggregation. For added noise and unary encodings the privacy of the
            sum itself is computed, whatever ``bound`` says; so it is for the sums of several
            attributes, one for each. Where the sum tells as much as the multiset, or no bound of
            its own is known, the answer is that of the multiset, and reports say so.
        bound: "blanket" for the optimal decomposition bound, "best" for the smaller of blanket and
            swap bound, a guarantee that is often within a tenth of a percent of what an attacker
            attains. Where the swap bound is not established, "best" gives the blanket and reports
            say so.
        rounds: how often the same users report, each time with fresh noise and a fresh shuffle.
        at_most: in how many of the rounds each user takes part; None for all.

    >>> setting = Setting(mechanism="krr(k=10, epsilon0=2)", n=10_000, corrupted=0.02, rounds=52)
    >>> str(setting)
    'krr(k=10, epsilon0=2.0) n=10000 corrupted=0.02 rounds=52'
    >>> Setting.parse(str(setting)) == setting == Setting.from_dict(setting.to_dict())
    True
    >>> print(f"{setting.accountant().get_epsilon(1e-6):.3f}")
    0.668
    """

    mechanism: LocalRandomizer | None = None
    n: int | None = None
    groups: tuple[Group, ...] = ()
    dummies: int = 0
    corrupted: float | Fraction = 0
    corrupted_adaptively: float | Fraction = 0
    view: View = "multiset"
    bound: Bound = DEFAULT_BOUND
    rounds: int = 1
    at_most: int | None = None

    def __post_init__(self) -> None:
        """Check everything, each by itself and together."""

        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        if self.mechanism is not None:
            put("mechanism", as_randomizer(self.mechanism))
        if self.n is not None:
            put("n", check_users(self.n))
        put("groups", _check_groups(self.groups))
        put("dummies", check_integer("dummies", self.dummies, 0, MAX_USERS))
        for name in ("corrupted", "corrupted_adaptively"):
            put(name, as_count(name, getattr(self, name)))
        check_view(self.view)
        check_bound(self.bound)
        put("rounds", check_rounds(self.rounds, "rounds"))
        if self.at_most is not None:
            put("at_most", check_rounds(self.at_most, "at_most"))
        if self.groups:
            self._check_tiers()
        elif self.dummies:
            raise ValueError(f"dummies must be 0 without groups, got {self.dummies}")
        if self.users is not None:
            crowd_of(self.users, self.corrupted, self.corrupted_adaptively)  # somebody is honest

    def _check_tiers(self) -> None:
        """Refuse what is not known of users with different mechanisms."""
        if self.mechanism is not None or self.n is not None:
            raise ValueError("groups say themselves what mechanism and n are: leave both out")
        for name, usual in (
            ("corrupted_adaptively", 0),
            ("view", "multiset"),
            ("rounds", 1),
            ("at_most", None),
            ("bound", DEFAULT_BOUND),
        ):
            if getattr(self, name) != usual:
                raise ValueError(
                    f"{name} must be {usual!r} with groups, of which nothing else is proved, got "
                    f"{getattr(self, name)!r}"
                )

    @property
    def users(self) -> int | None:
        """Number of users, of all groups if there are some; None if that is open."""
        return sum(group.n for group in self.groups) if self.groups else self.n

    @property
    def randomizer(self) -> LocalRandomizer:
        """The one mechanism that all users run.

        Raises:
            ValueError: if it is open, or there are groups.
        """
        if self.mechanism is None:
            raise ValueError(f"the setting must say which mechanism users run, got {self}")
        return self.mechanism

    @cached_property
    def crowd(self) -> Crowd:
        """The users, and how many of them are corrupted.

        Raises:
            ValueError: if the number of users is open.
        """
        if self.users is None:
            raise ValueError(f"the setting must say how many users there are, got {self}")
        return crowd_of(self.users, self.corrupted, self.corrupted_adaptively)

    @property
    def corruption(self) -> Corruption:
        """How many users are not honest, whatever their number."""
        return Corruption(self.corrupted, self.corrupted_adaptively)

    @property
    def conditions(self) -> Conditions:
        """What it says besides mechanism and users, as keywords.

        >>> Setting(n=100, corrupted=5).conditions["corrupted"]
        5
        """
        return {
            "corrupted": self.corrupted,
            "corrupted_adaptively": self.corrupted_adaptively,
            "view": self.view,
            "bound": self.bound,
            "rounds": self.rounds,
            "at_most": self.at_most,
        }

    @property
    def one_round(self) -> Self:
        """The same for one of its rounds."""
        return replace(self, rounds=1, at_most=None)

    @property
    def usual_rtol(self) -> float:
        """How closely epsilon is computed unless told."""
        return DEFAULT_RTOL if self.rounds == 1 else ROUNDS_RTOL

    def of(self, mechanism: LocalRandomizer | str | None = None, n: int | None = None) -> Self:
        """Return the same for another mechanism, another number of users, or both.

        >>> print(Setting(n=100, rounds=7).of("krr(k=3, epsilon0=1)"))
        krr(k=3, epsilon0=1.0) n=100 rounds=7
        """
        known = self.mechanism if mechanism is None else as_randomizer(mechanism)
        return replace(self, mechanism=known, n=self.n if n is None else n)

    def accountant(self, rtol: float | None = None) -> ShuffleAccountant | Rounds | MixedAccountant:
        """Return who answers questions about it.

        Args:
            rtol: relative width of epsilon, that of the accountant unless given.

        Raises:
            ValueError: if mechanism or users are open.
        """
        from shuffledp.accounting.accountant import ShuffleAccountant
        from shuffledp.accounting.mixed import MixedAccountant

        width: dict[str, Any] = {} if rtol is None else {"rtol": rtol}
        if self.groups:
            return MixedAccountant(
                self.groups, dummies=self.dummies, corrupted=self.corrupted, **width
            )
        if self.rounds == 1:
            return ShuffleAccountant.of(self, **width)
        one = ShuffleAccountant.of(self.one_round)
        return one.rounds(self.rounds, at_most=self.at_most, **width)

    def to_dict(self) -> dict[str, Any]:
        """Return what is not as usual, as JSON and TOML hold it."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            match value:
                case LocalRandomizer():
                    value = str(value)
                case tuple():
                    value = [{"mechanism": str(g.randomizer), "n": g.n} for g in value]
                case Fraction():
                    value = plain_share(value)
            found[field.name] = value
        return found

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return the setting that was written; refuse fields that are unknown.

        Raises:
            ValueError: if something is unknown, missing or not allowed.
        """
        if not isinstance(written, Mapping):
            raise ValueError(f"a setting must be fields with names, got {written!r}")
        known = [field.name for field in fields(cls)]
        for name in written:
            if name not in known:
                meant = did_you_mean(closest(str(name), known))
                raise ValueError(f"a setting has {', '.join(known)}, got {name!r}{meant}")
        values = dict(written)
        if "groups" in values:
            if not isinstance(values["groups"], list):
                raise ValueError(f"groups must be a list, got {values['groups']!r}")
            values["groups"] = tuple(map(_read_group, values["groups"]))
        for name in ("corrupted", "corrupted_adaptively"):
            if isinstance(values.get(name), str):
                values[name] = read_share(name, values[name])
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError(str(error)) from None

    def __str__(self) -> str:
        """Return the text form."""
        return to_text(self.to_dict())

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the setting with this text form.

        >>> Setting.parse("500*krr(k=4, epsilon0=1) + 500*krr(k=4, epsilon0=3) corrupted=2%").users
        1000
        """
        return cls.from_dict(from_text(text))

    def to_toml(self) -> str:
        """Return the TOML form.

        >>> print(Setting(mechanism="oue(epsilon0=1)", n=500, corrupted=0.1, view="sum").to_toml())
        mechanism = "oue(epsilon0=1.0)"
        n = 500
        corrupted = 0.1
        view = "sum"
        <BLANKLINE>
        """
        return to_toml(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Return the setting that a text in TOML says."""
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"a setting must be TOML: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the TOML form to a file, whole or not at all."""
        write_whole(Path(path), self.to_toml().encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the setting of a file that :meth:`save`, or a person, wrote."""
        try:
            return cls.from_toml(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"cannot read the setting {str(path)!r}: {why}") from None


def check_bound(bound: Bound) -> Bound:
    """Return which bound to compute; refuse an unknown one."""
    if bound not in BOUNDS:
        raise ValueError(f"bound must be one of {', '.join(BOUNDS)}, got {bound!r}")
    return bound


def _check_groups(groups: object) -> tuple[Group, ...]:
    if not isinstance(groups, tuple | list) or not all(isinstance(g, Group) for g in groups):
        raise TypeError(f"groups must be several Group, got {groups!r}")
    return tuple(groups)


def _read_group(written: object) -> Group:
    if not isinstance(written, Mapping) or set(written) != {"mechanism", "n"}:
        raise ValueError(f"each of groups must have mechanism and n, got {written!r}")
    return Group(written["mechanism"], written["n"])
