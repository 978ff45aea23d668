"""Every single mechanism, output by output, from its definition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Protocol

from oracle.channel import Channel, from_weights
from oracle.number import exponential, normal_share

#: Up to so many hash functions all are listed.
_MAX_FUNCTIONS = 300

#: Domains that stand for "any size": a guarantee without a domain size holds for these, too.
SOME_DOMAIN = 3


class Definition(Protocol):
    """Makes a channel from the parameters of a mechanism."""

    def __call__(self, **parameters: object) -> Channel: ...


def krr(k: int, epsilon0: float) -> Channel:
    """The true value is E times as likely as each other value."""
    E = exponential(Fraction(epsilon0))
    return from_weights([E if y == x else Fraction(1) for y in range(k)] for x in range(k))


def olh(epsilon0: float, buckets: int | None = None, domain_size: int | None = None) -> Channel:
    """A uniform function into the buckets, and randomized response of the bucket."""
    g = round(math.exp(epsilon0)) + 1 if buckets is None else buckets
    D = SOME_DOMAIN if domain_size is None else domain_size
    E = exponential(Fraction(epsilon0))
    hits = all_preimages(g, D) if g**D <= _MAX_FUNCTIONS else counted_preimages(g, D)
    return from_weights(
        ([count * (E if x in hit else 1) for hit, count in hits.items()] for x in range(D)),
        whole=domain_size is not None,
    )


def all_preimages(g: int, D: int) -> Mapping[frozenset[int], int]:
    """How many pairs of a function and a bucket have each preimage, function by function.

    >>> all_preimages(2, 1) == {frozenset(): 2, frozenset({0}): 2}
    True
    """
    functions = product(range(g), repeat=D)
    return Counter(
        frozenset(x for x in range(D) if h[x] == bucket) for h in functions for bucket in range(g)
    )


def counted_preimages(g: int, D: int) -> Mapping[frozenset[int], int]:
    """The same by counting: inputs outside the preimage have g - 1 buckets each."""
    return {
        frozenset(hit): g * (g - 1) ** (D - size)
        for size in range(D + 1)
        for hit in combinations(range(D), size)
    }


def blh(epsilon0: float, domain_size: int | None = None) -> Channel:
    """Local hashing into two buckets."""
    return olh(epsilon0, 2, domain_size)


def _bits(p: Fraction, q: Fraction, domain_size: int | None) -> Channel:
    """The bit of the true value is 1 with probability p, every other bit with probability q."""
    D = SOME_DOMAIN if domain_size is None else domain_size
    rows = []
    for x in range(D):
        row = []
        for bits in product((0, 1), repeat=D):
            probability = Fraction(1)
            for value, bit in enumerate(bits):
                one = p if value == x else q
                probability *= one if bit else 1 - one
            row.append(probability)
        rows.append(row)
    return from_weights(rows, whole=domain_size is not None)


def unary(p: float, q: float, domain_size: int | None = None) -> Channel:
    """Bits with the two probabilities as they are."""
    return _bits(Fraction(p), Fraction(q), domain_size)


def rappor(epsilon0: float, domain_size: int | None = None) -> Channel:
    """Every bit is flipped with probability 1/(1 + sqrt(E))."""
    flip = 1 / (1 + exponential(Fraction(epsilon0) / 2))
    return _bits(1 - flip, flip, domain_size)


def oue(epsilon0: float, domain_size: int | None = None) -> Channel:
    """The true bit stays with probability 1/2, a 0 becomes 1 with probability 1/(E + 1)."""
    return _bits(Fraction(1, 2), 1 / (exponential(Fraction(epsilon0)) + 1), domain_size)


def subset(epsilon0: float, domain_size: int, size: int | None = None) -> Channel:
    """A subset of some size, E times as likely if it holds the true value."""
    if size is None:
        best = round(domain_size / (math.exp(epsilon0) + 1))
        size = min(max(best, 1), domain_size - 1)
    E = exponential(Fraction(epsilon0))
    reports = list(combinations(range(domain_size), size))
    return from_weights([E if x in y else Fraction(1) for y in reports] for x in range(domain_size))


def hadamard(epsilon0: float, domain_size: int | None = None) -> Channel:
    """An output is E times as likely if it shares an even number of bits with the codeword."""
    D = SOME_DOMAIN if domain_size is None else domain_size
    E = exponential(Fraction(epsilon0))
    outputs = 1
    while outputs <= D:
        outputs *= 2
    return from_weights(
        (
            [Fraction(1) if (y & (x + 1)).bit_count() % 2 else E for y in range(outputs)]
            for x in range(D)
        ),
        whole=domain_size is not None,
    )


def discrete_laplace(epsilon0: float, bound: int) -> Channel:
    """Two-sided geometric noise; all outputs beyond an end are proportional, so they are one.

    With alpha the decay per step, an output at distance z has (1 - alpha)/(1 + alpha) alpha^z, and
    all from there on together alpha^z/(1 + alpha).
    """
    rate = Fraction(epsilon0) / bound
    decay = [exponential(-rate * distance) for distance in range(bound + 1)]
    inside = 1 - exponential(-rate)
    rows = []
    for x in range(bound + 1):
        inner = [inside * decay[abs(y - x)] for y in range(1, bound)]
        rows.append([decay[x], *inner, decay[bound - x]])
    return from_weights(rows)


def laplace(epsilon0: float, domain: str = "binary") -> Channel:
    """Noise of scale 1/epsilon0, with outputs between 0 and 1 rounded down to quarters."""
    inputs = [Fraction(0), Fraction(1)]
    if domain == "interval":
        inputs.append(Fraction(1, 2))

    def below(point: Fraction, x: Fraction) -> Fraction:
        half = exponential(-Fraction(epsilon0) * abs(point - x)) / 2
        return half if point < x else 1 - half

    return _rounded([[below(Fraction(i, 4), x) for i in range(5)] for x in inputs])


def gaussian(sigma: float) -> Channel:
    """Normal noise, with outputs rounded to a few intervals."""
    edges = [Fraction(i, 2) for i in range(-6, 9, 2)]
    inputs = (Fraction(0), Fraction(1), Fraction(1, 2))
    return _rounded([[normal_share((e - x) / Fraction(sigma)) for e in edges] for x in inputs])


def _rounded(shares: list[list[Fraction]]) -> Channel:
    """The channel of intervals between edges below which the shares lie."""
    rows = []
    for row in shares:
        ends = [Fraction(0), *row, Fraction(1)]
        rows.append([high - low for low, high in pairwise(ends)])
    return from_weights(rows, whole=False)


def matrix(rows: list[list[float]]) -> Channel:
    """The rows, divided by their exact sums."""
    return from_weights([Fraction(p) for p in row] for row in rows)


#: All definitions by the name of the mechanism.
DEFINITIONS: Mapping[str, Definition] = {
    "krr": krr,
    "blh": blh,
    "olh": olh,
    "rappor": rappor,
    "oue": oue,
    "unary": unary,
    "subset": subset,
    "hadamard": hadamard,
    "discrete_laplace": discrete_laplace,
    "laplace": laplace,
    "gaussian": gaussian,
    "matrix": matrix,
}
