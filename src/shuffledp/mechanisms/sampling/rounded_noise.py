r"""Laplace and normal noise on a grid: ideal reports x + Z, rounded to it and drawn exactly.

Z is a real number. Only as many of its binary digits are drawn as it takes to know which point of
the grid is nearest, so a report has exactly the probability that x + Z lies in its cell. Everything
is decided in integers.

In steps of the grid, :math:`|Z|=G+F` with a whole part G and a fraction F. For Laplace noise of
rate :math:`\rho` per step, :math:`e^{-\rho(G+F)}` is a product over digits: G is geometric, see
:mod:`shuffledp.mechanisms.sampling.geometric`, and digit i of F is 1 with probability
:math:`1/(1+e^{\rho2^{-i}})`, all independent. With :math:`x+\frac12=a+\varphi`, a being whole, the
nearest point is :math:`a+G+[F\ge1-\varphi]` or :math:`a-G-[F>\varphi]`. So digits of F are drawn
until one differs from that of a known number: two on average.

Normal noise is Laplace noise of rate :math:`1/\sigma` that is kept with probability
:math:`p=\exp(-\frac12(|Z|/\sigma-1)^2)`, as
:math:`-\frac z\sigma-\frac12(\frac z\sigma-1)^2=-\frac{z^2}{2\sigma^2}-\frac12`. Whether a random
number U is below p is known from 64 digits of U and bounds on p in a cell of G, except for one
proposal in 400; there further digits of F and U are drawn until it is known. Karney (2016),
"Sampling exactly from the normal distribution", draws digits when they are needed in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.mechanisms.sampling.bernoulli import decide
from shuffledp.mechanisms.sampling.bits import Bits, Words
from shuffledp.mechanisms.sampling.geometric import geometric
from shuffledp.mechanisms.sampling.probability import Exponential, Logistic, Rational

#: Cells of G per standard deviation, at least, and how many of these they reach.
_CELLS, _REACH = 128, 6

_HALF = Rational(Fraction(1, 2))
_ALL_ONES = (1 << 64) - 1

#: Returns the digit of F at a position, counted from 1, for so many reports.
_Digits = Callable[[int, int], NDArray[np.bool_]]


def rounded_laplace(bits: Bits, places: FloatArray, rate: Fraction) -> IntArray:
    r"""Return the integers nearest to x + Z, Z having the density :math:`\frac\rho2e^{-\rho|z|}`.

    Args:
        bits: the source of random bits.
        places: the numbers x, taken as exact.
        rate: rho, above 0.

    >>> drawn = rounded_laplace(Bits(None), np.full(100_000, 0.5), Fraction(1, 100))
    >>> -2 < drawn.mean().item() < 3, 138 < drawn.std().item() < 145
    (True, True)
    """
    whole, negative = _propose(bits, rate, places.size)
    return _nearest(partial(_fraction, bits, rate), places, whole, negative)


def rounded_normal(bits: Bits, places: FloatArray, sigma: Fraction) -> IntArray:
    """Return the integers nearest to x + Z, Z being normal.

    Args:
        bits: the source of random bits.
        places: the numbers x, taken as exact.
        sigma: the standard deviation, above 0.

    >>> drawn = rounded_normal(Bits(None), np.full(100_000, 0.5), Fraction(100))
    >>> -2 < drawn.mean().item() < 3, 98 < drawn.std().item() < 102
    (True, True)
    """
    reports = np.empty(places.size, dtype=np.int64)
    width, least, most = _cells(sigma)
    digits = partial(_fraction, bits, 1 / sigma)
    left = np.arange(places.size)
    while left.size:
        whole, negative = _propose(bits, 1 / sigma, left.size)
        words, cell = bits.words(left.size), np.minimum(whole // width, least.size - 1)
        kept = words < least[cell]
        open_ = np.flatnonzero(~kept & (words <= most[cell]))
        now = left[kept]
        reports[now] = _nearest(digits, places[now], whole[kept], negative[kept])
        for i in open_.tolist():
            own = _Known(digits)
            kept[i] = _is_kept(bits, sigma, int(whole[i]), own, int(words[i]))
            if kept[i]:
                one = slice(i, i + 1)
                reports[left[one]] = _nearest(own, places[left[one]], whole[one], negative[one])
        left = left[~kept]
    return reports


def _propose(bits: Bits, rate: Fraction, size: int) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the whole parts of Laplace noise, and which of it is negative."""
    return geometric(bits, rate, size), decide(bits, _HALF, size)


def _fraction(bits: Bits, rate: Fraction, position: int, size: int) -> NDArray[np.bool_]:
    return decide(bits, Logistic(rate / 2**position), size)


def _nearest(
    digits: _Digits, places: FloatArray, whole: IntArray, negative: NDArray[np.bool_]
) -> IntArray:
    """Return the integers nearest to x + Z."""
    start = np.floor(places)
    rest = places - start  # exact, as is all that follows
    start += rest >= 0.5
    beyond = np.empty(places.size, dtype=np.bool_)
    left, position = np.arange(places.size), 0
    while left.size:
        position += 1
        rest *= 2
        bound = rest >= 1
        rest -= bound
        # Adding 1/2 flips the first digit; 1 - phi has the opposite ones.
        bound ^= negative[left] ^ (position > 1)
        drawn = digits(position, left.size)
        beyond[left] = drawn
        tied = drawn == bound
        left, rest = left[tied], rest[tied]
    noise = whole + beyond
    nearest: IntArray = start.astype(np.int64) + np.where(negative, -noise, noise)
    return nearest


class _Known:
    """Digits of F for one report, each of them drawn once."""

    def __init__(self, digits: _Digits) -> None:
        self._digits, self._known = digits, list[NDArray[np.bool_]]()

    def __call__(self, position: int, size: int) -> NDArray[np.bool_]:
        while len(self._known) < position:
            self._known.append(self._digits(len(self._known) + 1, size))
        return self._known[position - 1]


def _is_kept(bits: Bits, sigma: Fraction, whole: int, digits: _Digits, number: int) -> bool:
    """Return whether U is below p; ``number`` holds the first 64 digits of U."""
    length, position, low = 64, 0, Fraction(whole)
    while True:
        least, most = _ends(sigma, low, low + Fraction(1, 1 << position), length)
        if number < least:
            return True
        if number > most:
            return False
        number = number << 64 | int(bits.words(1)[0])
        length += 64
        position += 1
        if digits(position, 1)[0]:
            low += Fraction(1, 1 << position)


@lru_cache(maxsize=64)
def _cells(sigma: Fraction) -> tuple[int, Words, Words]:
    """Return the width of the cells of G, and what :func:`_ends` says of each; the last is open."""
    width = max(1, int(sigma) // _CELLS)
    edges = [Fraction(width * i) for i in range(int(_REACH * sigma) // width + 2)]
    ends = [_ends(sigma, low, high, 64) for low, high in pairwise(edges)]
    ends.append((0, _scaled(sigma, edges[-1], 64)))
    least, most = ([min(end, _ALL_ONES) for end in side] for side in zip(*ends, strict=True))
    return width, np.array(least, dtype=np.uint64), np.array(most, dtype=np.uint64)


def _ends(sigma: Fraction, low: Fraction, high: Fraction, length: int) -> tuple[int, int]:
    r"""Return the least and the largest :math:`\lfloor2^lp\rfloor` between two |Z|."""
    at = [_scaled(sigma, end, length) for end in (low, high)]
    return min(at), 1 << length if low <= sigma <= high else max(at)


@lru_cache(maxsize=4096)
def _scaled(sigma: Fraction, size: Fraction, length: int) -> int:
    r"""Return :math:`\lfloor2^lp\rfloor` for a size of Z."""
    exponent = (size / sigma - 1) ** 2 / 2
    return Exponential(exponent).scaled(length) if exponent else 1 << length
