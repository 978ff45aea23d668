r"""Which inputs a proof has to look at, derived from the definitions of the mechanisms alone.

Nothing that the mechanisms say of their inputs, worst pairs or types of others, is asked here.

1. If all readers of a value treat inputs alike (support mechanisms, noise on two inputs), the law
   of the ratios depends on which of the inputs of the pair and of another user are equal, and for
   Hadamard response on whether three codewords add up to 0. So the pair 0, 1 and others up to 3
   are enough. Beside a matrix, all inputs are looked at.
2. In the blanket bound such a value may be taken to change, and so may one that is also read by
   symmetric unimodal noise, from one end to the other: that dominates all other pairs, equal ones
   included (``docs/theory.md``). In the swap bound all inputs of discrete noise are looked at, if
   they are few, and a value that looks alike may be taken to change if there is a third input
   (``docs/beyond.md``). This is done for every value whose change the neighbour
   relation allows besides.
3. Of cases with the same law one is enough. Laws are compared by how they are put together: the
   factors of a product and the terms of a mixture may be exchanged, rows of a matrix be equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product

from shuffledp.basics.errors import NoAnswerError
from shuffledp.basics.wording import shorten
from shuffledp.certificates.channel import equal_rows
from shuffledp.certificates.derivation import parts_with_inputs
from shuffledp.certificates.inputs import Attributes, Inputs, Value, inputs_of, treats_alike
from shuffledp.certificates.noise import is_listed
from shuffledp.mechanisms import (
    HadamardResponse,
    Input,
    Joint,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Pair,
    Parallel,
    Subsample,
)

#: At most so many pairs are compared, or before those of one law are dropped in the swap bound.
_MAX_PAIRS, _MAX_SWAPPED = 100_000, 1000


@dataclass(frozen=True)
class Case:
    """A pair of neighbouring inputs, and what other users may hold, seen from it."""

    pair: Pair
    others: tuple[Input, ...]


def pairs_to_prove(randomizer: LocalRandomizer) -> tuple[Pair, ...]:
    """Return pairs of neighbours that stand for all in the blanket bound.

    Raises:
        NoAnswerError: if they are too many to compare, or not known.
    """
    changes = _changes(inputs_of(randomizer), before_others=False)
    pairs = list(islice(changes, _MAX_PAIRS + 1))
    if len(pairs) > _MAX_PAIRS:
        raise NoAnswerError(
            f"a proof for {shorten(str(randomizer))} would have to compare more than {_MAX_PAIRS} "
            "pairs of inputs"
        )
    different: dict[Hashable, Pair] = {}
    for pair in pairs:
        different.setdefault(_law(randomizer, pair, None), pair)
    return tuple(different.values())


def cases_to_swap(randomizer: LocalRandomizer, most_pairs: int, most_others: int) -> list[Case]:
    """Return the cases that stand for all in the swap bound; none if many, or not known."""
    inputs = inputs_of(randomizer)
    others = inputs.others
    pairs = list(islice(_changes(inputs, before_others=True), _MAX_SWAPPED + 1))
    if others is None or len(pairs) > _MAX_SWAPPED:
        return []
    cases: dict[Hashable, Case] = {}
    for pair in pairs:
        laws: dict[Hashable, Input] = {}
        for v in others:
            laws.setdefault(_law(randomizer, pair, v), v)
        key = (_law(randomizer, pair, None), frozenset(laws))
        cases.setdefault(key, Case(pair, tuple(laws.values())))
    few = len(cases) <= most_pairs and all(len(c.others) <= most_others for c in cases.values())
    return list(cases.values()) if few else []


def how_compared(randomizer: LocalRandomizer) -> str:
    """Return how it is known that no other pair is worse, in words."""
    pairs = pairs_to_prove(randomizer)
    if len(pairs) == 1 and _is_alone(inputs_of(randomizer)):
        return "proved"
    return f"compared {len(pairs)} pair{'' if len(pairs) == 1 else 's'}"


def _is_alone(inputs: Inputs) -> bool:
    """Whether one pair dominates all others by theorems, without any comparison."""
    if isinstance(inputs, Value):
        return inputs.may_always_change
    return inputs.most == len(inputs.entries) > inputs.fewest - 1 == 0 and all(
        map(_is_alone, inputs.entries)
    )


def _changes(inputs: Inputs, *, before_others: bool) -> Iterator[Pair]:
    """Yield pairs of neighbours that stand for all, with the others in view or not."""
    if isinstance(inputs, Value):
        yield from inputs.changes(before_others=before_others)
        return
    for changing in _changing(inputs, before_others=before_others):
        choices = [
            list(_changes(entry, before_others=before_others))
            if j in changing
            else _stays(entry, before_others=before_others)
            for j, entry in enumerate(inputs.entries)
        ]
        yield from map(_joined, product(*choices))


def _changing(inputs: Attributes, *, before_others: bool) -> Iterator[tuple[int, ...]]:
    """Yield the entries that change: unless as many do as may, all whose change dominates."""
    covered = [
        j
        for j, entry in enumerate(inputs.entries)
        if (entry.may_change_before_others if before_others else entry.may_always_change)
    ]
    free = [j for j in range(len(inputs.entries)) if j not in covered]
    for count in range(max(inputs.fewest, len(covered)), inputs.most):
        for some in combinations(free, count - len(covered)):
            yield (*covered, *some)
    yield from combinations(range(len(inputs.entries)), inputs.most)


def _stays(inputs: Inputs, *, before_others: bool) -> list[Pair]:
    """Return pairs of equal inputs that stand for all, with the others in view or not."""
    if isinstance(inputs, Value):
        return inputs.stays(before_others=before_others)
    own = (_stays(entry, before_others=before_others) for entry in inputs.entries)
    return [_joined(pairs) for pairs in product(*own)]


def _joined(pairs: Sequence[Pair]) -> Pair:
    return Pair(tuple(pair.first for pair in pairs), tuple(pair.second for pair in pairs))


def _law(randomizer: LocalRandomizer, pair: Pair, other: Input | None) -> Hashable:
    """Return a key that two cases share only if their ratios have the same law.

    ``other`` is None for the ratios to the blanket.
    """
    match randomizer:
        case Subsample():
            return "subsample", randomizer.rate, _law(randomizer.part, pair, other)
        case Joint() | OneOf() | Parallel():
            weights = None if isinstance(randomizer, Joint) else randomizer.weights
            keys = [_law(*own) for own in parts_with_inputs(randomizer, pair, other)]
            members = keys if weights is None else list(zip(weights, keys, strict=True))
            return weights is None, frozenset(Counter(members).items())
    inputs = (pair.first, pair.second, other)
    if isinstance(randomizer, MatrixRandomizer):
        rows = equal_rows(randomizer)
        return randomizer, tuple(rows[x] if isinstance(x, int) else x for x in inputs)
    if treats_alike(randomizer):
        return randomizer, _pattern(inputs), _adds_up(randomizer, inputs)
    if is_listed(randomizer):  # reflection exchanges inputs
        mirrored = tuple(randomizer.bound - x if isinstance(x, int) else x for x in inputs)
        return randomizer, frozenset((inputs, mirrored))
    return randomizer, inputs


def _pattern(inputs: Sequence[Input | None]) -> tuple[int, ...]:
    """Return which of the inputs are equal."""
    return tuple(inputs.index(x) for x in inputs)


def _adds_up(randomizer: LocalRandomizer, inputs: Sequence[Input | None]) -> bool:
    """Whether the three codewords of Hadamard response add up to 0."""
    if not isinstance(randomizer, HadamardResponse):
        return False
    first, second, third = (x + 1 if isinstance(x, int) else 0 for x in inputs)
    return first ^ second == third
