r"""From delta to epsilon: a certified root of a decreasing function.

One evaluation of :math:`\delta(\varepsilon)` on each side of the root, both certified, encloses
it. :mod:`shuffledp.accounting.proposals` says where to evaluate; only certified comparisons move
the bracket. The upper end keeps its word: whoever evaluates delta there, with the width that was
asked for, finds no more than the target.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from shuffledp.accounting.profile_point import enclose_log_delta
from shuffledp.accounting.proposals import ULP, Guide, Hint, raise_epsilon
from shuffledp.arrays import UNIT
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import LogEnclosure, estimate_log_delta, log_delta_at, log_delta_bound
from shuffledp.errors import MAX_EPSILON0, ContradictionError
from shuffledp.interval import Interval, exp_up

#: How often to raise an epsilon: from the last digit to far beyond the largest one.
MAX_RAISES = 40

_MAX_EVALUATIONS = 40
_MAX_BISECTIONS = 20
_Answer = TypeVar("_Answer")

# Of the width that is asked for: no closer look is taken.
_NARROW, _NARROW_IF_SMOOTH, _NARROW_IF_HARD = 0.2, 0.5, 0.7
_VAGUE = 2.0  # an enclosure of log delta this wide says little about where the root is


def enclose_epsilon(
    decomposition: Decomposition, n: int, log_target: Interval, rtol: float
) -> Interval:
    """Enclose the smallest epsilon >= 0 with delta(epsilon) <= target.

    Args:
        decomposition: the decomposition whose bound is inverted.
        n: number of users.
        log_target: enclosure of the logarithm of the target, a point up to rounding.
        rtol: relative width of epsilon to aim for.
    """
    return find_root(decomposition, n, log_target, rtol).epsilon


@dataclass(frozen=True)
class Root:
    """The enclosure of an epsilon, and that of log delta at its upper end.

    ``at_upper`` is what ``enclose_log_delta`` answers there, with the ``rtol`` of the search; None
    if that is beyond the largest epsilon one can ask about.
    """

    epsilon: Interval
    at_upper: LogEnclosure | None


def find_root(decomposition: Decomposition, n: int, log_target: Interval, rtol: float) -> Root:
    """Do as :func:`enclose_epsilon`, and tell what the last evaluation has shown."""
    return Search(decomposition, n, log_target, rtol).run()


def log_target(delta: float) -> Interval:
    """Enclose log(delta); its lower end is the largest x with ``exp_up(x) <= delta``.

    So log delta is at most the lower end where delta, rounded up to a double, is at most ``delta``.

    >>> log_target(0.0)
    Interval(lower=-inf, upper=-inf)
    >>> exp_up(log_target(0.1).lower) == 0.1
    True
    """
    if delta == 0:
        return Interval(-math.inf, -math.inf)
    log = math.log(delta)
    slack = 4 * UNIT * abs(log)
    low, high = -math.inf, log + slack
    middle = log - slack - 16 * UNIT
    while low < middle < high:
        low, high = (middle, high) if exp_up(middle) <= delta else (low, middle)
        middle = 0.5 * (low + high) if low > -math.inf else 2 * high
    return Interval(low, log + slack)


def log_gap(log_delta: float, delta: float) -> float:
    """Return how far a logarithm is above that of ``delta``; at most 0 exactly if not above.

    >>> log_gap(-3.0, 0.0), log_gap(-math.inf, 0.0), round(log_gap(-3.0, 0.1), 4)
    (inf, -inf, -0.6974)
    """
    if log_delta == -math.inf:
        return -math.inf
    gap = log_delta - log_target(delta).lower
    return min(gap, 0.0) if exp_up(log_delta) <= delta else max(gap, ULP)


class Search:
    """A bracket [low, high] around the root, moved by certified comparisons alone.

    Args:
        decomposition: the decomposition whose bound is inverted.
        n: number of users.
        log_target: enclosure of the logarithm of the target.
        rtol: relative width of epsilon to aim for.
        hint: where the root may be, if something is known of it.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        n: int,
        log_target: Interval,
        rtol: float,
        hint: Hint | None = None,
    ) -> None:
        self.decomposition, self.n, self.log_target = decomposition, n, log_target
        self.rtol = rtol
        self.guide = Guide(decomposition, n, log_target, rtol, hint)
        self.end = max(decomposition.max_epsilon, 0.0)  # delta is 0 from here on
        self.ceiling = min(self.end, MAX_EPSILON0)
        self.low, self.high = 0.0, self.end
        self.at_high: LogEnclosure | None = None  # evaluated there, with rtol itself
        self.is_hard = False  # the last enclosure was wider than asked: evaluations take long
        self.failed = False  # the last enclosure was vague: effort or precision ran out

    def run(self) -> Root:
        """Probe until the bracket is narrow or nothing narrows it."""
        return self._drive(self.steps())

    def _drive(self, steps: Generator[float, LogEnclosure, _Answer]) -> _Answer:
        """Evaluate delta wherever that is asked for, and return the answer."""
        try:
            epsilon = next(steps)
            while True:
                epsilon = steps.send(self._enclose(epsilon))
        except StopIteration as end:
            answer: _Answer = end.value
            return answer

    def steps(self) -> Generator[float, LogEnclosure, Root]:
        """Do as :meth:`run`, but yield every epsilon at which log delta must be enclosed.

        What is sent back is what ``enclose_log_delta`` says there with ``rtol``, if that is what
        ``precision`` is then; else what ``log_delta_at`` says with the ``precision``.
        """
        if self._is_infinite():
            self.low = self.high = math.inf
            return self._root()
        probe: float | None = self.guide.first()
        margin, stalled, failures = 1.0, 0, 0
        for _ in range(_MAX_EVALUATIONS):
            if probe is None:
                break
            gap = self.high - self.low
            decided = yield from self._look(probe)
            if self.failed:
                failures += 1
                if failures == 1:
                    self._shrink_by_cheap_bound()
                    yield from self._raise_near_the_end(probe)
                    if self.high == math.inf:
                        break
                probe = self.guide.again(self.low, self.high, failures)
                continue
            wanted = self._wanted
            if self.high - self.low <= max(wanted * self.rtol, 4 * ULP) * self.high < math.inf:
                break
            margin = 1.0 if decided else 3 * margin
            stalled = stalled + 1 if self.high - self.low > 0.5 * gap else 0
            if stalled % 7 == 6:
                probe = self.guide.middle(self.low, self.high)
            else:
                probe = self.guide.next(self.low, self.high, margin)
        if self.low == 0 < self.high and not self.failed and not self.guide.has_seen_0:
            self.guide.rtol = self.rtol
            yield from self._look(0.0)
        yield from self._confirm()
        return self._root()

    @property
    def _wanted(self) -> float:
        """The part of the width that is asked for from which on it is narrow enough."""
        if self.is_hard:
            return _NARROW_IF_HARD
        return _NARROW if self.decomposition.smooth is None else _NARROW_IF_SMOOTH

    @property
    def precision(self) -> float:
        """The width of delta to ask for."""
        return self.guide.rtol

    def _root(self) -> Root:
        return Root(Interval(self.low, self.high), self.at_high)

    def _confirm(self) -> Generator[float, LogEnclosure, None]:
        """Raise the upper end until an evaluation with ``rtol`` shows that it meets the target.

        Mostly that was the last one. It was not if a closer look, or the cheap bound, decided, or
        if the upper end is where delta vanishes, up to rounding.
        """
        if self.at_high is not None:
            return
        high, self.guide.rtol = self.high, self.rtol
        for attempt in range(MAX_RAISES):
            if high > MAX_EPSILON0:
                break
            value = yield high
            if value.upper <= self.log_target.lower:
                self.high, self.at_high = high, value
                return
            _, slope = estimate_log_delta(self.decomposition, self.n, high)
            high = raise_epsilon(high, value.upper - self.log_target.lower, slope, attempt)
        self.high = self.end if self.end > MAX_EPSILON0 else math.inf

    def _is_infinite(self) -> bool:
        """Whether outputs that the second input cannot produce have more mass than the target."""
        mass = self.decomposition.exposed * (1 - 1e-12)
        return mass > 0 and math.log(mass) > self.log_target.upper

    def _look(self, epsilon: float) -> Generator[float, LogEnclosure, bool]:
        """Move the end of the bracket that the enclosure at epsilon decides, if it does."""
        epsilon = min(max(epsilon, 0.0), MAX_EPSILON0)
        value = yield epsilon
        vague = value.width > _VAGUE
        if not vague:
            self.guide.see(epsilon, value)
        if value.upper <= self.log_target.lower:
            if epsilon <= self.high:
                self.at_high = value if self.guide.rtol == self.rtol else None
            self.high = min(self.high, epsilon)
        elif value.lower > self.log_target.upper:
            self.low = max(self.low, epsilon)
        if self.low > self.high:
            raise ContradictionError(
                f"delta is above the target at epsilon = {self.low!r}, below at {self.high!r}"
            )
        self.failed, self.is_hard = vague, value.width > self.rtol
        return epsilon in (self.low, self.high)

    def _enclose(self, epsilon: float) -> LogEnclosure:
        if self.guide.rtol == self.rtol:
            return enclose_log_delta(self.decomposition, self.n, epsilon, self.rtol)
        return log_delta_at(self.decomposition, self.n, epsilon, rtol=self.guide.rtol)

    def _raise_near_the_end(self, failed: float) -> Generator[float, LogEnclosure, None]:
        """Raise the lower end if rounding, close to the largest epsilon, made a probe fail."""
        for epsilon in self.guide.near_the_end(failed):
            if epsilon < self.high and (yield from self._look(epsilon)) and not self.failed:
                break

    def _shrink_by_cheap_bound(self) -> None:
        """Lower the upper end by bisection with the bound of one tilt, which always exists."""
        low, high = self.low, self.high
        for _ in range(_MAX_BISECTIONS):
            middle = self.ceiling if high == math.inf else 0.5 * (low + high)
            bound = log_delta_bound(self.decomposition.at(middle), self.n)
            if bound <= self.log_target.lower:
                self.high = high = middle
                self.at_high = None
            elif middle == self.ceiling:
                break
            else:
                low = middle
            if high - low <= self.rtol * high:
                break
