r"""The transforms of all slots at the nodes of the swap bound.

In units of :math:`M_0(\theta)e^{M\,top}e^{\tau^2\theta^2/2}`, *top* the largest :math:`\log M_v`
at the tilt, a background with mean exponent :math:`\ell` adds at z = theta + it

.. math:: \mathrm{Re}\,[\kappa\,H(\ell)],\qquad
          \kappa=\frac h\pi\,\frac{\varphi_0(t)\,e^{\tau^2(z^2-\theta^2)/2}}{z^2},\qquad
          \ell=\sum_v\mu_vL_v,\quad L_v=\log M_v(z)-top,

h the step and half of it at t = 0; whatever branch of the logarithm is taken, if it is the same for
all backgrounds. Everything is evaluated in balls and handed on as doubles with bounds on their
errors. Nodes that add little whatever the others hold are bounded: in stretches, where
:math:`|\varphi_v|^2` has a second-order bound (:mod:`shuffledp.engine.contour`), or one by one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import acb, arb

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.balls import total, upper_double
from shuffledp.bounds.swap.examined import UP, ComplexArray, Examined
from shuffledp.bounds.swap.plan import SwapPlan
from shuffledp.engine.contour import Transform
from shuffledp.engine.sums import Law

_MAIN_LOBE = 7.5  # in standard deviations of the sum: nodes that are not skipped
_SHORTEST_RUN = 3
_MAX_EVALUATIONS = 20_000
_MAX_KEPT = 4000
_SHARE_OF_STRETCH, _SHARE_OF_NODE = 1 / 100, 1 / 1000

#: What an exponent loses in becoming a double, and in products: a few units.
_LOSS = 2.0**-50

#: So much a kernel may be off, relatively: far less than the slack.
_SURE = 1e-11

#: Numbers have a logarithm.
_TINY = 1e-300

#: Nodes at which powers are known less well are bounded.
_VAGUE = 0.1


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes that matter, the first of which is the tilt.

    Attributes:
        numbers: which of all nodes they are.
        z: where they are.
        kernel: kappa.
        size: upper bounds on its modulus.
        exponent: L, one row per type.
        relative: bounds on the errors of L.
        left_out: a bound on what all other nodes add.
    """

    numbers: IntArray
    z: ComplexArray
    kernel: ComplexArray
    size: FloatArray
    exponent: ComplexArray
    relative: FloatArray
    left_out: float

    @property
    def highest(self) -> FloatArray:
        """Upper bounds on the real parts of all L."""
        highest: FloatArray = np.minimum((self.exponent.real + self.relative).max(axis=0), 0.0)
        return highest

    def with_rows(self, rows: Sequence[int], better: Types, step: float) -> Nodes:
        """Return the same nodes with some types evaluated again, on the branches they had."""
        exponent, relative = self.exponent.copy(), self.relative.copy()
        for place, k in enumerate(self.numbers.tolist()):
            found, error = better.at(arb(step) * k)
            turns = np.round((found.imag - exponent[rows, place].imag) / math.tau)
            exponent[rows, place] = found - 1j * math.tau * turns
            relative[rows, place] = error + _LOSS * (np.abs(found) + math.tau * np.abs(turns))
        return replace(self, exponent=exponent, relative=relative)


class Types(ABC):
    """The slots of all types, tilted.

    Attributes:
        top: a double above the largest logarithm of a transform at the tilt.
        deviation: about the standard deviation of the type with that transform.
    """

    top: float
    deviation: float

    @abstractmethod
    def at(self, t: arb) -> tuple[ComplexArray, FloatArray]:
        """Return L of every type, and bounds on the errors."""

    @abstractmethod
    def highest_within(self, t: arb, r: float, enough: float = 0.0) -> float:
        """Bound the real parts of all L up to a distance of r from t.

        No bound but 0, which always holds, need be larger than ``enough``.
        """

    @abstractmethod
    def reach(self, t: arb, real: float) -> float:
        """Return about how far from t the leading type's real part stays below some number."""


class BallTypes(Types):
    """Few types, in balls; ``top`` may be given, if it is larger."""

    def __init__(self, laws: Sequence[Law], theta: arb, top: float = -math.inf) -> None:
        self._slots = [Transform(law, theta) for law in laws]
        logs = [_log_mgf(law, theta, slot) for law, slot in zip(laws, self._slots, strict=True)]
        tops = [upper_double(log) for log in logs]
        self.top = max(top, *tops)
        self._lead = self._slots[tops.index(max(tops))]
        self.deviation = math.sqrt(float(self._lead.variance))
        self._shifts = [log - self.top for log in logs]
        self._rows = [
            (slot, upper_double(shift), upper_double(slot.variance))
            for slot, shift in zip(self._slots, self._shifts, strict=True)
        ]

    def at(self, t: arb) -> tuple[ComplexArray, FloatArray]:
        """Return L of every type, and the radii of its balls."""
        found = [
            shift + _logarithm(slot.at(t)[0]) + acb(0, t * slot.centre)
            for slot, shift in zip(self._slots, self._shifts, strict=True)
        ]
        # Turns by 2 pi of a slot are a matter of branch; close branches make mixtures close.
        angles = [float(x.imag.mid()) for x in found]
        turns = [_turns(angle - angles[0]) for angle in angles]
        found = [
            x - acb(0, 2 * arb.pi() * turn) if turn else x
            for x, turn in zip(found, turns, strict=True)
        ]
        exponent = np.array([complex(x) for x in found])
        radius = np.array([upper_double(x.real.rad() + x.imag.rad()) for x in found])
        return exponent, radius

    def highest_within(self, t: arb, r: float, enough: float = 0.0) -> float:
        """Bound them by the second-order bound on the square of each modulus."""
        highest = -math.inf
        for slot, shift, variance in self._rows:
            highest = max(highest, shift + _log_bound(slot, t, r, variance))
            if highest > enough:
                return 0.0
        return highest

    def reach(self, t: arb, real: float) -> float:
        """Solve the second-order bound for the distance."""
        square, slope = _square(self._lead, t)
        return distance(math.exp(2 * real) - square, slope, float(self._lead.variance))


def _log_mgf(law: Law, theta: arb, slot: Transform) -> arb:
    """Return the logarithm of a transform; masses sum to 1, however uncertain each of them is."""
    growth = (a.mass * (theta * (a.value - slot.centre)).expm1() for a in law.atoms)
    return total(growth).log1p() + theta * slot.centre


def distance(room: float, slope: float, variance: float) -> float:
    """Return about where slope r + variance r^2 reaches some room."""
    if room <= 0 or not variance > 0:
        return 0.0
    return (math.sqrt(slope**2 + 4 * variance * room) - slope) / (2 * variance)


def _turns(angle: float) -> int:
    return round(angle / math.tau) if math.isfinite(angle) else 0


def _square(slot: Transform, t: arb) -> tuple[float, float]:
    """Return upper bounds on |phi|^2 and on the modulus of its derivative."""
    chi, slope = slot.at(t)
    square = chi.real * chi.real + chi.imag * chi.imag
    turn = 2 * (chi.imag * slope.real - chi.real * slope.imag)
    return upper_double(square), upper_double(abs(turn))


def _log_bound(slot: Transform, t: arb, r: float, variance: float) -> float:
    square, slope = _square(slot, t)
    # Doubles: raising the sum by a few units is no more than what rounding can have taken away.
    bound = (square + slope * r + variance * r * r) * (1 + 8 * _LOSS)
    return math.log(bound) / 2 * (1 - 8 * _LOSS) if bound < 1 else 0.0


def _logarithm(value: acb) -> acb:
    """Return a logarithm, away from its cut."""
    return (-value).log() + acb(0, arb.pi()) if value.real.mid() < 0 else value.log()


class _Collector:
    def __init__(self, first: Law, types: Types, examined: Examined, plan: SwapPlan) -> None:
        self.types, self.examined, self.plan = types, examined, plan
        contour = plan.contour
        self.theta, self.tau, self.step = (
            arb(x) for x in (contour.theta, contour.tau, contour.step)
        )
        self.first = Transform(first, self.theta)
        self.found: list[tuple[int, complex, complex, ComplexArray, FloatArray]] = []
        self.left_out, self.evaluated = self._beyond(), 0

    def _beyond(self) -> float:
        r"""Bound what is cut off: :math:`\tau e^{-x^2/2}/(\pi x^3)`, times the largest H."""
        x = self.tau * self.step * self.plan.contour.nodes
        tail = upper_double(self.tau * (-x * x / 2).exp() / (arb.pi() * x**3))
        return tail * float(self.examined.height(np.zeros(1))[0]) * UP

    def collect(self) -> None:
        """Go through all nodes."""
        last, step = self.plan.contour.nodes, self.plan.contour.step
        limit = self.plan.allowance * _SHARE_OF_STRETCH
        width = self.types.deviation * math.sqrt(self.examined.others) * step
        main = _MAIN_LOBE / width if width > 0 else 0.0
        k = run = 0
        while k <= last and self.evaluated < _MAX_EVALUATIONS and len(self.found) < _MAX_KEPT:
            self.evaluated += 1
            if run >= _SHORTEST_RUN:
                count = min(run, last - k + 1)
                bound = self._stretch(k, count)
                if bound <= limit:
                    self.left_out += bound
                    k, run = k + count, run * 3 // 2 + 1
                else:
                    run //= 4
                continue
            bound = self._add(k)
            k += 1
            if bound <= limit and main < k <= last:
                run = self._run(k, last, limit)
        if k <= last:
            self.left_out = math.inf

    def _run(self, k: int, last: int, limit: float) -> int:
        """Return how many nodes could be skipped from k on, about."""
        step, most = self.plan.contour.step, min(last - k + 1, max(2 * k, 8))
        scale = limit * math.pi / step / most * abs(complex(self.plan.contour.theta, k * step)) ** 2
        real = math.log(max(scale, _TINY)) / self.examined.others
        return int(min(most, 2 * self.types.reach(self.step * k, real) / step)) if real < 0 else 0

    def _stretch(self, start: int, count: int) -> float:
        """Bound what the nodes of a stretch add, whatever the others hold."""
        middle = start + count // 2
        steps = max(middle - start, start + count - 1 - middle)
        r = steps * self.plan.contour.step * (1 + _LOSS)
        left = self.step * start
        damping = (-((self.tau * left) ** 2) / 2).exp() / (self.theta * self.theta + left * left)
        factor = upper_double(count * self.step / arb.pi() * damping)
        room = self.plan.allowance * _SHARE_OF_STRETCH / (factor * self.examined.gamma + _TINY)
        enough = min(math.log(room + _TINY) / self.examined.others, 0.0)
        real = self.types.highest_within(self.step * middle, r, enough)
        return factor * self.examined.crude_height(real) * UP

    def _add(self, k: int) -> float:
        """Keep a node, or bound what it adds; return about how much that is."""
        t = self.step * k
        z = acb(self.theta, t)
        noise = acb(
            -(self.tau**2) * t * t / 2, self.tau**2 * self.theta * t + self.first.centre * t
        )
        scale = self.step / arb.pi() / (2 if k == 0 else 1)
        kernel = scale * self.first.at(t)[0] * noise.exp() / (z * z)
        size = upper_double(abs(kernel))
        exponent, error = self.types.at(t)
        relative = error + _LOSS * np.abs(exponent)
        is_vague = not self.examined.others * relative.max() < _VAGUE
        is_vague |= not upper_double(kernel.real.rad() + kernel.imag.rad()) <= _SURE * size
        if is_vague:
            highest = self.types.highest_within(t, 0.0)
        else:
            highest = min(float((exponent.real + relative).max()), 0.0)
        bound = size * self.examined.crude_height(highest) * UP
        if is_vague or bound <= self.plan.allowance * _SHARE_OF_NODE:
            self.left_out += bound
        else:
            self.found.append((k, complex(z), complex(kernel), exponent, relative))
        return bound

    def nodes(self) -> Nodes:
        numbers, z, kernel, exponent, relative = map(np.array, zip(*self.found, strict=True))
        size = np.abs(kernel) * UP
        return Nodes(numbers, z, kernel, size, exponent.T, relative.T, self.left_out)


def collect_nodes(first: Law, types: Types, examined: Examined, plan: SwapPlan) -> Nodes | None:
    """Evaluate all transforms where they matter; None if there are too many such nodes."""
    collector = _Collector(first, types, examined, plan)
    collector.collect()
    if not collector.found or not collector.left_out < math.inf:
        return None
    return collector.nodes()
