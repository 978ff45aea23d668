"""The largest bound over all pairs of inputs, proved for every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch

from flint import arb

from shuffledp.certification.bound import Question, cheap_upper_bound, enclose
from shuffledp.certification.derivation import blanket
from shuffledp.certification.enclosure import Enclosure, Method
from shuffledp.certification.law import Law
from shuffledp.certification.progress import Progress
from shuffledp.certification.slots import pairs_to_swap, slots_of
from shuffledp.certification.swap import SwapBound, bound_swap
from shuffledp.randomizers import (
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
    pairs_to_compare,
    why_no_other_is_worse,
)


@dataclass(frozen=True)
class WorstPair:
    """The enclosure of the largest delta and the pair that has it; None if no two inputs differ."""

    enclosure: Enclosure
    pair: Pair | None


@dataclass(frozen=True)
class _Candidate:
    pair: Pair
    law: Law
    bound: arb


def enclose_worst_pair(randomizer: LocalRandomizer, epsilon: arb, question: Question) -> WorstPair:
    """Enclose the largest delta over all pairs that have to be looked at.

    Pairs with the same law are looked at once. A cheap bound settles a pair that is below the
    largest upper end found so far; the others are evaluated in full.
    """
    candidates = list(_candidates(randomizer, epsilon, question))
    best = WorstPair(Enclosure.between(arb(0), arb(0), {"name": "elementary"}), None)
    for candidate in sorted(candidates, key=lambda c: c.bound.fmpq(), reverse=True):
        if best.pair is not None and candidate.bound <= best.enclosure.upper:
            continue
        below = blanket(randomizer, candidate.pair, "lower").at(epsilon)
        found = enclose(below, candidate.law, question)
        lower = found if found.lower >= best.enclosure.lower else best.enclosure
        if best.pair is None or found.upper > best.enclosure.upper:
            best = WorstPair(found.from_below(lower), candidate.pair)
        else:
            best = WorstPair(best.enclosure.from_below(lower), best.pair)
    return best


def bound_worst_swap(
    randomizer: LocalRandomizer, epsilon: arb, n: int, tolerance: float, progress: Progress
) -> WorstPair:
    """Bound the largest delta over all pairs and all backgrounds by the swap bound.

    A cheap bound, of the blanket, settles a pair that is below the largest bound found so far, or
    whose swap bound is larger.
    """
    pairs = [
        (cheap_upper_bound(blanket(randomizer, pair, "upper").at(epsilon), n), pair)
        for pair in pairs_to_swap(randomizer)
    ]
    nothing: Method = {"name": "elementary"}
    best = WorstPair(Enclosure.between(arb(0), arb(0), nothing), None)
    for cheap, pair in sorted(pairs, key=lambda found: found[0].fmpq(), reverse=True):
        if best.pair is not None and cheap <= best.enclosure.upper:
            break
        slots = slots_of(randomizer, pair, epsilon)
        found = None if slots is None else bound_swap(slots, n, tolerance, progress)
        if found is None or not found.upper < cheap:
            found = SwapBound(cheap, nothing)
        if best.pair is None or found.upper > best.enclosure.upper:
            best = WorstPair(Enclosure(arb(0), found.upper, nothing, found.method), pair)
    return best


def pairs_looked_at(randomizer: LocalRandomizer) -> str:
    """Return how it is known that no other pair is worse."""
    return why_no_other_is_worse(randomizer, pairs_to_compare(randomizer))


def _candidates(
    randomizer: LocalRandomizer, epsilon: arb, question: Question
) -> Iterator[_Candidate]:
    """Yield one pair for every different law, with a bound."""
    seen = set()
    pairs = _pairs(randomizer)
    for i, pair in enumerate(pairs):
        question.progress("pairs", i / len(pairs))
        law = blanket(randomizer, pair, "upper").at(epsilon)
        signature = law.signature()
        if signature in seen:
            continue
        seen.add(signature)
        bound = arb(1) if len(pairs) == 1 else cheap_upper_bound(law, question.n)
        yield _Candidate(pair, law, bound)


@singledispatch
def _pairs(randomizer: LocalRandomizer) -> list[Pair]:
    """Return the pairs to look at; equal rows of a matrix count as one input."""
    return list(pairs_to_compare(randomizer))


@_pairs.register
def _pairs_of_rows(randomizer: MatrixRandomizer) -> list[Pair]:
    rows = randomizer.distinct_rows()
    return [Pair(x, y) for x in rows for y in rows if x != y]
