"""Sums of a few summands in fractions, which share nothing with the engine."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from flint import arb
from hypothesis import strategies as st

from shuffledp.basics.balls import ball, precision
from shuffledp.engine.sums import Law

Atoms = dict[Fraction, Fraction]


def law_of(atoms: Atoms) -> Law:
    with precision():
        return Law.of((ball(value), ball(mass)) for value, mass in atoms.items())


def sum_of(*blocks: tuple[Atoms, int]) -> Atoms:
    """The law of a sum, value by value."""
    found: Atoms = {Fraction(0): Fraction(1)}
    for atoms, times in blocks:
        for _ in range(times):
            more: Atoms = defaultdict(Fraction)
            for x, p in found.items():
                for y, q in atoms.items():
                    more[x + y] += p * q
            found = dict(more)
    return found


def mean_of(atoms: Atoms, offset: Fraction, curvature: int) -> arb:
    """E f(S - offset) in many digits."""
    with precision(300):
        found = arb(0)
        for value, mass in atoms.items():
            x = value - offset
            if x > 0:
                kernel = -(-ball(x)).expm1() if curvature else ball(x)
                found += kernel * ball(mass)
        return found


@st.composite
def laws(draw: st.DrawFn, largest: int = 4) -> Atoms:
    """Laws of one to four values, of a few orders of magnitude, equal ones included."""
    size = draw(st.integers(1, largest))
    values = draw(st.lists(st.integers(-60, 60), min_size=size, max_size=size))
    scales = draw(st.lists(st.sampled_from([1, 7, 1000]), min_size=size, max_size=size))
    weights = draw(st.lists(st.integers(1, 10_000), min_size=size, max_size=size))
    atoms: Atoms = defaultdict(Fraction)
    for value, scale, weight in zip(values, scales, weights, strict=True):
        atoms[Fraction(value, scale)] += Fraction(weight, sum(weights))
    return dict(atoms)
