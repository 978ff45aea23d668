"""From a randomizer to its exact decompositions in balls, compositions included."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from shuffledp.certification.balls import ball
from shuffledp.certification.channel import channel_decomposition
from shuffledp.certification.decomposition import BallDecomposition, Component, Side, mixture
from shuffledp.certification.noise import noise_decomposition
from shuffledp.certification.product import product_of
from shuffledp.certification.support import support_background, support_blanket
from shuffledp.randomizers import (
    KRR,
    AnyPureLDP,
    DiscreteLaplace,
    Gaussian,
    Input,
    Joint,
    Laplace,
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
    Subsample,
)
from shuffledp.randomizers.mixture import Mixture


def blanket(randomizer: LocalRandomizer, pair: Pair, side: Side) -> BallDecomposition:
    """Return one side of the optimal decomposition: c is the infimum of R over all inputs."""
    return _derive(randomizer, pair, None, side)


def background(
    randomizer: LocalRandomizer, pair: Pair, other: Input, side: Side
) -> BallDecomposition:
    """Return one side of the decomposition with c = R(other): all other users hold ``other``."""
    return _derive(randomizer, pair, other, side)


def _derive(
    randomizer: LocalRandomizer, pair: Pair, other: Input | None, side: Side
) -> BallDecomposition:
    if isinstance(randomizer, Joint | Mixture | Subsample):
        return _compose(randomizer, pair, other, side)
    if isinstance(randomizer, AnyPureLDP):
        randomizer = KRR(k=3 if other == 2 else 2, epsilon0=randomizer.epsilon0)
    if isinstance(randomizer, MatrixRandomizer):
        return channel_decomposition(randomizer, pair, other)
    if isinstance(randomizer, Laplace | DiscreteLaplace | Gaussian):
        return noise_decomposition(randomizer, pair, other, side)
    if other is None:
        return support_blanket(randomizer, pair)
    return support_background(randomizer, pair, other)


def _compose(
    randomizer: Joint | Mixture | Subsample, pair: Pair, other: Input | None, side: Side
) -> BallDecomposition:
    """Multiply or mix the decompositions of the parts; their weights are exact."""
    if isinstance(randomizer, Subsample):
        rate = Fraction(randomizer.rate)
        silent = BallDecomposition((Component(arb(0), arb(0), arb(1)),), arb(0))
        part = _derive(randomizer.part, pair, other, side)
        return mixture([ball(rate), ball(1 - rate)], [part, silent])
    own = map(Pair, randomizer.entries(pair.first), randomizer.entries(pair.second))
    others = (None,) * len(randomizer.parts) if other is None else randomizer.entries(other)
    triples = zip(randomizer.parts, own, others, strict=True)
    parts = [_derive(part, entry, x, side) for part, entry, x in triples]
    if isinstance(randomizer, Joint):
        return product_of(parts, side)
    weights = [Fraction(w) for w in randomizer.weights]
    return mixture([ball(w / sum(weights)) for w in weights], parts)
