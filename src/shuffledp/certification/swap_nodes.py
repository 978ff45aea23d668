r"""The transforms of all slots at the nodes of the swap bound, in balls.

With :math:`z=1+it` in units of the tilt and :math:`\varphi_v` the characteristic functions of the
tilted slots, a node adds to the sum

.. math:: \mathrm{Re}\,[\kappa H(\ell)],\qquad
          \kappa=\frac h\pi\,\varphi_0(t)\,e^{\tau^2(z^2-1)/2}z^{-2},\qquad
          \ell=\sum_v\mu_vL_v,\quad L_v=\log M_v(z),

whatever branch of the logarithm is taken, if it is the same for all backgrounds. Nodes that add
little are bounded and not kept: in blocks, as in :mod:`shuffledp.certification.nodes`, or one by
one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from flint import acb, arb

from shuffledp.certification.geometric import Examined, Spread
from shuffledp.certification.nodes import blocks, quarters
from shuffledp.certification.swap_plan import SwapPlan
from shuffledp.certification.tilt import TiltedLaw
from shuffledp.engine.balls import total

_MAIN_LOBE = 8.0  # in standard deviations of the sum
_BLOCK = 0.7  # largest width of a block, in standard deviations of one summand
_SMALL_BLOCK = 8
_MAX_BLOCKS = 20_000
_MAX_KEPT = 4000
_SHARE_OF_BLOCK, _SHARE_OF_NODE = 1 / 300, 1 / 3000
_TINY = arb(2) ** -4000  # moduli have a logarithm


@dataclass(frozen=True)
class SwapNode:
    """One node.

    Attributes:
        t: where it is.
        kernel: kappa, halved at t = 0.
        size: an upper bound on the modulus of kappa.
        excess: the logarithms L_v minus ``top``.
        spread: the error of the average over who is examined, in units of the largest squared
            distance of two logarithms.
    """

    t: arb
    kernel: acb
    size: arb
    excess: tuple[acb, ...]
    spread: Spread


@dataclass
class SwapNodes:
    """The nodes that matter, and an upper bound on what all others add."""

    kept: list[SwapNode]
    left_out: arb


class _Collector:
    def __init__(
        self, first: TiltedLaw, types: Sequence[TiltedLaw], examined: Examined, plan: SwapPlan
    ) -> None:
        self.first, self.types, self.examined, self.plan = first, types, examined, plan
        self.tau2 = arb(plan.tau) ** 2
        self.shifts = [law.log_mgf - examined.top for law in types]
        self.nodes = SwapNodes([], self._beyond())

    def _beyond(self) -> arb:
        r"""Bound what is cut off: :math:`\tau e^{-x^2/2}/(\pi x^3)`, times the largest H."""
        x = arb(self.plan.tau) * self.plan.step * self.plan.count
        whole = self.examined.bound(max(shift.upper() for shift in self.shifts))
        return (whole * self.plan.tau * (-x * x / 2).exp() / (arb.pi() * x**3)).upper()

    def collect(self) -> SwapNodes | None:
        """Go through all nodes; None if too many would have to be kept."""
        plan = self.plan
        lead = max(self.types, key=lambda law: float(law.log_mgf.mid()))
        spread = math.sqrt(max(float(lead.variance.mid()), 0.0)) or 1.0
        main = min(plan.count, int(_MAIN_LOBE / (max(plan.sigma, 1e-9) * plan.step)) + 1)
        widest = max(int(_BLOCK / (spread * plan.step)), 1)
        if main > _MAX_KEPT or (plan.count - main) / widest > _MAX_BLOCKS:
            return None
        for k in range(main + 1):
            self._add(k)
        stack = list(blocks(main + 1, plan.count + 1, widest))[::-1]
        seen = 0
        while stack:
            start, size = stack.pop()
            seen += 1
            if seen > _MAX_BLOCKS or len(self.nodes.kept) > _MAX_KEPT:
                return None
            if self._skip(start, size):
                continue
            if size > _SMALL_BLOCK:
                stack += quarters(start, size)
                continue
            for k in range(start, start + size):
                self._add(k)
        return self.nodes

    def _skip(self, start: int, size: int) -> bool:
        """Bound what the nodes of a block add; leave them out if it is little."""
        step = arb(self.plan.step)
        left, half = step * start, step * (size - 1) / 2
        excess = max(
            (shift + _largest_square(law, left + half, half).log() / 2).upper()
            for shift, law in zip(self.shifts, self.types, strict=True)
        )
        damping = (-self.tau2 * left**2 / 2).exp() / (1 + left**2)
        bound = (self.examined.bound(excess) * damping * size * step / arb.pi()).upper()
        return self._leave_out(bound, _SHARE_OF_BLOCK)

    def _add(self, k: int) -> None:
        """Keep a node, or bound what it adds."""
        t = arb(self.plan.step) * k
        scale = arb(self.plan.step) / arb.pi() / (2 if k == 0 else 1)
        smoothing = (self.tau2 / 2 * acb(-t * t, 2 * t)).exp()
        kernel = scale * smoothing * _characteristic(self.first, t) / acb(1 - t * t, 2 * t)
        size = kernel.abs_upper().upper()
        values = [_characteristic(law, t) for law in self.types]
        moduli = [value.abs_upper().upper() for value in values]
        largest = max(
            (shift + max(modulus, _TINY).log()).upper()
            for shift, modulus in zip(self.shifts, moduli, strict=True)
        )
        unsure = any(value.contains(0) for value in values)
        bound = (size * self.examined.bound(largest)).upper()
        if self._leave_out(bound, math.inf if unsure else _SHARE_OF_NODE):
            return
        logs = _logarithms(values)
        excess = tuple(shift + log for shift, log in zip(self.shifts, logs, strict=True))
        lowest = min(x.real.lower() for x in excess)
        square = max((squared(x - y) for x, y in combinations(excess, 2)), default=arb(0))
        spread = self.examined.spread(largest, lowest, square)
        self.nodes.kept.append(SwapNode(t, kernel, size, excess, spread))

    def _leave_out(self, bound: arb, share: float) -> bool:
        if not bound <= share * self.plan.allowance:
            return False
        self.nodes.left_out = (self.nodes.left_out + bound).upper()
        return True


def collect_nodes(
    first: TiltedLaw, types: Sequence[TiltedLaw], examined: Examined, plan: SwapPlan
) -> SwapNodes | None:
    """Evaluate all transforms where they matter; None if there are too many such nodes."""
    return _Collector(first, types, examined, plan).collect()


def squared(x: acb) -> arb:
    """Return an upper bound on the squared modulus."""
    return (x.real * x.real + x.imag * x.imag).upper()


def _characteristic(law: TiltedLaw, t: arb) -> acb:
    pairs = [((x * t).sin_cos(), p) for x, p in zip(law.values, law.probability, strict=True)]
    real = law.zero + total(p * cosine for (_, cosine), p in pairs)
    return acb(real, total(p * sine for (sine, _), p in pairs))


def _largest_square(law: TiltedLaw, centre: arb, half: arb) -> arb:
    r"""Bound :math:`R=|\varphi|^2` around a centre: :math:`|R''|` is at most twice the variance."""
    real, imag = law.zero, arb(0)
    real_slope, imag_slope = arb(0), arb(0)
    for x, p in zip(law.values, law.probability, strict=True):
        sine, cosine = (x * centre).sin_cos()
        sine, cosine = p * sine, p * cosine
        real, imag = real + cosine, imag + sine
        real_slope, imag_slope = real_slope - x * sine, imag_slope + x * cosine
    slope = 2 * abs(real * real_slope + imag * imag_slope)
    bound = (real**2 + imag**2 + slope * half + law.variance * half**2).upper()
    return max(bound, _TINY) if bound < 1 else arb(1)


def _logarithms(values: Sequence[acb]) -> list[acb]:
    """Return a logarithm of each number, none of which may be 0, with close imaginary parts.

    Numbers are turned by exact angles so that they are far from the cut of the logarithm.
    """
    start = _angle(values[0])
    logs = []
    for value in values:
        angle = arb(start + _angle(value / values[0].mid()))
        sine, cosine = angle.sin_cos()
        logs.append((value * acb(cosine, -sine)).log() + acb(0, angle))
    return logs


def _angle(value: acb) -> float:
    middle = value.mid()
    return math.atan2(float(middle.imag.mid()), float(middle.real.mid()))
