"""The largest bound over all pairs of inputs, proved for every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb

from shuffledp.certification.bound import Question, cheap_upper_bound, enclose
from shuffledp.certification.cases import pairs_to_prove
from shuffledp.certification.derivation import blanket
from shuffledp.certification.law import Law
from shuffledp.certification.slots import cases_of, slots_of
from shuffledp.certification.swap import SwapBound, bound_swap
from shuffledp.engine.enclosure import Enclosure, Method
from shuffledp.engine.progress import Progress
from shuffledp.randomizers import LocalRandomizer, Pair


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
    cases = [
        (cheap_upper_bound(blanket(randomizer, case.pair, "upper").at(epsilon), n), case)
        for case in cases_of(randomizer)
    ]
    nothing: Method = {"name": "elementary"}
    best = WorstPair(Enclosure.between(arb(0), arb(0), nothing), None)
    for cheap, case in sorted(cases, key=lambda found: found[0].fmpq(), reverse=True):
        if best.pair is not None and cheap <= best.enclosure.upper:
            break
        slots = slots_of(randomizer, case, epsilon)
        found = None if slots is None else bound_swap(slots, n, tolerance, progress)
        if found is None or not found.upper < cheap:
            found = SwapBound(cheap, nothing)
        if best.pair is None or found.upper > best.enclosure.upper:
            enclosure = Enclosure(arb(0), found.upper, nothing, found.method)
            best = WorstPair(enclosure, case.pair)
    return best


def _candidates(
    randomizer: LocalRandomizer, epsilon: arb, question: Question
) -> Iterator[_Candidate]:
    """Yield one pair for every different law, with a bound."""
    seen = set()
    pairs = pairs_to_prove(randomizer)
    for i, pair in enumerate(pairs):
        question.progress("pairs", i / len(pairs))
        law = blanket(randomizer, pair, "upper").at(epsilon)
        signature = law.signature()
        if signature in seen:
            continue
        seen.add(signature)
        bound = arb(1) if len(pairs) == 1 else cheap_upper_bound(law, question.n)
        yield _Candidate(pair, law, bound)
