r"""The laws of additive noise in balls: cells whose edges are exact and whose masses are proved.

Within a cell the ratios (a/c, b/c) run along a segment of the plane. All mass at the mean is below
the true law in convex order, the same mass at the two ends with the same mean is above it, for
every epsilon, because G is linear in the ratios. Where the edges lie is a matter of accuracy only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from flint import arb

from shuffledp.certification.decomposition import BallDecomposition, Component, Side
from shuffledp.engine.balls import ball, short, total
from shuffledp.randomizers import DiscreteLaplace, Gaussian, Input, Laplace, Pair

Noise = Laplace | DiscreteLaplace | Gaussian

_CELLS = 2048  # per half of the outputs
_REACH = 37.0  # standard deviations from the far input beyond which outputs count as exposed


class _Cell(NamedTuple):
    """A cell of the outputs nearer to input 0 (near) than to B (far).

    ``inner`` and ``outer`` are log R(near)/R(far) at its edges, ``near`` and ``far`` its masses.
    """

    inner: arb
    outer: arb
    near: arb
    far: arb


class _Half(NamedTuple):
    """The cells of one half and the (near, far) masses beyond them, where ratios are unbounded."""

    cells: list[_Cell]
    tail: tuple[arb, arb] | None = None


def noise_decomposition(
    randomizer: Noise, pair: Pair, holder: Input | None, side: Side
) -> BallDecomposition:
    """Return one side of the decomposition with c the law of the holder, None for the blanket.

    On the half near 0 the ratio of R(0) to the smaller law is u and that of R(B) is 1, on the other
    half the reverse. Outputs beyond the cells stay together on the lower side; on the upper side
    every one of them is taken to give the input away, which is a smaller blanket. Inputs in between
    have the blanket of the end points, which dominates theirs, and no law of their own.
    """
    ends = (0, randomizer.bound if isinstance(randomizer, DiscreteLaplace) else 1)
    if holder is None and not (pair.first in ends and pair.second in ends):
        pair = Pair(*ends)
    if any(x not in ends for x in (pair.first, pair.second, ends[0] if holder is None else holder)):
        raise ValueError(f"inputs must be {ends[0]} or {ends[1]}, got {pair} and {holder}")
    half = NOISE_LAWS[type(randomizer)](randomizer)
    components: list[Component] = []
    singular: list[tuple[arb, arb]] = []
    exposed = arb(0)
    for near_zero in (True, False):
        held, first, second = (
            int(x is not None and (x == 0) == near_zero) for x in (holder, pair.first, pair.second)
        )
        for cell in half.cells:
            weight = cell.near if held else cell.far
            components += [
                Component((first - held) * log, (second - held) * log, weight * share)
                for log, share in _places(cell, held, side)
            ]
        if half.tail is not None:
            near, far = half.tail
            a, b, c = (near if x else far for x in (first, second, held))
            if side == "upper":
                singular += [(a, arb(0)), (arb(0), b)]
                exposed += c
            else:
                components.append(Component((a / c).log(), (b / c).log(), c))
    residual = exposed if holder is not None else 1 - total(c.weight for c in components)
    return BallDecomposition(tuple(components), residual, tuple(singular)).merged()


def _places(cell: _Cell, held: int, side: Side) -> list[tuple[arb, arb]]:
    """Return logs of u and shares of the mass of c: the mean, or the ends with the same mean."""
    if cell.inner is cell.outer:
        return [(cell.inner, arb(1))]
    log_mean = (cell.near / cell.far).log()
    if side == "lower":
        return [(log_mean, arb(1))]
    sign = -1 if held else 1  # where c is the larger law, ratios run with 1/u
    start, mean, stop = ((sign * log).exp() for log in (cell.inner, log_mean, cell.outer))
    share = (mean - start) / (stop - start)
    return [(cell.inner, 1 - share), (cell.outer, share)]


def _laplace(randomizer: Laplace) -> _Half:
    r"""Return cells of about equal width in :math:`v=\sqrt u` and the atom of outputs below 0.

    Between :math:`v_1` and :math:`v_2` the masses are
    :math:`\frac12e^{-\varepsilon_0/2}(v_2-v_1)` and
    :math:`\frac12e^{-\varepsilon_0/2}(1/v_1-1/v_2)`.
    """
    level = ball(randomizer.epsilon0)
    width = math.expm1(randomizer.epsilon0 / 2) / _CELLS
    edges = [ball(short(2 * math.log1p(width * i), 40)) for i in range(1, _CELLS)]
    edges = [arb(0), *edges, level]
    scale = (-level / 2).exp() / 2
    cells = []
    for inner, outer in pairwise(edges):
        growth = ((outer - inner) / 2).expm1()
        near = scale * (inner / 2).exp() * growth
        far = scale * (-outer / 2).exp() * growth
        cells.append(_Cell(inner, outer, near, far))
    cells.append(_Cell(level, level, arb(1) / 2, (-level).exp() / 2))
    return _Half(cells)


def _discrete_laplace(randomizer: DiscreteLaplace) -> _Half:
    r"""Return runs of consecutive outputs and the atom of the outputs that are at most 0.

    :math:`P(Z=z)=\frac{1-\alpha}{1+\alpha}\alpha^{|z|}`, so a run of m outputs from y has the
    masses :math:`\alpha^y(1-\alpha^m)/(1+\alpha)` and
    :math:`\alpha^{B-y-m+1}(1-\alpha^m)/(1+\alpha)`.
    """
    bound, level = randomizer.bound, ball(randomizer.epsilon0)
    rate = level / bound
    norm = 1 + (-rate).exp()
    inside = (bound - 1) // 2  # outputs 1..inside are nearer to 0; B/2 belongs to both halves
    run = max(1, -(-inside // _CELLS))
    cells = []
    for first in range(1, inside + 1, run):
        last = min(first + run - 1, inside)
        count = -(-rate * (last - first + 1)).expm1() / norm
        outer = rate * (bound - 2 * first)
        inner = outer if first == last else rate * (bound - 2 * last)
        near, far = (-rate * first).exp() * count, (-rate * (bound - last)).exp() * count
        cells.append(_Cell(inner, outer, near, far))
    if bound % 2 == 0:
        middle = -(-rate).expm1() / norm * (-level / 2).exp() / 2
        one = arb(0)
        cells.append(_Cell(one, one, middle, middle))
    cells.append(_Cell(level, level, 1 / norm, (-level).exp() / norm))
    return _Half(cells)


def _gaussian(randomizer: Gaussian) -> _Half:
    """Return cells that are dense where tilted masses are, in standard deviations from 1/2."""
    sigma = ball(randomizer.sigma)
    half = 1 / (2 * sigma)
    edges = [ball(edge) for edge in _gaussian_edges(0.5 / randomizer.sigma)]
    near, far = ([_above(edge + shift) for edge in edges] for shift in (-half, half))
    logs = [edge / sigma for edge in edges]
    cells = [
        _Cell(logs[i], logs[i + 1], near[i] - near[i + 1], far[i] - far[i + 1])
        for i in range(len(edges) - 1)
    ]
    return _Half(cells, (near[-1], far[-1]))


def _above(x: arb) -> arb:
    """Return the normal probability of values above x."""
    return (x / arb(2).sqrt()).erfc() / 2


def _gaussian_edges(half: float) -> list[float]:
    """Place edges by equal increments of a wide normal density plus a uniform one."""
    reach = _REACH - half
    count = 16 * _CELLS
    places = [reach * i / count for i in range(count + 1)]
    heights = [
        0.5 * math.erf((x - 4 * half) / (5 * math.sqrt(2))) + 0.1 * x / reach for x in places
    ]
    span = heights[-1] - heights[0]
    edges, cells = [0.0], 2 * _CELLS
    for place, height in zip(places, heights, strict=True):
        if (height - heights[0]) * cells >= len(edges) * span:
            edges.append(short(place, 40))
    edges[-1] = reach if edges[-1] >= places[-1] else edges[-1]
    return edges


#: The cells of every kind of noise.
NOISE_LAWS: Mapping[type[Noise], Callable[..., _Half]] = {
    Laplace: _laplace,
    DiscreteLaplace: _discrete_laplace,
    Gaussian: _gaussian,
}
