"""Ways to compare decompositions."""

from __future__ import annotations

from oracles import law_scale, stop_loss, thresholds

from shuffledp.decomposition import Decomposition
from shuffledp.engine.sums import Law

EPSILONS = (-0.4, 0.0, 0.1, 0.7, 1.3)


def singular_pairs(d: Decomposition) -> list[tuple[float, float]]:
    return sorted((float(s.a), float(s.b)) for s in d.singular)


def assert_below(smaller: Law, larger: Law) -> None:
    """``smaller`` is below ``larger`` in convex order, up to rounding of doubles."""
    levels = thresholds(smaller, larger)
    slack = law_scale(smaller, larger)
    assert (stop_loss(smaller, levels) <= stop_loss(larger, levels) + slack).all()


def assert_same(one: Decomposition, other: Decomposition) -> None:
    """Both have the same laws of gains, and expose the same."""
    for epsilon in EPSILONS:
        first, second = one.at(epsilon), other.at(epsilon)
        for x, y in ((first.lower, second.lower), (first.upper, second.upper)):
            assert_below(x, y)
            assert_below(y, x)
        for x, y in zip(first.exposed, second.exposed, strict=True):
            assert x.overlaps(y)


def assert_between(d: Decomposition, exact: Decomposition) -> None:
    """The laws of d enclose those of a decomposition into atoms in convex order."""
    for epsilon in EPSILONS:
        gains, law = d.at(epsilon), exact.at(epsilon)
        assert_below(gains.lower, law.lower)
        assert_below(law.lower, gains.upper)
        assert gains.exposed[0].overlaps(law.exposed[0])
        assert not gains.exposed[1] < law.exposed[0]
