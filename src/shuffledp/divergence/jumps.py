r"""Rare large jumps: a sum is seen as a few jumps plus the law of the rest.

The atoms of a law are divided into a *rest* R, of probability 1 - p, and classes c of *jumps*
:math:`J_c`, of probability :math:`p_c`, which add up to p. By how many of the summands jump, and
into which classes,

.. math:: E[S_+] = \sum_{j<m}\ \sum_{c_1\le\dots\le c_j}\!\!\text{ways}\cdot
          p_{c_1}\cdots p_{c_j}(1-p)^{n-j}\,
          E[(J_{c_1}+\dots+J_{c_j}+R_1+\dots+R_{n-j})_+] + \rho_m,

and each mean is that of a sum of blocks, with a saddle point of its own. With N the number of jumps
the inner sum is :math:`E[S_+;\,N=j]`, so every j may have classes of its own. Let
:math:`\lambda=np`, so that :math:`P(N\ge k)\le\lambda^k/k!`. :math:`S_+` is at most the
sum of all positive jumps plus :math:`T_+`, T the sum of the rest. Next to a jump there are m - 1
others, or more; next to k of them, :math:`E[T_+]\le E[e^{\theta T}]/(e\theta)` has k factors less
than for the rest of n. So, for every theta > 0,

.. math:: 0\le\rho_m\le n\,E[G_+;\text{jump}]\,\frac{\lambda^{m-1}}{(m-1)!}
          + \frac{(E e^{\theta R})^n}{e\theta}\,\frac{\Lambda^m}{m!}\,e^\Lambda,
          \qquad \Lambda=\frac\lambda{E e^{\theta R}} .

Instead of the last term :math:`nE[R_+]\lambda^m/m!` will do as well. With several blocks, lambda
and Lambda are sums over them. This holds for every division of the atoms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import Block, BlockSum
from shuffledp.divergence.contour import ChernoffBound, chernoff_bound
from shuffledp.divergence.elementary import (
    bound_by_singles,
    can_be_positive,
    log_mean_single,
    log_sum,
)
from shuffledp.divergence.enclosure import BEYOND_DOUBLES, LogEnclosure

_MOST_JUMPS = 0.5  # a law is divided only if jumps are less likely, and known that well
_VAGUE = 0.5  # a bound on E e^{theta R} is given up if errors of values may take more


@dataclass(frozen=True, eq=False)
class _Atoms:
    """Some atoms of a law: their law, and the logarithm of their probability."""

    law: Law
    log_probability: float
    log_error: float


@dataclass(frozen=True, eq=False)
class DividedLaw:
    """The rest of a law, and the classes of its jumps by their numbers."""

    rest: _Atoms
    jumps: dict[int, _Atoms]

    @property
    def log_jump(self) -> float:
        """An upper bound on the logarithm of the probability of a jump."""
        return log_sum(jump.log_probability + jump.log_error for jump in self.jumps.values())


def divide(law: Law, edges: FloatArray, merged: int = 1) -> DividedLaw:
    """Divide a law: values up to the first edge are the rest, between two edges lies a class.

    So many neighbouring classes are ``merged``, which leaves the rest as it is. A law whose jumps
    are not rare is not divided.
    """
    group = -(-np.searchsorted(edges, law.values, side="left") // merged)
    jumps = law.weights[group > 0]
    whole = DividedLaw(_Atoms(law, 0.0, 0.0), {})
    if jumps.size == 0:
        return whole
    # Sums of positive terms are relatively as good as their worst term.
    p = float(jumps.sum())
    error = float(np.expm1(law.weight_error[group > 0].max())) + (jumps.size + 2) * UNIT
    if not (p < _MOST_JUMPS and error < _MOST_JUMPS):
        return whole
    # All weights sum to 1, so the error of 1 - p is that of p.
    vague = p * error / (1 - p * (1 + error)) * (1 + 8 * UNIT)
    log_rest = math.log1p(-p)
    return DividedLaw(
        _Atoms(
            _conditional(law, group == 0, 1 - p, vague + 2 * UNIT),
            log_rest,
            vague + 4 * UNIT * abs(log_rest),
        ),
        {int(c): _given(law, group == c) for c in np.unique(group[group > 0])},
    )


def _given(law: Law, atoms: NDArray[np.bool_]) -> _Atoms:
    """Return a class of atoms."""
    weights = law.weights[atoms]
    p = float(weights.sum())
    error = float(np.expm1(law.weight_error[atoms].max())) + (weights.size + 2) * UNIT
    log_error = error * (1 + error)  # for errors below 1/2
    log_p = math.log(p)
    return _Atoms(_conditional(law, atoms, p, log_error), log_p, log_error + 4 * UNIT * abs(log_p))


def _conditional(law: Law, atoms: NDArray[np.bool_], p: float, log_error: float) -> Law:
    """Return the law given that one of the atoms is drawn, of probability p up to its error."""
    weight_error = law.weight_error[atoms] + log_error + 2 * UNIT
    return Law(law.values[atoms], law.weights[atoms] / p, law.value_error[atoms], weight_error)


#: The class and the block of each jump of a term.
Key = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class JumpTerm:
    """A sum whose E[S_+], times a coefficient, is what certain jumps add to the mean."""

    total: BlockSum
    log_coefficient: float
    log_error: float


class DividedSum:
    """A sum of blocks whose laws are divided by the same edges, neighbouring classes merged."""

    def __init__(self, total: BlockSum, edges: FloatArray, merged: int = 1) -> None:
        self.total = total
        self.laws = [divide(law, edges, merged) for law in total.laws]

    @cached_property
    def rest(self) -> BlockSum:
        """The sum if there are no jumps."""
        return self.total.with_laws([law.rest.law for law in self.laws])

    @cached_property
    def bound(self) -> ChernoffBound:
        """A bound on the mean of the rest from one tilt, if it can be positive."""
        return chernoff_bound(self.rest)

    def terms(self, orders: int, fewest: int = 0) -> dict[Key, JumpTerm]:
        """Return what fewer than ``orders`` jumps add, and no fewer than ``fewest``."""
        classes = [(c, b) for b, law in enumerate(self.laws) for c in law.jumps]
        found = {}
        for count in range(fewest, orders):
            for key in combinations_with_replacement(sorted(classes), count):
                if (term := self._term(key)) is not None:
                    found[key] = term
        return found

    def _term(self, key: Key) -> JumpTerm | None:
        """Return the term of the given jumps; None if a block has too few summands for them."""
        jumps = Counter(key)
        blocks, ways, logs, error = [], 1, [], 0.0
        for b, (block, law) in enumerate(zip(self.total.blocks, self.laws, strict=True)):
            drawn = sum(times for (_, place), times in jumps.items() if place == b)
            still = block.times - drawn
            if still < 0:
                return None
            ways *= math.perm(block.times, drawn)
            if still:
                blocks.append(Block(law.rest.law, still))
                logs.append(still * law.rest.log_probability)
                error += still * law.rest.log_error
        for (c, b), times in jumps.items():
            jump = self.laws[b].jumps[c]
            ways //= math.factorial(times)
            blocks.append(Block(jump.law, times))
            logs.append(times * jump.log_probability)
            error += times * jump.log_error
        logs.append(math.log(ways))
        # A product and a sum per term; a logarithm has 4 units.
        error += (len(logs) + 6) * UNIT * sum(map(abs, logs))
        total = BlockSum(tuple(blocks), self.total.offset, self.total.offset_error)
        return JumpTerm(total, sum(logs), error)

    def log_remainder(self, orders: int) -> float:
        """Bound the logarithm of what ``orders`` jumps or more add, at least one."""
        rates = [
            math.log(block.times) + law.log_jump
            for block, law in zip(self.total.blocks, self.laws, strict=True)
        ]
        if max(rates) == -math.inf:
            return -math.inf
        gains = [
            math.log(block.times) + jump.log_probability + jump.log_error + gain
            for block, law in zip(self.total.blocks, self.laws, strict=True)
            for jump in law.jumps.values()
            if (gain := log_mean_single(jump.law).upper) > -math.inf
        ]
        others = (orders - 1) * log_sum(rates) - math.log(math.factorial(orders - 1))
        log_jumps = log_sum(gains) + others
        parts = [log_jumps, self._log_rest(rates, orders)]
        sizes = [abs(x) for x in (*rates, *gains, others) if x > -math.inf]
        slack = UNIT * (16 + 8 * orders) * (len(rates) + len(gains) + 1 + sum(sizes))
        return LogEnclosure(-math.inf, log_sum(parts)).widen(slack).upper

    def _log_rest(self, rates: Sequence[float], orders: int) -> float:
        """Bound what the rest adds next to so many jumps, by one tilt or by single summands."""
        log_mean, log_crowd, crowd = bound_by_singles(self.rest), log_sum(rates), 0.0
        if can_be_positive(self.rest):
            with suppress(*BEYOND_DOUBLES):
                if (tilted := self._crowd(rates)) < math.inf:
                    log_mean, log_crowd, crowd = self.bound.log_mean, math.log(tilted), tilted
        value = log_mean + orders * log_crowd - math.log(math.factorial(orders)) + crowd
        # Logarithms are good to 4 units; a product and three sums.
        return value + 8 * UNIT * (1 + abs(log_mean) + orders * (1 + abs(log_crowd)) + crowd)

    def _crowd(self, rates: Sequence[float]) -> float:
        """Bound the sum of all rates over E e^{theta R}."""
        crowd = 0.0
        for rate, law in zip(rates, self.bound.tilted.laws, strict=True):
            # Values may be smaller by their errors.
            shrink = 1 - law.theta * law.value_shift * (1 + 4 * UNIT)
            if rate > -math.inf:
                if shrink < _VAGUE:
                    return math.inf
                least = law.log_mgf - law.log_mgf_error + math.log(shrink)
                crowd += math.exp(rate - least + 8 * UNIT * (1 + abs(rate) + abs(least)))
        return crowd
