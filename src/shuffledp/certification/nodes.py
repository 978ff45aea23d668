r"""The sum over the nodes of the contour, in balls.

Let :math:`\varphi` be the characteristic function of the tilted law. Nodes are skipped in blocks
where :math:`|\varphi|^n` is tiny: :math:`R=|\varphi|^2=E\cos(t(X-X'))` satisfies
:math:`|R''|\le2v` (v the variance), so on a block with centre c and half width r

.. math:: R \le R(c) + |R'(c)|\,r + v r^2 ,

and the bound is counted as an error. Where that does not pay, all nodes are evaluated:
:math:`e^{itx}` factorises over t = (aB + b) step, so this is a product of matrices, which is done
in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from flint import acb, arb, ctx, fmpz, fmpz_mat

from shuffledp.certification.tilt import TiltedLaw
from shuffledp.engine.balls import logarithm, total
from shuffledp.engine.enclosure import PrecisionError
from shuffledp.engine.progress import Progress

_NODE = 100.0  # cost of a node beyond its atoms, in units of an atom in an integer product
_SINGLE = 50.0  # cost of an atom at a node on its own
_MAIN_LOBE = 8.0  # in standard deviations of the sum
_GROWTH = 0.2  # of a block relative to its distance from 0
_BLOCK = 0.7  # largest width of a block, in standard deviations of one summand
_SMALL_BLOCK = 8
_MAX_ENTRIES = 200_000
_FEW_BITS = 60  # of entries of matrices, where they are enough
_LEAST_BITS = 40


@dataclass(frozen=True)
class Nodes:
    """The nodes k step, k = 0..count, for n summands smoothed by tau."""

    n: int
    tau: float
    step: float
    count: int


@dataclass
class NodeSums:
    """The sums for E X_+ and f_X(0), bounds on what was skipped, and the work done."""

    mean: arb
    density: arb
    skipped_mean: arb
    skipped_density: arb
    work: float


def sum_nodes(
    tilted: TiltedLaw, nodes: Nodes, allowance: float, max_work: float, progress: Progress
) -> NodeSums | None:
    """Sum over the nodes of the contour; None if that takes more than ``max_work``.

    Nodes may be skipped while their bounds are far below ``allowance`` for the mean and
    ``allowance/tau**2`` for the density.
    """
    summation = _Summation(tilted, nodes, allowance, progress)
    dense = summation.dense_cost(nodes.count + 1)
    if summation.try_blocks(min(0.5 * dense, 0.3 * max_work)):
        return summation.sums
    if dense > max_work:
        return None
    summation.start()
    summation.add_range(0, nodes.count + 1)
    return summation.sums


class _Summation:
    def __init__(
        self, tilted: TiltedLaw, nodes: Nodes, allowance: float, progress: Progress
    ) -> None:
        self.tilted, self.nodes, self.allowance, self.progress = tilted, nodes, allowance, progress
        self.atoms = list(zip(tilted.values, tilted.probability, strict=True))
        self.tau2 = arb(nodes.tau) ** 2
        self.rounding = 0.2 * allowance
        #: Nodes whose characteristic function is below ``tiny`` add at most ``crumb`` to a sum.
        self.tiny = math.exp(min(math.log(allowance * 1e-3 / nodes.count) / nodes.n, 0.0))
        self.crumb = arb(self.tiny) ** nodes.n * nodes.step / arb.pi()
        self.start()

    def start(self) -> None:
        """Forget what was summed."""
        self.sums = NodeSums(arb(0), arb(0), arb(0), arb(0), 0.0)

    def dense_cost(self, count: int) -> float:
        """Return the work of evaluating ``count`` neighbouring nodes."""
        return count * (len(self.atoms) + _NODE)

    def try_blocks(self, max_work: float) -> bool:
        """Skip what can be skipped and evaluate the rest, unless that is too much work."""
        nodes, single = self.nodes, _SINGLE * len(self.atoms) + _NODE
        spread = math.sqrt(max(float(self.tilted.variance.mid()), 0.0))
        if spread == 0:
            return False
        main = min(nodes.count, int(_MAIN_LOBE / (spread * math.sqrt(nodes.n) * nodes.step)) + 1)
        widest = max(int(_BLOCK / (spread * nodes.step)), 1)
        if self.dense_cost(main) + nodes.count / widest * single > max_work:
            return False
        stack = list(blocks(main + 1, nodes.count + 1, widest))[::-1]
        while stack:
            if self.sums.work + self.dense_cost(main) > max_work:
                return False
            start, size = stack.pop()
            self.sums.work += single
            if self._skip(start, size):
                continue
            if size > _SMALL_BLOCK:
                stack += quarters(start, size)
                continue
            self.sums.work += size * single
            for k in range(start, start + size):
                self._add(k, self._phi(k))
        self.add_range(0, main + 1)
        return True

    def _skip(self, start: int, size: int) -> bool:
        """Bound what the nodes of a block add; count the bound as an error if it is small."""
        nodes = self.nodes
        left, half = arb(nodes.step) * start, arb(nodes.step) * (size - 1) / 2
        real, imag = self.tilted.zero, arb(0)
        real_slope, imag_slope = arb(0), arb(0)
        for x, p in self.atoms:
            sine, cosine = (x * (left + half)).sin_cos()
            sine, cosine = p * sine, p * cosine
            real, imag = real + cosine, imag + sine
            real_slope, imag_slope = real_slope - x * sine, imag_slope + x * cosine
        slope = 2 * abs(real * real_slope + imag * imag_slope)
        bound = (real**2 + imag**2 + slope * half + self.tilted.variance * half**2).upper()
        if not bound < 1:
            bound = arb(1)
        exponent = nodes.n * bound.log() / 2 - self.tau2 * left**2 / 2
        density = (exponent.exp() * size * nodes.step / arb.pi()).upper()
        mean = (density / (1 + left**2)).upper()
        limit = self.allowance / 300
        if not (mean <= limit and density * self.tau2 <= limit):
            return False
        self.sums.skipped_mean += mean
        self.sums.skipped_density += density
        return True

    def _phi(self, k: int) -> acb:
        """Return the characteristic function at one node."""
        t = arb(self.nodes.step) * k
        pairs = [((x * t).sin_cos(), p) for x, p in self.atoms]
        real = self.tilted.zero + total(p * cosine for (_, cosine), p in pairs)
        return acb(real, total(p * sine for (sine, _), p in pairs))

    def add_range(self, begin: int, end: int) -> None:
        """Evaluate the nodes from ``begin`` up to ``end``."""
        self.sums.work += self.dense_cost(end - begin)
        for k, phi in self._phis(begin, end):
            self._add(k, phi)

    def _phis(self, begin: int, end: int) -> Iterator[tuple[int, acb]]:
        """Yield the characteristic function at neighbouring nodes."""
        step, size = arb(self.nodes.step), max(len(self.atoms), 1)
        side = max(1, min(math.isqrt(end - begin), _MAX_ENTRIES // size))
        few = self.nodes.n * size < self.rounding * 2**_FEW_BITS
        bits = _FEW_BITS if few else ctx.prec
        inner = _Waves(
            [_wave(x * step * b) for x, _ in self.atoms for b in range(side)], side, bits
        )
        for first in range(begin, end, side * side):
            self.progress("contour", (first - begin) / (end - begin))
            rows = range(first, min(first + side * side, end), side)
            heads = [p * _wave(x * step * a) for a in rows for x, p in self.atoms]
            table = _Waves(heads, len(self.atoms), bits).times(inner)
            for k, phi in enumerate(table, first):
                if k < end:
                    yield k, phi + self.tilted.zero

    def _add(self, k: int, phi: acb) -> None:
        r"""Add a node: :math:`\varphi^ne^{\tau^2(z^2-1)/2}`, and the same over :math:`z^2`."""
        nodes = self.nodes
        t = arb(nodes.step) * k
        if phi.abs_upper() < self.tiny:
            damped = self.crumb * (-self.tau2 * t * t / 2).exp()
            self.sums.skipped_mean += damped
            self.sums.skipped_density += damped
            return
        power = _power(phi, nodes.n, self.tau2 / 2 * acb(-t * t, 2 * t))
        scale = nodes.step / arb.pi() * (0.5 if k == 0 else 1)
        self.sums.density += scale * power.real
        self.sums.mean += scale * (power / acb(1 - t * t, 2 * t)).real


class _Waves:
    r"""A matrix of complex numbers of modulus at most 1 in fixed point, as integers.

    Parts are rounded to b bits, no more than their balls are sharp, so they are off by at most
    :math:`e=2^{1-b}`. The product of a row whose moduli sum to at most 1 with a column of J entries
    is then off by at most :math:`2e_{column}+2J(1+e_{column})e_{row}` in either part. Products of
    integers are exact, and quicker than those of balls.
    """

    def __init__(self, entries: list[acb], columns: int, bits: int) -> None:
        widest = max((part.rad() for z in entries for part in (z.real, z.imag)), default=arb(0))
        if widest > 0:
            bits = min(bits, int(-logarithm(widest) / math.log(2)) - 1)
        if bits < _LEAST_BITS:
            raise PrecisionError("the entries of a matrix product have too wide balls")
        rows = len(entries) // columns if columns else 0
        scale = arb(2) ** bits
        self.columns, self.bits, self.error = columns, bits, arb(2) ** (1 - bits)
        self.real = fmpz_mat(rows, columns, [_floor(z.real * scale) for z in entries])
        self.imag = fmpz_mat(rows, columns, [_floor(z.imag * scale) for z in entries])

    def times(self, other: _Waves) -> list[acb]:
        """Return the entries of the product, row by row."""
        real = (self.real * other.real - self.imag * other.imag).entries()
        imag = (self.real * other.imag + self.imag * other.real).entries()
        error = 2 * other.error + 3 * self.columns * self.error
        scale = -self.bits - other.bits
        return [
            acb(arb((x, scale), error), arb((y, scale), error))
            for x, y in zip(real, imag, strict=True)
        ]


def _floor(x: arb) -> fmpz:
    return x.mid().floor().fmpz()


def _wave(angle: arb) -> acb:
    sine, cosine = angle.sin_cos()
    return acb(cosine, sine)


def _power(base: acb, n: int, shift: acb) -> acb:
    """Return base^n e^shift, also where the base is close to the negative axis or may be 0."""
    if base.real > 0:
        return (n * base.log() + shift).exp()
    if base.real < 0:
        power = (n * (-base).log() + shift).exp()
        return -power if n % 2 else power
    if base.imag > 0 or base.imag < 0:
        return (n * base.log() + shift).exp()
    radius = ((n * base.abs_upper().log() + shift.real).exp()).upper()
    return acb(arb(0, radius), arb(0, radius))


def blocks(begin: int, end: int, widest: int) -> Iterator[tuple[int, int]]:
    """Cut nodes into blocks that grow with their distance from 0 up to a largest width."""
    while begin < end:
        size = min(int(_GROWTH * begin) + 1, widest, end - begin)
        yield begin, size
        begin += size


def quarters(start: int, size: int) -> list[tuple[int, int]]:
    """Cut a block in four."""
    cuts = [start + size * i // 4 for i in range(5)]
    return [(a, b - a) for a, b in pairwise(cuts)]
