"""Transforms of additive noise from its two densities, with mpmath."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import mpmath as mp
from mpmath.calculus.quadrature import GaussLegendre

Density = Callable[[mp.mpf], mp.mpf]
_DEGREE, _PARTS = 4, 16  # 24 nodes in each part


def gaussian_densities(sigma: float) -> tuple[Density, Density]:
    scale = mp.mpf(sigma)
    return (
        lambda y: mp.npdf(y, 0, scale),
        lambda y: mp.npdf(y, 1, scale),
    )


def laplace_densities(epsilon0: float) -> tuple[Density, Density]:
    level = mp.mpf(epsilon0)
    return (
        lambda y: level / 2 * mp.exp(-level * abs(y)),
        lambda y: level / 2 * mp.exp(-level * abs(y - 1)),
    )


def transform(
    densities: tuple[Density, Density],
    cuts: list[mp.mpf],
    epsilon: float,
    z: complex,
    holder: int | None = None,
) -> mp.mpc:
    """Return 1 + E[e^{zG} - 1] over the outputs between the cuts; G is 0 elsewhere."""
    growth, point = mp.exp(mp.mpf(epsilon)), mp.mpc(z)

    def integrand(y: mp.mpf) -> mp.mpc:
        a, b = densities[0](y), densities[1](y)
        c = min(a, b) if holder is None else (a, b)[holder]
        return (mp.exp(point * (a - growth * b) / c) - 1) * c

    nodes = GaussLegendre(mp.mp).calc_nodes(_DEGREE, mp.mp.prec)
    total = mp.mpc(1)
    for left, right in pairwise(cuts):
        for part in range(_PARTS):
            low = left + (right - left) * part / _PARTS
            half = (right - left) / (2 * _PARTS)
            total += half * mp.fsum(w * integrand(low + half * (1 + x)) for x, w in nodes)
    return total


def gaussian_cuts(sigma: float, end: float) -> list[mp.mpf]:
    """Return the outputs up to so many sigma from the middle, and the middle."""
    reach = mp.mpf(sigma) * mp.mpf(end)
    return [mp.mpf(1) / 2 - reach, mp.mpf(1) / 2, mp.mpf(1) / 2 + reach]


def laplace_cuts(epsilon0: float) -> list[mp.mpf]:
    """Return the kinks of both densities, and where next to nothing is left."""
    far = 60 / mp.mpf(epsilon0)
    return [-far, mp.mpf(0), mp.mpf(1) / 2, mp.mpf(1), 1 + far]
