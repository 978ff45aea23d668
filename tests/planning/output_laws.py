"""Frequency mechanisms written out: every report, its probability and the inputs it supports."""

from __future__ import annotations

import math
from itertools import combinations, product

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    LocalHash,
    SubsetSelection,
)
from shuffledp.mechanisms import LocalRandomizer

SIZE = 4

MECHANISMS = [
    KRR(k=SIZE, epsilon0=1.3),
    BinaryLocalHash(epsilon0=1.3, domain_size=SIZE),
    LocalHash(epsilon0=1.3, buckets=3, domain_size=SIZE),
    RAPPOR(epsilon0=1.3, domain_size=SIZE),
    OUE(epsilon0=1.3, domain_size=SIZE),
    HadamardResponse(epsilon0=1.3, domain_size=SIZE),
    SubsetSelection(epsilon0=1.3, domain_size=SIZE, size=2),
]


def law(mechanism: LocalRandomizer, x: int) -> list[tuple[float, frozenset[int]]]:
    """Return the probability and the support of every report of an input below ``SIZE``."""
    E = math.exp(mechanism.epsilon0)
    values = range(SIZE)
    match mechanism:
        case KRR():
            supports = [frozenset({y}) for y in values]
        case SubsetSelection(size=size):
            supports = [frozenset(chosen) for chosen in combinations(values, size)]
        case BinaryLocalHash() | LocalHash():
            buckets = range(mechanism.hash_buckets)
            supports = [
                frozenset(v for v in values if function[v] == bucket)
                for function in product(buckets, repeat=SIZE)
                for bucket in buckets
            ]
        case HadamardResponse():
            supports = [
                frozenset(v for v in values if (y & (v + 1)).bit_count() % 2 == 0) for y in range(8)
            ]
        case RAPPOR() | OUE():
            half = math.exp(mechanism.epsilon0 / 2)
            one = half / (half + 1) if isinstance(mechanism, RAPPOR) else 0.5
            other = 1 / (half + 1) if isinstance(mechanism, RAPPOR) else 1 / (E + 1)
            rates = [one if v == x else other for v in values]
            return [
                (
                    math.prod(r if bit else 1 - r for bit, r in zip(bits, rates, strict=True)),
                    frozenset(v for v in values if bits[v]),
                )
                for bits in product((0, 1), repeat=SIZE)
            ]
        case _:
            raise TypeError(mechanism)
    weights = [E if x in support else 1.0 for support in supports]
    return [(w / sum(weights), s) for w, s in zip(weights, supports, strict=True)]
