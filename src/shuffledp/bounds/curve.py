r"""The centre: a curve of delta against epsilon, every point of which is proved.

Bounds combine by *largest* (over pairs, backgrounds, directions), *smallest* (several proofs of the
same fact) and *plus* (the probability that an assumption fails). A guarantee is what a curve proves
from above, an attack what another one proves from below.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from flint import arb

from shuffledp.basics.balls import lower_log, precision, upper_log
from shuffledp.basics.interval import Interval

#: What proves a guarantee.
Proof = Literal["blanket", "swap", "exact", "composition"]

#: An estimate is off by less than this, mostly; where it is not, a larger bound is returned.
_DOUBT = 0.1

#: Of many curves, so many are estimated where nothing was proved nearby.
_LEADERS = 3


@dataclass(frozen=True)
class Proved:
    """A proved bound on log delta at one epsilon.

    Attributes:
        log: the bound; minus infinity for delta = 0.
        where: what attains it: a pair of inputs, or datasets; None if no two inputs differ.
        proof: which argument proves it.
    """

    log: float
    where: object = None
    proof: Proof = "blanket"


#: Delta is at least 0, and exactly that where no two inputs differ.
NOTHING = Proved(-math.inf)


class Curve(ABC):
    """A falling curve of delta against epsilon >= 0.

    What is proved at an epsilon is the same whenever it is asked for.

    Attributes:
        where: what the curve belongs to, such as a pair of inputs; of several curves, the first.
    """

    where: object = None

    @abstractmethod
    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""

    @abstractmethod
    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""

    @abstractmethod
    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about: what searches iterate on.

        Args:
            epsilon: where.
            like: what was proved nearby, which may tell which of several bounds decides.
        """

    @property
    @abstractmethod
    def end(self) -> Interval:
        """Enclose the smallest epsilon from which on delta is 0; infinite if there is none."""

    @property
    def floor(self) -> float:
        """A bound below log delta at every epsilon."""
        return -math.inf

    @abstractmethod
    def __str__(self) -> str:
        """Return the expression that the curve is."""

    def quick(self, epsilon: float) -> float:
        """Return an upper bound on log delta for a fraction of what ``above`` costs."""
        return math.inf

    def plus(self, risk: float) -> Curve:
        """Return the curve of delta + risk: something assumed fails with this probability."""
        return _Risked(self, risk) if risk else self


class _Unknown(Curve):
    """Nothing is proved, from above or from below."""

    def above(self, epsilon: float) -> Proved:
        return Proved(math.inf)

    def below(self, epsilon: float) -> Proved:
        return NOTHING

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        return math.inf

    @property
    def end(self) -> Interval:
        return Interval(0.0, math.inf)

    def __str__(self) -> str:
        return "unknown"


#: What is not known.
UNKNOWN: Curve = _Unknown()


class _Passing(Curve):
    """A curve that says what another one says, but for what it overrides."""

    curve: Curve

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        return self.curve.above(epsilon)

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        return self.curve.below(epsilon)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        return self.curve.estimate(epsilon, like)

    @property
    def end(self) -> Interval:
        """That of the curve."""
        return self.curve.end

    def __str__(self) -> str:
        return str(self.curve)


class Remembered(_Passing):
    """A curve that proves every point once."""

    def __init__(self, curve: Curve) -> None:
        self.curve, self.where = curve, curve.where
        self._above: dict[float, Proved] = {}
        self._below: dict[float, Proved] = {}

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        if epsilon not in self._above:
            self._above[epsilon] = self.curve.above(epsilon)
        return self._above[epsilon]

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        if epsilon not in self._below:
            self._below[epsilon] = self.curve.below(epsilon)
        return self._below[epsilon]

    def quick(self, epsilon: float) -> float:
        """Return what is known, or a quick bound."""
        known = self._above.get(epsilon)
        return self.curve.quick(epsilon) if known is None else known.log

    @property
    def floor(self) -> float:
        """That of the curve."""
        return self.curve.floor


class Deferred(_Passing):
    """An upper bound that is made when it is first needed."""

    def __init__(self, make: Callable[[], Curve], where: object = None) -> None:
        self._make, self.where = make, where

    @cached_property
    def curve(self) -> Curve:  # type: ignore[override]
        """The curve."""
        return self._make()

    @property
    def end(self) -> Interval:
        """Anything, as nothing was made."""
        return Interval(0.0, math.inf)


class _Largest(Curve):
    """The pointwise maximum of several curves."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.curves = curves
        self.where = curves[0].where if curves else None

    @cached_property
    def _leaders(self) -> Sequence[Curve]:
        """The curves that are largest at epsilon = 0, as far as quick bounds tell."""
        return sorted(self.curves, key=lambda c: -c.quick(0.0))[:_LEADERS]

    def above(self, epsilon: float) -> Proved:
        """Prove the largest; a curve whose quick bound is below what is proved cannot be it."""
        return self._most(lambda c: c.quick(epsilon), lambda c: c.above(epsilon))

    def below(self, epsilon: float) -> Proved:
        """Prove what may be the largest: any of them is a lower bound."""
        return self._most(lambda c: c.estimate(epsilon), lambda c: c.below(epsilon))

    def _most(self, hope: Callable[[Curve], float], prove: Callable[[Curve], Proved]) -> Proved:
        """Prove curves, the most hopeful first, until no other is hoped to be above the largest."""
        best = NOTHING
        for log, i in sorted(((hope(c), i) for i, c in enumerate(self.curves)), reverse=True):
            if best is not NOTHING and log <= best.log:
                break
            proved = prove(self.curves[i])
            if best is NOTHING or proved.log > best.log:
                best = proved
        return best

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return the estimate of what decided nearby, or of the leaders."""
        alike: Sequence[Curve] = ()
        if like is not None and like.where is not None:
            alike = [c for c in self.curves if c.where == like.where]
        return max((c.estimate(epsilon, like) for c in alike or self._leaders), default=-math.inf)

    def quick(self, epsilon: float) -> float:
        return max((c.quick(epsilon) for c in self.curves), default=-math.inf)

    @property
    def end(self) -> Interval:
        ends = [curve.end for curve in self.curves] or [Interval(0.0, 0.0)]
        return Interval(max(e.lower for e in ends), max(e.upper for e in ends))

    @property
    def floor(self) -> float:
        return max((curve.floor for curve in self.curves), default=-math.inf)

    def __str__(self) -> str:
        return f"largest({', '.join(map(str, self.curves))})"


class _Smallest(Curve):
    """The pointwise minimum of several upper bounds of the same thing."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.curves, self.where = curves, curves[0].where

    def above(self, epsilon: float) -> Proved:
        """Prove the bound that should be the smallest, and others where they may be smaller."""
        first, *rest = sorted(self.curves, key=lambda c: c.estimate(epsilon))
        best = first.above(epsilon)
        for curve in rest:
            if curve.estimate(epsilon) <= best.log + _DOUBT:
                best = min(best, curve.above(epsilon), key=_log)
        return best

    def below(self, epsilon: float) -> Proved:
        return min((c.below(epsilon) for c in self.curves), key=_log)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        return min(c.estimate(epsilon, like) for c in self.curves)

    def quick(self, epsilon: float) -> float:
        return min(c.quick(epsilon) for c in self.curves)

    @property
    def end(self) -> Interval:
        ends = [curve.end for curve in self.curves]
        return Interval(min(e.lower for e in ends), min(e.upper for e in ends))

    def __str__(self) -> str:
        return f"smallest({', '.join(map(str, self.curves))})"


class _Risked(Curve):
    """A curve, raised by a probability."""

    def __init__(self, curve: Curve, risk: float) -> None:
        self.curve, self.risk, self.where = curve, risk, curve.where

    def above(self, epsilon: float) -> Proved:
        return self._raised(self.curve.above(epsilon), upper_log)

    def below(self, epsilon: float) -> Proved:
        return self._raised(self.curve.below(epsilon), lower_log)

    def _raised(self, found: Proved, logarithm: Callable[[arb], float]) -> Proved:
        with precision():
            delta = arb(found.log).exp() if found.log > -math.inf else arb(0)
            return replace(found, log=logarithm(delta + arb(self.risk)))

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        logs = self.curve.estimate(epsilon, like), math.log(self.risk)
        return max(logs) + math.log1p(math.exp(min(logs) - max(logs)))

    @property
    def end(self) -> Interval:
        return Interval(math.inf, math.inf)

    def __str__(self) -> str:
        return f"{self.curve} + {self.risk!r}"


def _log(proved: Proved) -> float:
    return proved.log


def largest(curves: Sequence[Curve]) -> Curve:
    """Return the pointwise maximum; of no curves it is 0: whoever lists them must know why."""
    return curves[0] if len(curves) == 1 else _Largest(curves)


def smallest(curves: Sequence[Curve]) -> Curve:
    """Return the pointwise minimum of several upper bounds of the same thing."""
    if not curves:
        raise ValueError("smallest needs at least one curve, got none")
    return curves[0] if len(curves) == 1 else _Smallest(curves)


class OnlyAbove(_Passing):
    """The upper bounds of a curve, where the truth may be smaller."""

    def __init__(self, curve: Curve) -> None:
        self.curve, self.where = curve, curve.where

    def below(self, epsilon: float) -> Proved:
        """Prove nothing: delta is at least 0."""
        return NOTHING

    @property
    def end(self) -> Interval:
        """At most that of the curve."""
        return Interval(0.0, self.curve.end.upper)
