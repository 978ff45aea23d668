"""What the shuffles of a study reveal about very few people, by enumeration of everything."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product

from shuffledp import KRR
from shuffledp.deployment.study import Shuffle
from shuffledp.deployment.study.shuffle import is_shared_out, users_of
from shuffledp.mechanisms import Joint, OneOf

Record = tuple[int, ...]
Law = dict[tuple, float]


def response(part: KRR, value: int) -> dict[int, float]:
    """Randomized response from its definition."""
    ratio = math.exp(part.epsilon0)
    total = ratio + part.k - 1
    return {y: (ratio if y == value else 1.0) / total for y in range(part.k)}


def report(shuffle: Shuffle, names: Sequence[str], record: Record) -> Law:
    """The law of one report of a person."""
    values = [record[names.index(name)] for name in shuffle.names]
    own = [response(part, value) for part, value in zip(shuffle.parts, values, strict=True)]
    if isinstance(shuffle.mechanism, OneOf):
        weights = shuffle.mechanism.weights
        return {(i, y): weights[i] * p for i, law in enumerate(own) for y, p in law.items()}
    if isinstance(shuffle.mechanism, Joint):
        return {
            tuple(y for y, _ in both): math.prod(p for _, p in both)
            for both in product(*(law.items() for law in own))
        }
    return {(y,): p for y, p in own[0].items()}


def multiset(laws: Sequence[Law]) -> Law:
    """The law of several reports in random order."""
    found: Law = {(): 1.0}
    for law in laws:
        longer: Law = defaultdict(float)
        for seen, p in found.items():
            for one, q in law.items():
                longer[tuple(sorted((*seen, one)))] += p * q
        found = longer
    return found


def released(
    shuffles: Sequence[Shuffle],
    names: Sequence[str],
    people: Sequence[Record],
    groups: Sequence[int] | None,
) -> Law:
    """The law of everything that is published about these people, if the groups are known."""
    each = []
    for place, one in enumerate(shuffles):
        own = [person for i, person in enumerate(people) if groups is None or groups[i] == place]
        each.append(multiset([report(one, names, person) for person in own]))
    return {
        tuple(seen for seen, _ in all_of_them): math.prod(p for _, p in all_of_them)
        for all_of_them in product(*(law.items() for law in each))
    }


def assignments(shuffles: Sequence[Shuffle], n: int) -> Iterator[tuple[int, ...] | None]:
    """All ways to share out n people, or that there is none."""
    if not is_shared_out(shuffles):
        yield None
        return
    sizes = users_of(shuffles, n)
    yield from sorted(set(permutations([i for i, m in enumerate(sizes) for _ in range(m)])))


def delta(
    shuffles: Sequence[Shuffle], names: Sequence[str], sizes: Sequence[int], n: int, epsilon: float
) -> float:
    """The largest divergence of all pairs of neighbours, every record against every other."""
    records = list(product(*map(range, sizes)))
    worst, ratio = 0.0, math.exp(epsilon)
    for groups in assignments(shuffles, n):
        others = combinations_with_replacement(records, n - 1)
        for rest in others if groups is None else product(records, repeat=n - 1):
            laws = [released(shuffles, names, [one, *rest], groups) for one in records]
            for first, second in permutations(laws, 2):
                gains = (p - ratio * second[seen] for seen, p in first.items())
                worst = max(worst, math.fsum(gain for gain in gains if gain > 0))
    return worst
