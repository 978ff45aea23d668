r"""When a background of one type is worse than every mixture: the swap bound of many types at once.

Let F be the transform at a node of a background in which all others are of the *leading* type, the
one with the largest K at the tilt, and let type v fall short of it by :math:`m_v>0`. Replacing some
of them by others multiplies F by :math:`e^{-r+w}` with :math:`r=\sum m_v` over those replaced and
:math:`w=\sum(L_v-L+m_v)`, so :math:`|w|\le rx` if every :math:`|L_v-L+m_v|\le m_vx`. From
:math:`e^w-1=\int_0^1we^{sw}ds` the mixture's transform differs from :math:`e^{-r}F` by at most

.. math:: (1-e^{-r})\,x\,|F|\,G(\eta),\qquad
          G(\eta)=\sup_r\frac{re^{-r(1-\eta)}}{1-e^{-r}}
          \le\begin{cases}1&\eta\le\frac12\\e^{-\eta}/(1-\eta)&\eta<1\end{cases}

where :math:`\mathrm{Re}(L_v-L+m_v)\le\eta m_v`. Where :math:`\eta` is large let h be the modulus of
one slot of the leading type, N the number of slots and H the largest modulus of any background. If
at most half of the slots are replaced, both transforms are below :math:`h^{N/2}` and r is at most
:math:`(1+N\max m)(1-e^{-r})`; if more are, r is at least :math:`\frac N2\min m`. So the difference
is at most

.. math:: (1-e^{-r})\Big(x\,(1+N\max m)\,h^{N/2}+\frac{2H}{1-e^{-N\min m/2}}\Big),

and for the same reasons at most :math:`(1-e^{-r})\max(1.59x,2.17)H`. With A the sum of such bounds
over the nodes and J that of the leading type, the mixture's sum is at most

.. math:: e^{-r}J+(1-e^{-r})A\le\max(J,A).

Usually A is a third of J: then the leading type alone is the worst background. This holds for every
set K of users that were examined in vain, with n - 1 - k users in place of n - 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray

_BLOCKS = 16  # so many steps from 0 to n - 1 in which k is looked at
_LARGEST_ETA = 0.9
_FEW, _MANY = 1.59, 2.17
_ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a contour sum, with the transforms of all types in units of the leading one's top.

    Attributes:
        kernel: what the transform of a background is multiplied with.
        size: upper bounds on the modulus of the true kernel.
        error: absolute errors of the kernel.
        phase_error: relative errors of its phase.
        exponent: L - top, one row per type, the imaginary parts within pi of each other.
        relative: absolute errors of these exponents.
    """

    kernel: NDArray[np.complex128]
    size: FloatArray
    error: FloatArray
    phase_error: FloatArray
    exponent: NDArray[np.complex128]
    relative: FloatArray


def leading_type(nodes: Nodes) -> int:
    """Return the type with the largest transform at the tilt, which is the first node."""
    return int(np.argmax(nodes.exponent[:, 0].real))


def loss_of_leading(nodes: Nodes, others: int, terms: int, log_ratio: float, gamma: float) -> float:
    r"""Bound by how much the sum of any mixture exceeds that of the leading type; often 0.

    Args:
        nodes: the nodes of the sum, the first of which is the tilt.
        others: n - 1.
        terms: for how many k, from 0 on, the sum is taken.
        log_ratio: log of :math:`(1-\gamma)e^{-top}`: the weight of k is :math:`\gamma` times its
            k-th power.
        gamma: mass of the blanket.
    """
    lead = leading_type(nodes)
    own, rest = nodes.exponent[lead], np.delete(nodes.exponent, lead, axis=0)
    margins = own[:1].real - rest[:, :1].real
    if margins.size == 0:
        return 0.0
    if not margins.min() > 0:
        return math.inf
    away = rest - own + margins
    gap = _Gap(
        x=(np.abs(away) + 2 * nodes.relative) / margins,
        eta=((away.real + 2 * nodes.relative) / margins).max(axis=0),
        smallest=float(margins.min()),
        largest=float(margins.max()),
    )
    lengths = np.abs(own) + nodes.relative
    top = np.minimum(own.real + nodes.relative, 0.0)
    highest = np.minimum(nodes.exponent.real.max(axis=0) + nodes.relative, 0.0)
    step = max(1, -(-others // _BLOCKS))
    total = 0.0
    for first in range(0, terms, step):
        last = min(first + step, terms) - 1
        with np.errstate(under="ignore"):
            height = nodes.size * np.exp((others - last) * top)
            half = nodes.size * np.exp(0.5 * (others - last) * top)
            largest = nodes.size * np.exp((others - last) * highest)
        mixed = gap.allowance(others, others - last, height, half, largest) * _ROUND_UP
        bent = np.minimum(((last - first) * lengths) ** 2 / 8, 2.0)
        alone = min(_sum(nodes, own, others - k) for k in (first, last))
        lost = max(mixed - alone + float(height @ bent) * _ROUND_UP, 0.0)
        if lost > 0:
            worth = max(k * log_ratio if k else 0.0 for k in (first, last))
            total += lost * gamma * (last - first + 1) * math.exp(worth) * _ROUND_UP
    return total


@dataclass(frozen=True, eq=False)
class _Gap:
    """How the other types differ from the leading one, relative to what they fall short of it.

    Attributes:
        x: the bound on their distance, one row per type.
        eta: the bound on its real part, for all types.
        smallest: the least a type falls short.
        largest: the most a type falls short.
    """

    x: FloatArray
    eta: FloatArray
    smallest: float
    largest: float

    def allowance(
        self, most: int, least: int, height: FloatArray, half: FloatArray, largest: FloatArray
    ) -> float:
        """Return A for numbers of slots from ``least`` to ``most``.

        Every node has one bound for all types, convex in x, so that mixtures need no more.

        Args:
            most: largest number of slots.
            least: smallest number of slots.
            height: bounds on the modulus of the leading type's terms.
            half: the same with half the slots.
            largest: bounds on the modulus of the terms of any background.
        """
        eta = np.clip(self.eta, 0.5, _LARGEST_ETA)
        gentle = np.where(self.eta <= 0.5, height, height * (np.exp(-eta) / (1 - eta)))
        few = half * (1 + most * self.largest)
        many = np.full_like(height, math.inf)
        if least > 0:
            many = largest * (2 / -math.expm1(-0.5 * least * self.smallest))
        worst = self.x.max(axis=0)
        bounds = np.array(
            [
                np.where(self.eta < _LARGEST_ETA, gentle * worst, math.inf),
                few * worst + many,
                largest * np.maximum(_FEW * worst, _MANY),
            ]
        )
        form = np.argmin(bounds, axis=0)
        allowed = np.where(
            form == 0,
            gentle * self.x,
            np.where(form == 1, few * self.x + many, largest * np.maximum(_FEW * self.x, _MANY)),
        )
        return float(allowed.sum(axis=1).max())


def _sum(nodes: Nodes, exponent: NDArray[np.complex128], power: int) -> float:
    """Return a lower bound on the sum for one type and so many users."""
    whole = power * exponent
    with np.errstate(under="ignore"):
        modulus = np.exp(whole.real)
    values = nodes.kernel * (modulus * (np.cos(whole.imag) + 1j * np.sin(whole.imag)))
    wobble = 2 * power * nodes.relative + nodes.phase_error
    wobble = wobble + 8 * UNIT * (8 + np.abs(whole.real) + np.abs(whole.imag))
    rounding = float(((nodes.size * wobble + nodes.error) * modulus).sum()) * _ROUND_UP
    rounding += 64 * UNIT * float(np.abs(values).sum())
    return float(values.sum().real) - rounding
