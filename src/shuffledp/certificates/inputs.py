"""The inputs of a mechanism, derived from its definition: numbers, or tuples of them.

An input has one entry per attribute (``joint``, ``one_of``); every number in it is a *value*. The
parts of ``parallel`` read the same one, so a value has a list of readers, and in every report it is
read at most once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product

from shuffledp.basics.errors import NoAnswerError
from shuffledp.certificates.channel import equal_rows
from shuffledp.certificates.derivation import check_known
from shuffledp.certificates.noise import is_listed
from shuffledp.certificates.support import SUPPORT_LAWS
from shuffledp.mechanisms import (
    KRR,
    AnyPureLDP,
    DiscreteLaplace,
    Gaussian,
    Input,
    Joint,
    Laplace,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Pair,
    Parallel,
    Relation,
    Subsample,
)

#: With more combinations of others a proof takes too long.
_MAX_OTHERS = 1000

_NOISE = (Laplace, DiscreteLaplace, Gaussian)


@dataclass(frozen=True)
class Value:
    """A number that users hold.

    Attributes:
        size: it is below this; None for any number, and for those between 0 and 1.
        readers: the mechanisms, none of them a composition, that read it.
        is_interval: whether it is any number from 0 to 1.
    """

    size: int | None
    readers: tuple[LocalRandomizer, ...]
    is_interval: bool = False

    @property
    def looks_alike(self) -> bool:
        """Whether all inputs do, to all readers."""
        return all(treats_alike(one) or type(one) is AnyPureLDP for one in self.readers)

    @property
    def has_ends(self) -> bool:
        """Whether its two ends are worst: some readers add noise, to the others all is alike."""
        return all(type(one) in (*_NOISE, *SUPPORT_LAWS) for one in self.readers)

    @property
    def may_always_change(self) -> bool:
        """Whether a pair in which it changes dominates those in which it stays, as a victim."""
        return self.looks_alike or self.has_ends

    @property
    def may_change_before_others(self) -> bool:
        """Whether that is so seen from any background, too."""
        return self.looks_alike and (self.size is None or self.size > 2)

    @cached_property
    def first_alike(self) -> Sequence[int]:
        """For every input the first one that all readers treat like it."""
        if self.size is None:
            raise NoAnswerError("the inputs of a mechanism cannot be listed")
        rows = [
            equal_rows(one) if type(one) is MatrixRandomizer else range(self.size)
            for one in self.readers
        ]
        first: dict[tuple[int, ...], int] = {}
        return [first.setdefault(kind, x) for x, kind in enumerate(zip(*rows, strict=True))]

    @property
    def is_listed(self) -> bool:
        """Whether the laws of all inputs are known, though noise treats them differently."""
        known = (is_listed(one) or treats_alike(one) or _has_rows(one) for one in self.readers)
        return any(map(is_listed, self.readers)) and all(known)

    def changes(self, *, before_others: bool) -> Iterator[Pair]:
        """Pairs of different inputs that stand for all, seen from any background or from none."""
        if self.looks_alike:
            return iter([Pair(0, 1)])
        if self.has_ends and not (before_others and self.is_listed):
            return iter([Pair(0, 1 if self.size is None else self.size - 1)])
        members = Counter(self.first_alike)
        pairs = (Pair(x, y) for x in members for y in members if x != y)
        twins = (Pair(x, self._second(x)) for x, count in members.items() if count > 1)
        return (pair for some in (pairs, twins) for pair in some)

    def _second(self, x: int) -> int:
        """Return the next input that looks like one."""
        return self.first_alike.index(x, x + 1)

    def stays(self, *, before_others: bool) -> list[Pair]:
        """Pairs of equal inputs that stand for all, likewise."""
        alone = self.looks_alike or (self.has_ends and not (before_others and self.is_listed))
        return [Pair(x, x) for x in ((0,) if alone else dict.fromkeys(self.first_alike))]

    @property
    def others(self) -> Sequence[Input] | None:
        """What other users hold that stands for all; None where laws of inputs are not known."""
        if not self.is_listed and any(
            type(one) in (*_NOISE, AnyPureLDP) and not treats_alike(one) for one in self.readers
        ):
            return None
        if self.looks_alike:
            return range(4 if self.size is None else min(self.size, 4))
        return tuple(dict.fromkeys(self.first_alike))

    def knows(self, value: Input) -> bool:
        """Whether it is an input, and its law is known."""
        if any(type(one) in _NOISE for one in self.readers) and not self.is_listed:
            ends = (0, 1 if self.size is None else self.size - 1)
            return type(value) is int and value in ends
        return type(value) is int and 0 <= value < (math.inf if self.size is None else self.size)

    def are_neighbours(self, pair: Pair) -> bool:
        """Whether the two inputs differ."""
        return pair.first != pair.second

    @property
    def relation(self) -> Relation:
        """The same in words."""
        return Relation()


@dataclass(frozen=True)
class Attributes:
    """A tuple of which ``fewest`` to ``most`` entries may change."""

    entries: tuple[Inputs, ...]
    fewest: int
    most: int

    @property
    def may_always_change(self) -> bool:
        """Whether that is so for every entry."""
        return all(entry.may_always_change for entry in self.entries)

    @property
    def may_change_before_others(self) -> bool:
        """Whether that is so for every entry."""
        return all(entry.may_change_before_others for entry in self.entries)

    @property
    def others(self) -> Sequence[Input] | None:
        """All combinations, unless they are many."""
        own = [entry.others for entry in self.entries]
        known = [inputs for inputs in own if inputs is not None]
        if len(known) < len(own) or math.prod(map(len, known)) > _MAX_OTHERS:
            return None
        return tuple(product(*known))

    def knows(self, value: Input) -> bool:
        """Whether every entry knows its own."""
        return (
            isinstance(value, tuple)
            and len(value) == len(self.entries)
            and all(entry.knows(x) for entry, x in zip(self.entries, value, strict=True))
        )

    def are_neighbours(self, pair: Pair) -> bool:
        """Whether as many entries change as may, each as it may."""
        if not (isinstance(pair.first, tuple) and isinstance(pair.second, tuple)):
            return False
        own = list(zip(self.entries, map(Pair, pair.first, pair.second), strict=True))
        changed = [entry.are_neighbours(p) for entry, p in own if p.first != p.second]
        return self.fewest <= len(changed) <= self.most and all(changed)

    @property
    def relation(self) -> Relation:
        """The same in words."""
        entries = tuple(entry.relation for entry in self.entries)
        return Relation.of(entries, self.fewest, self.most)


Inputs = Value | Attributes


def _has_rows(randomizer: LocalRandomizer) -> bool:
    return type(randomizer) is MatrixRandomizer


def treats_alike(randomizer: LocalRandomizer) -> bool:
    """Whether the law of ratios at three inputs depends on which of them are equal.

    With Hadamard response it also depends on whether three codewords add up to 0.
    """
    if type(randomizer) in _NOISE:
        return _size(randomizer) == 2
    return type(randomizer) in SUPPORT_LAWS


def inputs_of(randomizer: LocalRandomizer) -> Inputs:
    """Return the inputs of a mechanism.

    >>> from shuffledp.mechanisms import parse
    >>> found = inputs_of(parse("joint(krr(3, 1), parallel(0.5*krr(2, 1), 0.5*laplace(1)))"))
    >>> [(entry.size, len(entry.readers)) for entry in found.entries]
    [(3, 1), (2, 2)]

    Raises:
        NoAnswerError: if they are not known to the prover.
    """
    check_known(randomizer)
    return _inputs_of(randomizer)


def _inputs_of(randomizer: LocalRandomizer) -> Inputs:
    match randomizer:
        case Subsample():
            return _inputs_of(randomizer.part)
        case Joint():
            entries = tuple(map(_inputs_of, randomizer.parts))
            most = randomizer.exactly or randomizer.at_most or len(entries)
            return Attributes(entries, randomizer.exactly or 1, most)
        case OneOf():
            entries = tuple(map(_inputs_of, randomizer.parts))
            return Attributes(entries, 1, len(entries))
        case Parallel():
            return reduce(_meet, map(_inputs_of, randomizer.parts))
    interval = isinstance(randomizer, Gaussian | Laplace) and not _is_binary(randomizer)
    return Value(_size(randomizer), (randomizer,), is_interval=interval)


def _size(randomizer: LocalRandomizer) -> int | None:
    """Return how many numbers a mechanism reads, None for any."""
    match randomizer:
        case MatrixRandomizer():
            return len(randomizer.matrix)
        case KRR():
            return randomizer.k
        case DiscreteLaplace():
            return randomizer.bound + 1
        case Laplace() | Gaussian():
            return 2 if _is_binary(randomizer) else None
        case AnyPureLDP():
            return 3  # those of the mechanisms that it is compared with
    size: int | None = getattr(randomizer, "domain_size")  # noqa: B009
    return size


def _is_binary(randomizer: Laplace | Gaussian) -> bool:
    return isinstance(randomizer, Laplace) and randomizer.domain == "binary"


def _meet(one: Inputs, other: Inputs) -> Inputs:
    """Return what two mechanisms read that are given the same input."""
    if isinstance(one, Value) and isinstance(other, Value):
        sizes = {value.size for value in (one, other) if value.size is not None}
        if one.is_interval == other.is_interval and len(sizes) < 2:
            size = next(iter(sizes), None)
            return Value(size, one.readers + other.readers, one.is_interval)
    elif isinstance(one, Attributes) and isinstance(other, Attributes):
        limits = [(inputs.fewest, inputs.most, len(inputs.entries)) for inputs in (one, other)]
        if limits[0] == limits[1]:
            return Attributes(tuple(map(_meet, one.entries, other.entries)), one.fewest, one.most)
    raise NoAnswerError("parts of a mechanism that read the same value have different inputs")
