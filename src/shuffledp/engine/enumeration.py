r"""All likely outcomes, one by one: for few summands, or few that differ from the usual value.

Let k count how often each value is drawn. Outcomes are weighed by their probability Q under the
law tilted by :math:`\theta`, which is :math:`e^{\theta s}/F(\theta)` times the true one. If D is
the set of outcomes that are left out, then,
because :math:`f(x)\le e^{\theta x}\,\mathrm{peak}(\theta)`,

.. math:: E[f(S);D]\le F(\theta)\,\mathrm{peak}(\theta)\,Q(D),\qquad Q(D)=1-Q(\text{all others}),

so every choice of outcomes gives an enclosure. Windows around the tilted means leave out little. A
tiny Q(D) is bounded window by window, by :math:`Q(k\ge x)\le e^{-n\,\mathrm{KL}(x/n,p)}`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flint import arb

from shuffledp.basics.balls import lower_double, total, upper_double
from shuffledp.engine.contour import Enclosure
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Block, Sum


class Enumeration:
    """The outcomes of a sum whose counts lie in windows, chosen in doubles.

    The summands are dealt into two halves; sorted sums of one half meet each sum of the other one.
    What is left out should be small beside log E f(S), about ``log_mean``.
    """

    def __init__(self, mean: Sum, doubles: Doubles, rtol: float, log_mean: float) -> None:
        self._mean = mean
        self._theta = doubles.theta
        left_out = math.log(0.05 * rtol) + log_mean - doubles.at_saddle[0]
        left_out += math.log(float(1 / mean.peak(arb(self._theta))))
        target = min(left_out, -1.0)
        self._halves: tuple[list[_Part], list[_Part]] = ([], [])
        for i, (law, times) in enumerate(mean.blocks):
            less = times // 2
            shares = (less, times - less) if i % 2 else (times - less, less)
            for half, share in zip(self._halves, shares, strict=True):
                if share:
                    windows = _windows(doubles.tilted(i), share, target)
                    half.append(_Part(Block(law, share), windows))

    @property
    def outcomes(self) -> float:
        """How many there are in both halves, about."""
        return sum(math.prod(part.outcomes for part in half) for half in self._halves)

    def enclose(self) -> tuple[Enclosure, arb]:
        """Enclose E f(S) in units of F(theta), and return log F(theta)."""
        theta = arb(self._theta)
        one, other = (_sums(half, theta) for half in self._halves)
        log_factor = -theta * self._mean.offset
        log_factor += total(b.times * _mgf(b, theta).log() for b in self._mean.blocks)
        kept = total(weight for weight, _ in one) * total(weight for weight, _ in other)
        scale = (theta * self._mean.offset).exp()
        met = _Sorted(other, theta, self._mean)
        parts = [
            (weight * (-theta * position).exp() * scale, met.mean(position))
            for weight, position in one
        ]
        lower = total(factor * found.lower for factor, found in parts)
        upper = total(factor * found.upper for factor, found in parts)
        tails = total(part.left_out(theta) for half in self._halves for part in half)
        left_out = min((1 - kept).upper(), tails.upper())
        return Enclosure(lower, upper + left_out * self._mean.peak(theta)), log_factor


class _Part(NamedTuple):
    """Some summands of a block, and how often each value but the usual one may occur."""

    block: Block
    windows: dict[int, range]

    @property
    def outcomes(self) -> float:
        counts = (float(len(window)) for window in self.windows.values())
        times, others = self.block.times, len(self.windows)
        return min(math.prod(counts), math.comb(times + others, others) if times < 40 else math.inf)

    def left_out(self, theta: arb) -> arb:
        """Bound the tilted probability that some value occurs less or more often."""
        law, n = self.block
        mgf, found = _mgf(self.block, theta), arb(0)
        for j, window in self.windows.items():
            p = law.atoms[j].mass * (theta * law.atoms[j].value).exp() / mgf
            found += _tail(window.start - 1, n, p) + _tail(window.stop, n, p)
        return found


class _Sorted:
    r"""The sums of one half in order, with the masses and moments of all from a place on.

    Where balls are in doubt, what is added up is a bound: sums that may be below the threshold
    are counted with what they can add or take away.
    """

    def __init__(self, sums: list[tuple[arb, arb]], theta: arb, mean: Sum) -> None:
        self._offset, self._curvature = mean.offset, mean.curvature
        ordered = sorted(sums, key=lambda pair: float(pair[1]))
        self._places = [float(position) for _, position in ordered]
        self._mass, self._moment, self._lowest = [arb(0)], [arb(0)], [math.inf]
        self._highest = [-math.inf]
        for _, position in ordered:
            self._highest.append(max(self._highest[-1], upper_double(position)))
        for weight, position in reversed(ordered):
            mass = weight * (-theta * position).exp()
            value = (-position).exp() if self._curvature else position
            self._mass.append(self._mass[-1] + mass)
            self._moment.append(self._moment[-1] + mass * value)
            self._lowest.append(min(self._lowest[-1], lower_double(position)))
        self._mass.reverse()
        self._moment.reverse()
        self._lowest.reverse()

    def mean(self, position: arb) -> Enclosure:
        """Enclose the sum over all masses of f(position + their sum - offset)."""
        base = position - self._offset
        place = bisect_left(self._places, -float(base))
        while place and not base + self._highest[place] <= 0:
            place -= 1  # rounding has put a sum above the threshold among those below
        if place == len(self._places):
            return Enclosure(arb(0), arb(0))
        mass, moment = self._mass[place], self._moment[place]
        found = mass - (-base).exp() * moment if self._curvature else mass * base + moment
        nearest = base + self._lowest[place]
        if nearest >= 0:
            return Enclosure(found, found)
        below = (-nearest).expm1() if self._curvature else -nearest
        return Enclosure(found, found + mass * below)


def _tail(k: int, n: int, p: arb) -> arb:
    """Bound the probability that a binomial count is k or farther from its mean."""
    if not 0 <= k <= n:
        return arb(0)
    log = k * (n * p / k).log() if k else arb(0)
    log += (n - k) * (n * (1 - p) / (n - k)).log() if k < n else arb(0)
    return log.exp()


def _sums(half: list[_Part], theta: arb) -> list[tuple[arb, arb]]:
    """Return the tilted probability and the value of each outcome of independent blocks."""
    sums = [(arb(1), arb(0))]
    for part in half:
        further = list(_outcomes(part.block, part.windows, theta))
        sums = [(p * q, x + y) for p, x in sums for q, y in further]
    return sums


def _mgf(block: Block, theta: arb) -> arb:
    return total(atom.mass * (theta * atom.value).exp() for atom in block.law.atoms)


def _windows(tilted: Sequence[float], times: int, log_target: float) -> dict[int, range]:
    """Return how often each value but the most likely one may be drawn."""
    usual = max(range(len(tilted)), key=tilted.__getitem__)
    target = log_target - math.log(2 * len(tilted))
    return {j: _window(p, times, target) for j, p in enumerate(tilted) if j != usual}


def _window(p: float, n: int, target: float) -> range:
    """Return counts outside of which a binomial count lies with probability e**target, about."""
    centre = round(n * p)

    def unlikely(k: int) -> bool:
        if not 0 <= k <= n:
            return True
        x = k / n
        kl = x * math.log(x / p) if x else 0.0
        kl += (1 - x) * math.log((1 - x) / (1 - p)) if x < 1 else 0.0
        return -n * kl < target

    if p <= 0 or p >= 1:
        return range(centre, centre + 1)
    ends = []
    for sign in (-1, 1):
        near, step = 0, 1
        while not unlikely(centre + sign * (near + step)):
            near, step = near + step, 2 * step
        while step > 1:
            step //= 2
            if not unlikely(centre + sign * (near + step)):
                near += step
        ends.append(centre + sign * near)
    return range(max(ends[0], 0), min(ends[1], n) + 1)


def _outcomes(block: Block, windows: dict[int, range], theta: arb) -> Iterator[tuple[arb, arb]]:
    """Yield the tilted probability and the sum of each outcome of a block."""
    law, n = block
    mgf = _mgf(block, theta)
    weights = [atom.mass * (theta * atom.value).exp() / mgf for atom in law.atoms]
    usual = next(j for j in range(len(law.atoms)) if j not in windows)
    # Values that may not occur are skipped, so those that must occur come first.
    chosen = sorted(windows.items(), key=lambda item: item[1].start == 0)
    fewest = [window.start for _, window in chosen]

    def extend(place: int, left: int, mass: arb, position: arb) -> Iterator[tuple[arb, arb]]:
        if place == len(chosen) or fewest[place] == 0:
            yield mass * weights[usual] ** left, position + left * law.atoms[usual].value
        for i in range(place, len(chosen)):
            j, window = chosen[i]
            k = max(window.start, 1)
            # binomial(left, k) weight^k, from one count to the next by its ratio
            factor = arb.bin_uiui(left, k) * weights[j] ** k
            while k < window.stop and k <= left:
                value = position + k * law.atoms[j].value
                yield from extend(i + 1, left - k, mass * factor, value)
                factor = factor * (left - k) / (k + 1) * weights[j]
                k += 1
            if window.start:
                return

    yield from extend(0, n, arb(1), arb(0))
