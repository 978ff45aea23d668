"""Where to evaluate the swap bound, in plain doubles: any choice gives a proved bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.basics.arrays import FloatArray, usual_errors
from shuffledp.bounds.swap.slots import Slots
from shuffledp.engine.proposals import Doubles, Plan

#: By how much the logarithm of the largest transform may miss its minimum, but for rounding.
_CLOSE, _CLOSEST = 0.01, 1e-9

#: Exponentials of the tilt times a value stay below that of this.
_MOST_GROWTH = 500.0

#: With fewer users in the blanket on average nobody is there to swap seats with.
_FEWEST_BLANKET_USERS = 3.0

#: Values beyond it are left to the blanket.
_LARGEST = 1e100

#: Shares of the relative error asked for.
_SHARE_OF_TAIL, _SHARE_OF_SKIPPED = 0.02, 0.02
_MOST_BIAS, _WANTED_BIAS = 0.6, 0.3
_MOST_SHRINK, _LEAST_SHRINK = 0.7, 0.1


#: Values and masses of a law, in doubles.
DoubleLaw = tuple[FloatArray, FloatArray]


class Stack:
    """Many laws in doubles, one row each; missing atoms have the mass 0."""

    def __init__(self, laws: Sequence[DoubleLaw]) -> None:
        size = max(values.size for values, _ in laws)
        self.values, self.masses = np.zeros((2, len(laws), size))
        for row, (values, masses) in enumerate(laws):
            self.values[row, : values.size] = values
            self.masses[row, : masses.size] = masses

    @usual_errors
    def cumulants(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Return log E exp(theta G) and its derivative, of each law."""
        exponents = np.where(self.masses > 0, theta * self.values, -math.inf)
        top = exponents.max(axis=1)
        tilted = self.masses * np.exp(exponents - top[:, None])
        mass = tilted.sum(axis=1)
        return top + np.log(mass), (tilted * self.values).sum(axis=1) / mass


def without_rare(law: DoubleLaw, limit: float) -> DoubleLaw:
    """Set the largest values to 0 as long as that changes the mean by the limit at most."""
    values, masses = law
    order = np.argsort(-values)
    lost = np.cumsum(np.maximum(values, 0.0)[order] * masses[order])
    kept = values.copy()
    rare = order[: np.searchsorted(lost, limit, side="right")]
    kept[rare] = np.minimum(kept[rare], 0.0)
    return kept, masses


@dataclass(frozen=True)
class SwapPlan:
    """A contour for all types, and how many users may be examined.

    Attributes:
        contour: tilt, smoothing, step and number of nodes.
        terms: for how many numbers of users examined in vain, from 0 on, the bound has a term.
        size: about what the sum over the nodes is, in units of the transform at the tilt.
        rtol: how much may be added to log delta, about.
    """

    contour: Plan
    terms: int
    size: float
    rtol: float

    @property
    def allowance(self) -> float:
        """What all skipped nodes together may add."""
        return _SHARE_OF_SKIPPED * self.rtol * self.size

    def smoother(self, bias: float) -> SwapPlan | None:
        """Return a plan with less noise, given what noise added; None if that is little."""
        if bias <= _MOST_BIAS * self.rtol:
            return None
        shrink = min(max(_WANTED_BIAS * self.rtol / bias, _LEAST_SHRINK), _MOST_SHRINK)
        tau, nodes = self.contour.tau * shrink, math.ceil(self.contour.nodes / shrink)
        return replace(self, contour=replace(self.contour, tau=tau, nodes=nodes))


class Proposal:
    """The tilt at which the largest transform of any background is smallest.

    There two types may tie, one of which leads on either side of the tilt. Then that tilt is the
    saddle point of a mixture of both, which reveals most.

    Args:
        first: slot 0.
        types: the slots of all types.
        gamma: mass of the blanket.
        n: number of users.
    """

    def __init__(self, first: DoubleLaw, types: Sequence[DoubleLaw], gamma: float, n: int) -> None:
        self._first, self._stack, self._n, self._gamma = Stack([first]), Stack(types), n, gamma
        largest = max(float(np.abs(part.values).max()) for part in (self._first, self._stack))
        self.is_promising = (
            n > 1
            and bool(self._stack.values.max() > 0)
            and largest < _LARGEST
            and gamma * n > _FEWEST_BLANKET_USERS
        )
        if self.is_promising:
            low, high = self._tilts(Doubles([(*first, 1), (*types[0], n - 1)]).theta)
            theta = math.sqrt(low * high)
            (falling, falls), (rising, rises) = self._lead(low), self._lead(high)
            share = 0.0 if falling == rising else max(rises, 0.0) / (rises - falls)
            times = round((n - 1) * share)
            blocks = [(*types[falling], times), (*types[rising], n - 1 - times)]
            self._doubles = Doubles([(*first, 1), *(block for block in blocks if block[2])])
            self._doubles.theta = theta

    @classmethod
    def of(cls, slots: Slots, n: int) -> Proposal:
        """Return that of the doubles nearest to some slots."""
        first, *types = ((law.values, law.masses) for law in (slots.first, *slots.types))
        return cls(first, types, float(slots.gamma), n)

    @property
    def log_estimate(self) -> float:
        """About the logarithm of the bound; infinite if no good one can be expected."""
        if not self.is_promising:
            return math.inf
        return self._doubles.log_estimate - math.log(self._n)

    @property
    def log_measured(self) -> float:
        """The same from nodes rather than from the saddle-point formula."""
        if not self.is_promising:
            return math.inf
        return self._doubles.log_measured - math.log(self._n)

    def _tilts(self, start: float) -> tuple[float, float]:
        """Return two tilts between which the largest transform is smallest; it is convex."""
        most = _MOST_GROWTH / float(self._stack.values.max())
        low = high = min(start, most)
        ratio = 1.03
        while self._lead(low)[1] > 0:
            high, low, ratio = low, low / ratio, ratio**2
        while high < most and self._lead(high)[1] < 0:
            low, high, ratio = high, min(high * ratio, most), ratio**2
        falls, rises = -self._lead(low)[1], self._lead(high)[1]
        while (high - low) * max(falls, rises) > _CLOSE and high > low * (1 + _CLOSEST):
            middle = math.sqrt(low * high)
            slope = self._lead(middle)[1]
            if slope < 0:
                low, falls = middle, -slope
            else:
                high, rises = middle, slope
        return low, high

    def _lead(self, theta: float) -> tuple[int, float]:
        """Return the type of the largest transform, and its logarithm's slope less 2 / theta."""
        logs, means = self._stack.cumulants(theta)
        lead, first = int(logs.argmax()), float(self._first.cumulants(theta)[1][0])
        return lead, (self._n - 1) * float(means[lead]) + first - 2 / theta

    def plan(self, rtol: float) -> SwapPlan:
        """Return a plan that should add about ``rtol`` to log delta."""
        size = math.exp(self._doubles.log_estimate - self._doubles.at_saddle[0])
        terms = self._n
        if self._gamma < 1:
            wanted = self.log_estimate + math.log(_SHARE_OF_TAIL * rtol)
            terms = min(int(max(wanted / math.log1p(-self._gamma), 0.0)) + 2, self._n)
        return SwapPlan(self._doubles.plan(rtol), terms, size, rtol)
