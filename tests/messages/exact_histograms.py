"""Delta of all messages by definition: every histogram, with exact or very long numbers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from flint import arb, ctx, fmpq

BITS = 300
#: A law of histograms: its probabilities are exact, or balls of 300 bits.
Law = dict[tuple[int, ...], object]


def number(value: object) -> arb:
    return value if isinstance(value, arb) else arb(fmpq(*Fraction(value).as_integer_ratio()))


def delta(first: Law, second: Law, epsilon: float) -> arb:
    """The hockey stick divergence."""
    with ctx.workprec(BITS):
        cost, found = arb(epsilon).exp(), arb(0)
        for outcome, p in first.items():
            gain = number(p) - cost * number(second.get(outcome, 0))
            if gain > 0:
                found += gain
            else:
                assert gain < 1e-70, "a tie, or more bits are needed"
        return found


def fixed(count: int, law: list[Fraction]) -> Law:
    """Histograms of so many messages of a law."""
    found: Law = {}
    for counts in itertools.product(range(count + 1), repeat=len(law)):
        if sum(counts) == count:
            p = Fraction(math.factorial(count))
            for c, share in zip(counts, law, strict=True):
                p *= share**c / math.factorial(c)
            found[counts] = p
    return {outcome: p for outcome, p in found.items() if p}


def per_device(devices: int, chance: Fraction, law: list[Fraction]) -> Law:
    """Histograms of what devices fabricate, each a message with a probability."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for count in range(devices + 1):
        weight = math.comb(devices, count) * chance**count * (1 - chance) ** (devices - count)
        for outcome, p in fixed(count, law).items():
            found[outcome] += weight * p
    return {outcome: p for outcome, p in found.items() if p}


def independent(marginals: list[dict[int, object]]) -> Law:
    """Histograms of independent counts."""
    with ctx.workprec(BITS):
        found: Law = {}
        for counts in itertools.product(*marginals):
            p = arb(1)
            for c, marginal in zip(counts, marginals, strict=True):
                p *= number(marginal[c])
            found[counts] = p
        return found


def poisson(mean: Fraction, most: int) -> dict[int, arb]:
    """The law of a Poisson number, up to a number beyond which there is next to nothing."""
    with ctx.workprec(BITS):
        rate = number(mean)
        return {j: (-rate).exp() * rate**j / math.factorial(j) for j in range(most + 1)}


def coins(count: int) -> dict[int, Fraction]:
    """The law of the number of heads."""
    return {j: Fraction(math.comb(count, j), 2**count) for j in range(count + 1)}


def reported(values: tuple[int, ...], k: int, level: float | None) -> Law:
    """Histograms of the reports of users: their values, or k-RR of these."""
    found: Law = {(0,) * k: Fraction(1)}
    with ctx.workprec(BITS):
        for value in values:
            found = added(found, one_report(value, k, level))
    return found


def one_report(value: int, k: int, level: float | None) -> Law:
    def unit(y: int) -> tuple[int, ...]:
        return tuple(int(v == y) for v in range(k))

    if level is None:
        return {unit(value): Fraction(1)}
    ratio = arb(level).exp()
    return {unit(y): (ratio if y == value else 1) / (ratio + k - 1) for y in range(k)}


def added(one: Law, other: Law) -> Law:
    """The law of the sum of independent histograms."""
    found: Law = {}
    with ctx.workprec(BITS):
        for (x, p), (y, q) in itertools.product(one.items(), other.items()):
            z = tuple(a + b for a, b in zip(x, y, strict=True))
            both = p * q if isinstance(p, Fraction) and isinstance(q, Fraction) else None
            both = number(p) * number(q) if both is None else both
            old = found.get(z)
            if old is None:
                found[z] = both
            elif isinstance(old, Fraction) and isinstance(both, Fraction):
                found[z] = old + both
            else:
                found[z] = number(old) + number(both)
    return found


def others(n: int, k: int, sends: int = 1) -> Iterator[tuple[int, ...]]:
    """What all but one of n users may send together, every multiset of values."""
    sets = list(itertools.combinations(range(k), sends))
    seen = set()
    for chosen in itertools.combinations_with_replacement(sets, n - 1):
        messages = tuple(sorted(itertools.chain(*chosen)))
        if messages not in seen:
            seen.add(messages)
            yield messages


def largest(
    fabricated: Law, n: int, k: int, epsilon: float, *, level: float | None, sends: int, adds: bool
) -> arb:
    """The largest delta over all pairs of neighbouring datasets."""
    sets = list(itertools.combinations(range(k), sends))
    pairs = [((), own) for own in sets] if adds else list(itertools.combinations(sets, 2))
    worst = arb(0)
    for rest in others(n, k, sends):
        base = added(fabricated, reported(rest, k, level))
        laws = {own: added(base, reported(own, k, level)) for own in {x for p in pairs for x in p}}
        for one, other in pairs:
            for a, b in ((one, other), (other, one)):
                found = delta(laws[a], laws[b], epsilon)
                worst = found if found > worst else worst
    return worst
