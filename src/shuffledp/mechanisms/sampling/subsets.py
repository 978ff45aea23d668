"""Uniformly random subsets with or without a given value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.bernoulli import decide_packed
from shuffledp.mechanisms.sampling.bits import Bits
from shuffledp.mechanisms.sampling.layout import unsigned
from shuffledp.mechanisms.sampling.packed import Positions, Rows, get_bits, put_bits
from shuffledp.mechanisms.sampling.probability import Rational
from shuffledp.mechanisms.sampling.uniform import below

_ONES = np.array([i.bit_count() for i in range(256)], dtype=np.uint8)


def packed_subsets(
    bits: Bits, values: Positions, held: NDArray[np.bool_], domain_size: int, size: int
) -> Rows:
    """Return subsets of 0..D-1 of the given size as rows of bits.

    Every value is first taken or not on its own, with a probability near size/D; then members
    drawn at random are added or dropped until the size is right. The given value is put where it
    belongs and left alone. Nothing in this tells other values apart, so the result, which has the
    right size, is uniform. If few values are members, or few are not, those few are listed instead.

    Args:
        bits: random bits.
        values: one value per row.
        held: whether the row's subset holds its value.
        domain_size: D.
        size: the size of the subsets, from 1 to D-1.
    """
    width = -(-domain_size // 8)
    few = min(size, domain_size - size)
    if 8 * few < domain_size:
        listed = listed_subsets(bits, values, held == (size == few), domain_size, few)
        return _pack(listed.astype(np.int64), domain_size, members=size == few)
    share = Rational(Fraction(round(256 * size / domain_size), 256))
    rows = decide_packed(bits, share, values.size * width).reshape(values.size, width)
    if domain_size % 8:
        rows[:, -1] &= np.uint8((1 << domain_size % 8) - 1)
    put_bits(rows, np.arange(values.size), values, held)
    excess = _ONES[rows].sum(axis=1, dtype=np.int64) - size
    wrong = np.flatnonzero(excess)
    while wrong.size:
        chosen = below(bits, domain_size, wrong.size).astype(np.int64)
        surplus = excess[wrong] > 0
        change = (get_bits(rows, wrong, chosen) == surplus) & (chosen != values[wrong])
        where, surplus = wrong[change], surplus[change]
        put_bits(rows, where, chosen[change], ~surplus)
        excess[where] += np.where(surplus, -1, 1)
        wrong = wrong[excess[wrong] != 0]
    return rows


def listed_subsets(
    bits: Bits, values: Positions, held: NDArray[np.bool_], domain_size: int, size: int
) -> NDArray[np.unsignedinteger]:
    """Return the same as rows of sorted members; the arguments are the same, too.

    The other members are drawn among the D-1 other values, and drawn again where two are equal.
    """
    rows = np.empty((values.size, size), dtype=unsigned(domain_size))
    for own in (False, True):
        users = np.flatnonzero(held == own)
        others = _distinct(bits, domain_size - 1, (users.size, size - own)).astype(rows.dtype)
        others += others >= values[users, None].astype(rows.dtype)
        rows[users, : size - own] = others
        rows[users, size - own :] = values[users, None]
    rows.sort(axis=1)
    return rows


def _pack(listed: Positions, domain_size: int, *, members: bool) -> Rows:
    """Return rows of bits that are set for the listed values, or for all others."""
    rows = np.zeros((listed.shape[0], -(-domain_size // 8)), dtype=np.uint8)
    if not members:
        rows[:] = np.packbits(np.ones(domain_size, dtype=np.uint8), bitorder="little")
    for column in listed.T:
        put_bits(rows, np.arange(rows.shape[0]), column, np.full(column.shape, members))
    return rows


def _distinct(bits: Bits, bound: int, shape: tuple[int, int]) -> NDArray[np.unsignedinteger]:
    """Return rows of different integers below ``bound``, in rising order."""
    rows = below(bits, bound, shape[0] * shape[1]).reshape(shape)
    open_ = np.arange(shape[0])
    while open_.size:
        block = np.sort(rows[open_], axis=1)
        row, column = np.nonzero(block[:, 1:] == block[:, :-1])
        rows[open_] = block
        rows[open_[row], column] = below(bits, bound, row.size)
        open_ = open_[np.unique(row)]
    return rows
