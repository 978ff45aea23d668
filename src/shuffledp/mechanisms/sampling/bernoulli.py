"""Decisions with an exact probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.bits import Bits, Words
from shuffledp.mechanisms.sampling.probability import Probability

#: So many words are decided together: their arrays stay in the cache.
_CHUNK = 1 << 13

#: After so many digits most words are settled, and only the others are carried on.
_DENSE = 8


def decide(bits: Bits, probability: Probability, size: int) -> NDArray[np.bool_]:
    """Return independent decisions, each true with exactly the given probability.

    >>> from fractions import Fraction
    >>> from shuffledp.mechanisms.sampling import Rational
    >>> 0.31 < float(decide(Bits(None), Rational(Fraction(1, 3)), 30_000).mean()) < 0.36
    True
    """
    packed = decide_packed(bits, probability, -(-size // 8))
    return np.unpackbits(packed, count=size).view(np.bool_)


def decide_packed(bits: Bits, probability: Probability, size: int) -> NDArray[np.uint8]:
    """Return ``size`` bytes of eight independent decisions each.

    A decision is whether a random number U is below the probability p. The binary digits of U are
    drawn until one differs from that of p: for 64 decisions at a time, one random word per digit.
    That takes about nine bits per decision.
    """
    ones = np.zeros(-(-size // 8), dtype=np.uint64)
    for start in range(0, ones.size, _CHUNK):
        _decide_words(bits, probability, ones[start : start + _CHUNK])
    return ones.view(np.uint8)[:size]


def _decide_words(bits: Bits, probability: Probability, ones: Words) -> None:
    """Set the bits of the decisions in which U is below p; ``ones`` comes in as zeros."""
    length = probability.length
    dense = _DENSE if length is None else min(_DENSE, length)
    tied = np.full(ones.size, ~np.uint64(0))
    for position, words in enumerate(bits.words(dense * ones.size).reshape(dense, ones.size)):
        _compare(probability.digit(position), words, tied, ones)
    index = np.flatnonzero(tied)
    tied, found, position = tied[index], ones[index], dense
    while tied.size and position != length:
        _compare(probability.digit(position), bits.words(tied.size), tied, found)
        position += 1
        ones[index] = found
        keep = np.flatnonzero(tied)
        index, tied, found = index[keep], tied[keep], found[keep]


def _compare(digit: int, words: Words, tied: Words, ones: Words) -> None:
    """Take one more digit of U into account: it is 0 where ``words`` has a one."""
    np.bitwise_and(words, tied, out=words)
    if digit:
        np.bitwise_or(ones, words, out=ones)
        np.bitwise_xor(tied, words, out=tied)
    else:
        tied[...] = words
