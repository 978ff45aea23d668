r"""Products of decompositions in balls, kept small on a lattice of log ratios.

A large factor is replaced by one whose ratios lie on the lattice
:math:`\{e^{ih}\}\times\{e^{jh}\}` (upper: every component is split between the corners of its box
with bilinear weights, which keeps both means) or by the means of its boxes (lower). Lattices are
closed under products.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from shuffledp.certification.decomposition import BallDecomposition, Component, Side
from shuffledp.engine.balls import short, total

#: Products have at most about this many components.
_MAX_COMPONENTS = 2**15

_FINE, _COARSE = 256, 128  # points of the lattice, for two and for more large factors

_FEW = 64  # factors of up to this many components are not coarsened


def product_of(factors: Sequence[BallDecomposition], side: Side) -> BallDecomposition:
    """Return the product, or one above or below it in convex order if it would be too large."""
    large = sum(len(f.components) > _FEW for f in factors)
    step = short(sum(map(_reach, factors)) / (_FINE if large == 2 else _COARSE), 6)
    result = BallDecomposition((Component(arb(0), arb(0), arb(1)),), arb(0))
    for factor in sorted(factors, key=lambda f: len(f.components)):
        coarse = large > 1 and len(factor.components) > _FEW
        other = _coarse(factor, step, side) if coarse else factor
        if len(result.components) * len(other.components) > 32 * _MAX_COMPONENTS:
            result, other = _coarse(result, step, side), _coarse(other, step, side)
        result = result.times(other)
        if len(result.components) > _MAX_COMPONENTS:
            result = _coarse(result, step, side)
    return result


def _reach(decomposition: BallDecomposition) -> float:
    """Return the largest absolute log ratio."""
    logs = [log for c in decomposition.components for log in (c.log0, c.log1) if log is not None]
    return max((abs(float(log.mid())) for log in logs), default=0.0)


def _coarse(decomposition: BallDecomposition, step: float, side: Side) -> BallDecomposition:
    if side == "upper":
        components = [
            Component(log0, log1, c.weight * share0 * share1)
            for c in decomposition.components
            for log0, share0 in _corners(c.log0, step)
            for log1, share1 in _corners(c.log1, step)
        ]
    else:
        components = _means(decomposition.components, step)
    return BallDecomposition(
        tuple(components), decomposition.residual, decomposition.singular
    ).merged()


def _corners(log: arb | None, step: float) -> list[tuple[arb | None, arb]]:
    """Return the neighbouring points of the lattice and how to split a ratio between them."""
    if log is None:
        return [(None, arb(1))]
    below = _index(log, step)
    low, high = (arb(step) * i for i in (below, below + 1))
    if log.is_exact() and log == low:
        return [(low, arb(1))]
    if not low <= log <= high:  # too close to a point of the lattice to tell the side
        low, high = low - step, high + step
    share = (log - low).expm1() / (high - low).expm1()
    return [(low, 1 - share), (high, share)]


def _index(log: arb, step: float) -> int:
    return int((log.mid() / step).mid().floor().fmpz())


def _means(components: Sequence[Component], step: float) -> list[Component]:
    """Gather the components of every box of the lattice at their mean."""
    boxes: dict[tuple[int | None, int | None], list[Component]] = {}
    for c in components:
        key = tuple(None if log is None else _index(log, step) for log in (c.log0, c.log1))
        boxes.setdefault((key[0], key[1]), []).append(c)
    return [_mean(members) for members in boxes.values()]


def _mean(members: list[Component]) -> Component:
    if len(members) == 1:
        return members[0]
    weight = total(c.weight for c in members)
    log0 = _log_mean([(c.weight, c.log0) for c in members], weight)
    log1 = _log_mean([(c.weight, c.log1) for c in members], weight)
    return Component(log0, log1, weight)


def _log_mean(members: list[tuple[arb, arb | None]], weight: arb) -> arb | None:
    """Return the log of the mean ratio, None if the ratios are 0."""
    parts = [w * log.exp() for w, log in members if log is not None]
    return (total(parts) / weight).log() if parts else None
