r"""Products of decompositions, kept small on a lattice of log ratios.

A large factor is replaced by one whose ratios lie on the lattice
:math:`\{e^{ih}\}\times\{e^{jh}\}`: every component is split between the corners of its box with
bilinear weights, which keeps both means and dominates in convex order, or gathered with all others
of the box at their mean, which is dominated. Lattices are closed under products.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from flint import arb

from shuffledp.basics.balls import precision, total
from shuffledp.decomposition.decomposition import Component, Decomposition

#: Products of more components than this are put on the lattice.
_MAX_COMPONENTS = 2**12

_FINE, _COARSE = 128, 128  # points of the lattice, for two and for more large factors

_FEW = 64  # factors of up to this many components are not coarsened


def product_of(factors: Sequence[Decomposition]) -> Decomposition:
    """Return the product, or one that encloses it in convex order if it would be too large."""
    with precision():
        large = sum(factor.upper.size > _FEW for factor in factors)
        step = _short(sum(map(_reach, factors)) / (_FINE if large == 2 else _COARSE))
        result = Decomposition.silent()
        for factor in sorted(factors, key=lambda f: f.upper.size):
            other = _on_lattice(factor, step) if large > 1 and factor.upper.size > _FEW else factor
            if result.upper.size * other.upper.size > 32 * _MAX_COMPONENTS:
                result, other = _on_lattice(result, step), _on_lattice(other, step)
            result = result.times(other)
            if result.upper.size > _MAX_COMPONENTS:
                result = _on_lattice(result, step)
        return result


def _short(x: float) -> float:
    """Return a double of few bits near x, so that multiples of it are exact."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(mantissa, 6)), exponent - 6)


def _reach(decomposition: Decomposition) -> float:
    """Return the largest absolute log ratio."""
    components = decomposition.upper.components
    logs = [log for c in components for log in (c.log0, c.log1) if log is not None]
    return max((abs(float(log)) for log in logs), default=0.0)


def _on_lattice(decomposition: Decomposition, step: float) -> Decomposition:
    upper = decomposition.upper
    corners = [
        Component(log0, log1, c.weight * share0 * share1)
        for c in upper.components
        for log0, share0 in _corners(c.log0, step)
        for log1, share1 in _corners(c.log1, step)
    ]
    return Decomposition(
        tuple(_means(decomposition.components, step)),
        decomposition.residual,
        decomposition.singular,
        Decomposition(tuple(corners), upper.residual, upper.singular),
    ).merged()


def _corners(log: arb | None, step: float) -> list[tuple[arb | None, arb]]:
    """Return the neighbouring points of the lattice and how to split a ratio between them."""
    if log is None:
        return [(None, arb(1))]
    below = _index(log, step)
    low, high = arb(step) * below, arb(step) * (below + 1)
    if log.is_exact() and log == low:
        return [(low, arb(1))]
    if not low <= log <= high:  # too close to a point of the lattice to tell the side
        low, high = low - step, high + step
    share = (log - low).expm1() / (high - low).expm1()
    return [(low, 1 - share), (high, share)]


def _index(log: arb, step: float) -> int:
    return int((log.mid() / step).mid().floor().fmpz())


def _means(components: Iterable[Component], step: float) -> list[Component]:
    """Gather the components of every box of the lattice at their mean."""
    boxes: dict[tuple[int | None, int | None], list[Component]] = {}
    for c in components:
        first, second = (None if log is None else _index(log, step) for log in (c.log0, c.log1))
        boxes.setdefault((first, second), []).append(c)
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
