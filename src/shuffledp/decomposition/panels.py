r"""Gauss-Legendre rules on panels, with a proved error for analytic integrands.

If f is analytic and at most M in the Bernstein ellipse of parameter :math:`\rho>1` around [-1, 1],
its Chebyshev coefficients are at most :math:`2M\rho^{-k}`. The rule of N points is exact up to
degree 2N - 1 and, by symmetry, for odd k; for even k the integral of :math:`T_k` is at most
:math:`2/(k^2-1)` and the rule gives at most 2. So for N > 1 its error is at most

.. math:: \sum_{k=2N,2N+2,\dots}2M\rho^{-k}\Big(2+\frac2{4N^2-1}\Big)
          \le\frac{64}{15}\,M\,\frac{\rho^{-2N}}{1-\rho^{-2}},

times h on a panel of half width h. The ellipse has half axes
:math:`\frac h2(\rho\pm\rho^{-1})`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.arrays import FloatArray

#: The positive nodes of the rule of 16 points and their weights, correctly rounded.
_HALF_NODES = (
    0.09501250983763744,
    0.2816035507792589,
    0.45801677765722737,
    0.6178762444026438,
    0.755404408355003,
    0.8656312023878318,
    0.9445750230732326,
    0.9894009349916499,
)
_HALF_WEIGHTS = (
    0.1894506104550685,
    0.18260341504492358,
    0.16915651939500254,
    0.14959598881657674,
    0.12462897125553388,
    0.09515851168249279,
    0.062253523938647894,
    0.027152459411754096,
)
POINTS = 2 * len(_HALF_NODES)
NODES: FloatArray = np.concatenate([-np.array(_HALF_NODES[::-1]), np.array(_HALF_NODES)])
WEIGHTS: FloatArray = np.concatenate([np.array(_HALF_WEIGHTS[::-1]), np.array(_HALF_WEIGHTS)])

#: Ellipses to choose from; every one gives a valid bound.
_RHO: FloatArray = np.array([1.5, 2.0, 2.7, 3.6, 5.0, 7.0, 10.0])

_STRIPS = 6  # into which an ellipse is cut, so that bounds on factors are taken close together
_ROUND_UP = 1e-9


@dataclass(frozen=True, eq=False)
class Strips:
    """Rectangles that cover ellipses around panels: one row per panel, then ellipse, then strip.

    Attributes:
        left: smallest real part.
        right: largest real part.
        height: largest absolute imaginary part.
        log_factor: for each panel and ellipse the logarithm of what the largest modulus of the
            integrand in the ellipse is multiplied with to bound the error.
    """

    left: FloatArray
    right: FloatArray
    height: FloatArray
    log_factor: FloatArray


@dataclass(frozen=True, eq=False)
class Panels:
    """Panels between neighbouring ``edges``, each with a rule of 16 points.

    >>> panels = Panels(np.array([0.0, 1.0, 2.0]))
    >>> round(float(panels.weights @ panels.nodes**31), 2), 2**32 / 32
    (134217728.0, 134217728.0)
    """

    edges: FloatArray

    @classmethod
    def up_to(cls, end: float, width: float) -> Panels:
        """Cut [0, end] into panels of equal width, at most the given one."""
        return cls(np.linspace(0.0, end, max(math.ceil(end / width), 1) + 1))

    @property
    def count(self) -> int:
        """Number of panels."""
        return self.edges.size - 1

    @cached_property
    def _middle(self) -> FloatArray:
        return (self.edges[1:] + self.edges[:-1]) / 2

    @cached_property
    def _radius(self) -> FloatArray:
        return np.diff(self.edges) / 2

    @cached_property
    def nodes(self) -> FloatArray:
        """The nodes of all panels, to 4 units round-off of the larger edge of each."""
        return (self._middle[:, None] + np.multiply.outer(self._radius, NODES)).ravel()

    @cached_property
    def weights(self) -> FloatArray:
        """The weights of all nodes, to 4 units round-off."""
        return np.multiply.outer(self._radius, WEIGHTS).ravel()

    @cached_property
    def ends(self) -> FloatArray:
        """The larger edge of the panel of each node."""
        return np.repeat(self.edges[1:], POINTS)

    def stretches(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Cut every panel into stretches; return their left and right ends, a row per panel."""
        shares = np.linspace(0.0, 1.0, count + 1)
        cuts = self.edges[:-1, None] + np.diff(self.edges)[:, None] * shares
        cuts[:, -1] = self.edges[1:]
        return cuts[:, :-1], cuts[:, 1:]

    @cached_property
    def strips(self) -> Strips:
        """Rectangles that cover the ellipses, rounded outwards."""
        middle, radius = self._middle[:, None, None], self._radius[:, None, None]
        longer = radius * ((_RHO + 1 / _RHO) / 2)[:, None] * (1 + _ROUND_UP)
        shorter = radius * ((_RHO - 1 / _RHO) / 2)[:, None] * (1 + _ROUND_UP)
        cuts = np.linspace(-1.0, 1.0, _STRIPS + 1)
        nearest = np.where(
            cuts[:-1] * cuts[1:] <= 0, 0.0, np.minimum(np.abs(cuts[:-1]), np.abs(cuts[1:]))
        )
        slack = _ROUND_UP * (self.edges[-1] + longer)
        factor = 64 / 15 * self._radius[:, None] * _RHO ** (-2.0 * POINTS) / (1 - _RHO**-2.0)
        return Strips(
            left=middle + longer * cuts[:-1] - slack,
            right=middle + longer * cuts[1:] + slack,
            height=shorter * np.sqrt(1 - nearest**2),
            log_factor=np.log(factor) + _ROUND_UP,
        )
