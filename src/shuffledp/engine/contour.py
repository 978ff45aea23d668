r"""The heart: a proved enclosure of :math:`E f(S)` by a contour sum, whose cost is flat in n.

Let :math:`F(z)=E e^{zX}`, X = S + N with normal noise N of variance :math:`\tau^2` and mean
:math:`c\tau^2/2`. For every :math:`\theta>0`

.. math:: E f_c(X)=\frac1{2\pi}\int\frac{F(z)}{z(z+c)}\,dt,\qquad z=\theta+it.

Four things stand between this formula and E f(S); docs/engine.md proves their bounds.

- *Smoothing* only adds: :math:`E f(S)\le E f(X)\le E f(S)+\tau^2e^{c^2\tau^2/8}f_X(0)`. The density
  :math:`f_X(0)` is the same integral without the kernel.
- *Aliasing* only adds: the sum over nodes :math:`t_k=2\pi k/L` counts
  :math:`\sum_me^{\theta mL}E f(X-mL)`, of which m = 0 is wanted.
- *Truncation* after node K, :math:`x=\tau t_K`, leaves out at most
  :math:`F(\theta)\,\tau e^{-x^2/2}/(\pi x^3)`.
- *Skipping*: the characteristic function :math:`\chi` of a tilted, centred summand with variance
  :math:`s^2` has :math:`(|\chi|^2)''\le2s^2`. So within r of t, :math:`|\chi|^2` is at most
  :math:`B=|\chi(t)|^2+|(|\chi|^2)'(t)|\,r+s^2r^2`, and nodes there are bounded by powers of B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from flint import acb, acb_mat, arb

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import total, upper_double
from shuffledp.engine.proposals import Plan
from shuffledp.engine.sums import Law, Sum

#: Fewer nodes than this are evaluated rather than skipped.
_SHORTEST_RUN = 3

#: Where none can be skipped, this many nodes are evaluated together: blocks, and rows of blocks.
_BLOCK, _ROWS = 32, 64

#: Whatever was planned, no more waves (nodes times atoms) than this are evaluated, which takes a
#: second or two; the answer becomes wider.
_MAX_WAVES = 1_000_000


class Enclosure(NamedTuple):
    """A number that lies between these balls."""

    lower: arb
    upper: arb


class Transform:
    r"""The characteristic function of one tilted, centred summand, and its derivative."""

    def __init__(self, law: Law, theta: arb) -> None:
        centre = arb(float((law.masses * _tilts(law, float(theta))) @ law.values))
        deviations = [atom.value - centre for atom in law.atoms]
        tilted = [
            atom.mass * (theta * x).exp() for atom, x in zip(law.atoms, deviations, strict=True)
        ]
        mass = total(tilted)
        weights = [p / mass for p in tilted]
        self.centre = centre
        #: log E exp(theta G)
        self.log_mgf = mass.log() + theta * centre
        self.variance = total(p * x * x for p, x in zip(weights, deviations, strict=True)).upper()
        self._deviations = deviations
        columns = [x for p, d in zip(weights, deviations, strict=True) for x in (p, p * d)]
        self._weights = weights
        self._mean = total(p * x for p, x in zip(weights, deviations, strict=True))
        self._columns = acb_mat(len(weights), 2, columns)
        self._waves: acb_mat | None = None

    def at(self, t: arb) -> tuple[acb, acb]:
        """Return chi(t), and -i times its derivative."""
        # The weights sum to 1, however uncertain each of them is.
        turned = [wave - 1 for wave in self._turned(t)]
        row = acb_mat(1, len(self._weights), turned) * self._columns
        return row[0, 0] + 1, row[0, 1] + self._mean

    def from_on(self, t: arb, step: arb) -> list[tuple[acb, acb]]:
        """Return the same at t and at the following nodes: powers of waves are one product."""
        turned = [w * wave for w, wave in zip(self._weights, self._turned(t), strict=True)]
        slopes = [wave * x for wave, x in zip(turned, self._deviations, strict=True)]
        found = acb_mat(2, len(turned), turned + slopes) * self._powers_of(step)
        return [(found[0, j], found[1, j]) for j in range(_BLOCK)]

    def rows_from_on(self, t: arb, step: arb, rows: int) -> list[acb]:
        """Return chi at t and the nodes that follow, so many rows of blocks."""
        turned = [w * wave for w, wave in zip(self._weights, self._turned(t), strict=True)]
        further = [acb(0, _BLOCK * step * x).exp() for x in self._deviations]
        entries = []
        for _ in range(rows):
            entries += turned
            turned = [x * y for x, y in zip(turned, further, strict=True)]
        found = acb_mat(rows, len(further), entries) * self._powers_of(step)
        return [found[i, j] for i in range(rows) for j in range(_BLOCK)]

    def _powers_of(self, step: arb) -> acb_mat:
        if self._waves is None:
            self._waves = _powers([acb(0, step * x).exp() for x in self._deviations])
        return self._waves

    def _turned(self, t: arb) -> list[acb]:
        """Return the wave of each atom at t."""
        pairs = ((t * x).sin_cos() for x in self._deviations)
        return [acb(cosine, sine) for sine, cosine in pairs]


def _powers(waves: list[acb]) -> acb_mat:
    """Return a matrix with the powers of each wave in its row."""
    rows = []
    for wave in waves:
        power = acb(1)
        for _ in range(_BLOCK):
            rows.append(power)
            power *= wave
    return acb_mat(len(waves), _BLOCK, rows)


def _tilts(law: Law, theta: float) -> FloatArray:
    """Return by which factors tilting changes the masses, about."""
    exponents = theta * law.values
    tilted: FloatArray = np.exp(exponents - exponents.max())
    return tilted / float(law.masses @ tilted)


class _Disc(NamedTuple):
    """What bounds the square of a characteristic function near a node: value, slope, curvature."""

    square: float
    slope: float
    variance: float
    times: int

    def log_bound(self, r: float) -> float:
        square = self.square + self.slope * r + self.variance * r * r
        return self.times * math.log(square) / 2 if square < 1 else 0.0


@dataclass
class Contour:
    """The contour sum of one plan."""

    mean: Sum
    plan: Plan

    def __post_init__(self) -> None:
        plan, mean = self.plan, self.mean
        left, right = sorted(plan.aliases)
        if not (min(plan.theta, plan.tau, plan.step, plan.nodes) > 0 < left < plan.theta < right):
            raise ValueError(f"a contour needs positive numbers, and theta between aliases: {plan}")
        self.theta, self.tau, self.step = (arb(x) for x in (plan.theta, plan.tau, plan.step))
        self._c = mean.curvature
        self._blocks = [(Transform(b.law, self.theta), b.times) for b in mean.blocks]
        self._shift = total(b.centre * n for b, n in self._blocks) - mean.offset
        theta, tau = self.theta, self.tau
        #: log F(theta): everything else is in units of F(theta).
        self.log_factor = (
            total(b.log_mgf * n for b, n in self._blocks)
            - theta * mean.offset
            + tau * tau * theta * (theta + self._c) / 2
        )
        self.evaluated = 0
        self._ahead: dict[int, tuple[tuple[acb, acb], ...]] = {}
        self._sum_nodes()

    def _sum_nodes(self) -> None:
        """Add up the nodes, and bound those that are skipped or left out."""
        theta, c = self.theta, self._c
        kernel, density = 1 / (theta * (theta + c)), arb(1)
        missed_kernel, missed_density = arb(0), arb(0)
        k, last, run = 1, self.plan.nodes, 0
        alone, rows, looked = 0, 1, False  # how many could not be skipped, how many rows come next
        most = _MAX_WAVES // sum(len(law.atoms) for law in self.mean.laws)
        while k <= last and self.evaluated < most:
            # Try to skip a run a little longer than the last one; look at its middle.
            if run:
                middle, count = k + run // 2, min(run, last - k + 1)
                _, skipped = self._look(middle, max(middle - k, k + count - 1 - middle))
                if skipped is not None:
                    first = self.step * k
                    bound = count * skipped * (-((self.tau * first) ** 2) / 2).exp()
                    missed_kernel += bound / (first * first)
                    missed_density += bound
                    k, run = k + count, run * 3 // 2 + 1
                    continue
                run //= 4
                if run >= _SHORTEST_RUN:
                    continue
                run = 0
            if looked and alone > _BLOCK and k + rows * _BLOCK <= last:
                nodes = self._rows(k, rows)
                rows, looked = min(2 * rows, _ROWS), False
            else:
                found = self._chi(k, together=alone > 0)
                nodes = [self._node(k, [(chi, n) for chi, _, n, _ in found])]
                run = self._run(self._discs(found), k, last)
                alone, looked = 0 if run else alone + 1, True
                rows = 1 if run else rows
            for node in nodes:
                z = acb(theta, self.step * k)
                density += 2 * node.real
                kernel += 2 * (node / (z * (z + c))).real
                k += 1
        reach = self.tau * self.step * (k - 1)
        tail = (-(reach * reach) / 2).exp() / (arb.pi() * reach)
        self.kernel_left_out = 2 * missed_kernel * self._unit + tail * self.tau / (reach * reach)
        self.density_left_out = 2 * missed_density * self._unit + tail / self.tau
        self.kernel_sum, self.density_sum = kernel * self._unit, density * self._unit

    @property
    def _unit(self) -> arb:
        return self.step / (2 * arb.pi())

    def _chi(self, k: int, *, together: bool = False) -> list[tuple[acb, acb, int, arb]]:
        t = self.step * k
        self.evaluated += 1
        if k in self._ahead:
            values = self._ahead[k]
        elif together:
            rows = zip(*(b.from_on(t, self.step) for b, _ in self._blocks), strict=True)
            self._ahead = {k + j: row for j, row in enumerate(rows)}
            values = self._ahead[k]
        else:
            values = tuple(b.at(t) for b, _ in self._blocks)
        return [(*value, n, b.variance) for value, (b, n) in zip(values, self._blocks, strict=True)]

    def _discs(self, found: list[tuple[acb, acb, int, arb]]) -> list[_Disc]:
        discs = []
        for chi, slope, n, variance in found:
            square = chi.real * chi.real + chi.imag * chi.imag
            turn = 2 * (chi.imag * slope.real - chi.real * slope.imag)
            discs.append(
                _Disc(upper_double(square), upper_double(abs(turn)), upper_double(variance), n)
            )
        return discs

    def _rows(self, k: int, rows: int) -> list[acb]:
        """Return F(z)/F(theta) at many nodes."""
        t = self.step * k
        found = [b.rows_from_on(t, self.step, rows) for b, _ in self._blocks]
        self.evaluated += rows * _BLOCK
        return [
            self._node(k + j, [(chi, n) for chi, (_, n) in zip(values, self._blocks, strict=True)])
            for j, values in enumerate(zip(*found, strict=True))
        ]

    def _node(self, k: int, values: list[tuple[acb, int]]) -> acb:
        """Return F(z)/F(theta) at a node from the characteristic functions there."""
        t = self.step * k
        noise = self.tau * self.tau
        log = acb(-noise * t * t / 2, (noise * (self.theta + arb(self._c) / 2) + self._shift) * t)
        value = log.exp()
        for chi, n in values:
            value *= chi**n
        return value

    def _run(self, discs: list[_Disc], k: int, last: int) -> int:
        """Return how many nodes after k could be skipped, about."""
        step = self.plan.step
        run = min(last - k, max(2 * k, 8))
        while run >= _SHORTEST_RUN:
            if sum(disc.log_bound(run * step) for disc in discs) < self.plan.negligible:
                return run
            run //= 2
        return 0

    def _look(self, middle: int, reach: int) -> tuple[list[_Disc], arb | None]:
        """Return a bound on the powers within ``reach`` nodes of the middle, None if too large."""
        discs = self._discs(self._chi(middle))
        r = math.nextafter(reach * math.nextafter(self.plan.step, math.inf), math.inf)
        if sum(disc.log_bound(r) for disc in discs) >= self.plan.negligible:
            return discs, None
        power = arb(0)
        for square, slope, variance, n in discs:
            bound = arb(square) + arb(slope) * arb(r) + arb(variance) * arb(r) * arb(r)
            if bound < 1:
                power += n * bound.log() / 2
        return discs, power.exp()

    def _zero_atom(self) -> arb:
        """Return P(S = 0 because all summands are 0), in units of F(theta); 0 if unused."""
        if self._c or not self.mean.offset.is_zero():
            return arb(0)
        log = arb(0)
        for law, times in self.mean.blocks:
            if not law.mass_at_zero > 0:
                return arb(0)
            log += times * law.mass_at_zero.log()
        return (log - self.log_factor).exp()

    def upper(self) -> arb:
        """Return an upper bound on E f(S) in units of F(theta)."""
        return self._smoothed() + self.kernel_left_out

    def _smoothed(self) -> arb:
        """Return the kernel sum without what noise makes of the event that all summands are 0."""
        return self.kernel_sum - self._zero_atom() * self.tau / (2 * arb.pi()).sqrt()

    def lower(self) -> arb:
        """Return a lower bound on E f(S) in units of F(theta)."""
        density = self.density_sum + self.density_left_out
        density -= self._zero_atom() / (self.tau * (2 * arb.pi()).sqrt())
        noise = self.tau * self.tau
        bias = noise * (self._c * noise / 8).exp() * density
        return self._smoothed() - self.kernel_left_out - self._aliases() - bias

    def _aliases(self) -> arb:
        r"""Bound the unwanted periods: :math:`f(x)\le e^{sx}\,\mathrm{peak}(s)` for every s > 0."""
        return total(self._alias(arb(s)) for s in self.plan.aliases)

    def _alias(self, s: arb) -> arb:
        distance = abs(s - self.theta)
        ratio = (-distance * 2 * arb.pi() / self.step).exp()
        log = total(n * _log_mgf(law, s) for law, n in self.mean.blocks) - s * self.mean.offset
        log += self.tau * self.tau * s * (s + self._c) / 2 - self.log_factor
        return log.exp() * self.mean.peak(s) * ratio / (1 - ratio)


def _log_mgf(law: Law, s: arb) -> arb:
    return total(atom.mass * (s * atom.value).exp() for atom in law.atoms).log()
