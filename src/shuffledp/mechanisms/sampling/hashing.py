r"""Random hash functions into g buckets, and how many reports a value gets.

A report of local hashing holds a function h and a bucket y and supports the values that h sends to
y. The accounting needs the hash values of any two inputs to be independent and uniform, those of
any three for its lower bounds, and with a domain size also the probability of a constant function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.bits import Bits, Words
from shuffledp.mechanisms.sampling.layout import unsigned
from shuffledp.mechanisms.sampling.uniform import below

#: So many reports are counted together: their arrays stay in the cache.
_CHUNK = 1 << 15

#: 2**31 - 1 and 2**61 - 1 are prime.
SMALL_PRIME, LARGE_PRIME = (1 << 31) - 1, (1 << 61) - 1

Functions = NDArray[np.unsignedinteger]
Buckets = NDArray[np.unsignedinteger]
Counts = NDArray[np.int64]
Hits = NDArray[np.bool_]


class HashFamily(ABC):
    """A set of functions into ``buckets`` buckets, each stored as a row of ``words`` integers."""

    buckets: int

    @property
    @abstractmethod
    def words(self) -> int:
        """The number of integers that name a function."""

    @property
    @abstractmethod
    def word_bound(self) -> int:
        """Each of them is below this bound; all choices are functions of the family."""

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """The type of these integers."""
        return unsigned(self.word_bound)

    def draw(self, bits: Bits, size: int) -> Functions:
        """Return uniformly random functions, one per row."""
        return below(bits, self.word_bound, size * self.words).reshape(size, self.words)

    @abstractmethod
    def apply(self, functions: Functions, values: NDArray[np.int64]) -> Words:
        """Return the bucket of each value under the function of the same row."""

    def count(
        self, functions: Functions, buckets: Buckets, values: int | NDArray[np.int64]
    ) -> Counts:
        """Return for every given value x in how many rows h(x) is the given bucket.

        Args:
            functions: the functions.
            buckets: one bucket per function.
            values: the values, or a number for all values below it.
        """
        size = values if isinstance(values, int) else values.size
        counts = np.zeros(size, dtype=np.int64)
        for start in range(0, buckets.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = functions[part].astype(np.uint64), buckets[part].astype(np.uint64)
            if isinstance(values, int):
                hits = self._hits(*rows, values)
            else:
                hits = self._hits_at(*rows, values)
            counts += [np.count_nonzero(hit) for hit in hits]
        return counts

    @abstractmethod
    def _hits(self, functions: Words, buckets: Words, size: int) -> Iterator[Hits]:
        """Yield for x = 0, 1, ... which rows have h(x) equal to the bucket."""

    @abstractmethod
    def _hits_at(
        self, functions: Words, buckets: Words, values: NDArray[np.int64]
    ) -> Iterator[Hits]:
        """Yield for each given x which rows have h(x) equal to the bucket."""


class AllFunctions(HashFamily):
    """All functions from 0..D-1 to the buckets: hash values are independent and uniform.

    A function is the list of its values, read as digits of base g, spread over as few integers of
    64 bits as hold them.

    Args:
        buckets: the number of buckets g.
        domain_size: D.

    >>> AllFunctions(4, 3).word_bound, AllFunctions(2, 100).words
    (64, 2)
    """

    def __init__(self, buckets: int, domain_size: int) -> None:
        self.buckets = buckets
        most = 1
        while buckets ** (most + 1) <= 1 << 64:
            most += 1
        self._words = -(-domain_size // most)
        self._digits = -(-domain_size // self._words)
        self._bound: int = buckets**self._digits

    @property
    def words(self) -> int:
        """The number of integers."""
        return self._words

    @property
    def word_bound(self) -> int:
        """The power of g that has as many digits as one integer holds."""
        return self._bound

    def apply(self, functions: Functions, values: NDArray[np.int64]) -> Words:
        """Return the digits of the given positions."""
        word, position = np.divmod(values, self._digits)
        powers = np.array([self.buckets**i for i in range(self._digits)], dtype=np.uint64)
        rows = functions[np.arange(values.size), word].astype(np.uint64)
        return rows // powers[position] % np.uint64(self.buckets)

    def _hits(self, functions: Words, buckets: Words, size: int) -> Iterator[Hits]:
        base, rest = np.uint64(self.buckets), buckets
        for x in range(size):
            if x % self._digits == 0:
                rest = functions[:, x // self._digits].copy()
            quotient = rest // base
            rest -= quotient * base
            yield rest == buckets
            rest = quotient

    def _hits_at(
        self, functions: Words, buckets: Words, values: NDArray[np.int64]
    ) -> Iterator[Hits]:
        for value in values:
            yield self.apply(functions, np.broadcast_to(value, buckets.shape)) == buckets


class Polynomials(HashFamily):
    r"""Polynomials of degree 2 over the field of p elements, p prime, cut into g intervals.

    For random coefficients the values :math:`v(x)=ax^2+bx+c` of any three different x are
    independent and uniform, because three values determine the polynomial. The bucket of v is the
    number of its interval when 0..p-1 is cut into g intervals whose lengths differ by at most 1, so
    a bucket has probability :math:`1/g+\delta_y` with :math:`|\delta_y|<1/p` and
    :math:`\sum_y\delta_y=0`. The sum makes the first order vanish in the probability that two
    values collide, :math:`\sum_y(1/g+\delta_y)^2=1/g+\sum_y\delta_y^2`, which is within a factor
    :math:`1+(g/p)^2` of 1/g; three values collide within a factor :math:`1+3(g/p)^2+(g/p)^3`.

    Args:
        buckets: the number of buckets g, at most p.
        prime: p, 2**61 - 1 or below 2**31.

    >>> Polynomials(4, SMALL_PRIME).dtype.itemsize, Polynomials(4, LARGE_PRIME).dtype.itemsize
    (4, 8)
    """

    def __init__(self, buckets: int, prime: int) -> None:
        self.buckets, self.prime = buckets, prime
        self._width, self._wide = divmod(prime, buckets)

    @property
    def words(self) -> int:
        """The three coefficients a, b, c."""
        return 3

    @property
    def word_bound(self) -> int:
        """The prime p."""
        return self.prime

    def apply(self, functions: Functions, values: NDArray[np.int64]) -> Words:
        """Return the intervals of the values of the polynomials."""
        point = self._evaluate(functions.astype(np.uint64).T, values.astype(np.uint64))
        # The first ``_wide`` intervals hold one element more than the others.
        width, wide = np.uint64(self._width), np.uint64(self._wide)
        early = point // (width + np.uint64(1))
        late = (point - np.minimum(point, wide)) // width
        return np.where(early < wide, early, late)

    def _evaluate(self, coefficients: Words, x: Words) -> Words:
        """Return ax^2 + bx + c."""
        a, b, c = coefficients
        return self._plus(self._times(self._plus(self._times(a, x), b), x), c)

    def _plus(self, x: Words, y: Words) -> Words:
        total = x + y
        reduced: Words = np.minimum(total, total - np.uint64(self.prime))  # wraps around below p
        return reduced

    def _times(self, x: Words, y: Words) -> Words:
        if self.prime <= SMALL_PRIME:
            return x * y % np.uint64(self.prime)
        # Products of 31-bit halves: 2**61 is 1 in the field, so 2**62 is 2 and, with the middle
        # product m = 2**30 h + l, 2**31 m is h + 2**31 l. The sum stays below 2**64.
        low, shift = np.uint64((1 << 31) - 1), np.uint64(31)
        x1, x0, y1, y0 = x >> shift, x & low, y >> shift, y & low
        middle = x1 * y0 + x0 * y1
        total = x1 * y1 * np.uint64(2) + x0 * y0 + (middle >> np.uint64(30))
        total += (middle & np.uint64((1 << 30) - 1)) << shift
        return self._plus(total & np.uint64(self.prime), total >> np.uint64(61))

    def _shift(self, functions: Words, buckets: Words) -> tuple[Words, Words]:
        """Return coefficients from which the start of the bucket's interval is subtracted.

        With those, h(x) is the bucket iff the value at x is below the interval's length, which is
        returned as well.
        """
        width, wide = np.uint64(self._width), np.uint64(self._wide)
        coefficients = functions.T.copy()
        start = buckets * width + np.minimum(buckets, wide)
        coefficients[2] = self._plus(coefficients[2], np.uint64(self.prime) - start)
        return coefficients, width + (buckets < wide)

    def _hits_at(
        self, functions: Words, buckets: Words, values: NDArray[np.int64]
    ) -> Iterator[Hits]:
        coefficients, length = self._shift(functions, buckets)
        for value in values.astype(np.uint64):
            yield self._evaluate(coefficients, value) < length

    def _hits(self, functions: Words, buckets: Words, size: int) -> Iterator[Hits]:
        """Go from x to x + 1 with additions alone: v += d, d += 2a."""
        number = np.uint32 if self.prime <= SMALL_PRIME else np.uint64
        (a, b, c), length = self._shift(functions, buckets)
        value, limit = c.astype(number), length.astype(number)
        step, second = self._plus(a, b).astype(number), self._plus(a, a).astype(number)
        prime, spare = number(self.prime), np.empty_like(value)
        hits = np.empty(value.size, dtype=np.bool_)

        def advance(sums: NDArray[Any], terms: NDArray[Any]) -> None:
            np.add(sums, terms, out=sums)
            np.subtract(sums, prime, out=spare)  # wraps around below p
            np.minimum(sums, spare, out=sums)

        for _ in range(size):
            yield np.less(value, limit, out=hits)
            advance(value, step)
            advance(step, second)
