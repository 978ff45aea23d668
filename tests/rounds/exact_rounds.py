"""Profiles and compositions of finite pairs of laws, in exact fractions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from shuffledp.bounds.rounds.loss_law import LossLaw
from shuffledp.bounds.rounds.node import START, Node, Point

#: Probabilities of each output under the first and the second law.
Laws = Sequence[tuple[Fraction, Fraction]]


def random_laws(rng: random.Random, outputs: int, zeros: bool = True) -> Laws:
    """A pair of laws; some outputs may be impossible under one of them."""
    pairs = [(rng.randint(1, 20), rng.randint(1, 20)) for _ in range(outputs)]
    if zeros and rng.random() < 0.3:
        pairs[0] = (pairs[0][0], 0)
    if zeros and outputs > 2 and rng.random() < 0.3:
        pairs[-1] = (0, pairs[-1][1])
    first, second = (sum(column) for column in zip(*pairs, strict=True))
    return [(Fraction(p, first), Fraction(q, second)) for p, q in pairs]


def reverse(laws: Laws) -> Laws:
    return [(q, p) for p, q in laws]


def profile(laws: Laws, ratio: Fraction) -> Fraction:
    """The largest P(D) - ratio Q(D) over all events D."""
    return sum((max(p - ratio * q, Fraction(0)) for p, q in laws), Fraction(0))


def product(*rounds: Laws) -> Laws:
    """The law of independent rounds."""
    result: Laws = [(Fraction(1), Fraction(1))]
    for laws in rounds:
        result = [(a * p, b * q) for a, b in result for p, q in laws]
    return result


def composed(rounds: Sequence[LossLaw], ratio: Fraction) -> Fraction:
    """Delta of independent rounds of loss laws, by enumeration."""
    atoms = [(Fraction(1), Fraction(1))]
    for law in rounds:
        pairs = list(zip(law.ratios, law.masses, strict=True))
        atoms = [(r * own, m * mass) for r, m in atoms for own, mass in pairs]
    finite = sum((m * (1 - ratio / r) for r, m in atoms if r > ratio), Fraction(0))
    kept = all_finite = Fraction(1)
    for law in rounds:
        kept *= law.kept + law.infinite
        all_finite *= law.kept
    return finite + kept - all_finite


def nodes_around(
    laws: Laws, ratios: Sequence[Fraction], rng: random.Random, noise: Fraction
) -> list[Node]:
    """Nodes at the given ratios, whose values miss the profile by at most the noise, outwards.

    Below ratio 1 only what exceeds 1 - ratio is noisy, as in practice.
    """
    nodes = [START]
    for ratio in sorted(ratios):
        true = profile(laws, ratio)
        base = max(1 - ratio, Fraction(0))
        up, down = (Fraction(rng.randint(0, 1000), 1000) * noise for _ in range(2))
        x = ratio - 1
        apart = Fraction(rng.randint(0, 3), 10**6)
        above, below = Point(x + apart, base + (true - base) * (1 + up)), Point(x - apart, true)
        above = Point(above.x, max(above.y, profile(laws, 1 + above.x)))
        true_below = profile(laws, 1 + below.x)
        base_below = max(-below.x, Fraction(0))
        below = Point(below.x, base_below + (true_below - base_below) * (1 - down))
        nodes.append(Node(above, below))
    return nodes
