"""Answers for an analyst who sees nothing but the sum of what users submit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shuffledp.accounting.count_search import MAX_USERS, CountSearch
from shuffledp.accounting.crossing import cross
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.inversion import log_gap, log_target
from shuffledp.arrays import UNIT
from shuffledp.bounds.sums.noise import geometric_log_delta, laplace_log_delta, normal_log_delta
from shuffledp.divergence import LogEnclosure
from shuffledp.divergence.two_counts import Bit, Bounds
from shuffledp.errors import MAX_EPSILON0, ContradictionError
from shuffledp.interval import Interval, exp_up
from shuffledp.randomizers import Input, LocalRandomizer, Pair
from shuffledp.randomizers.aggregate import (
    BitSums,
    GeometricSum,
    LaplaceSum,
    NormalSum,
    OnlyMultiset,
    SameAsMultiset,
    SeparateSums,
)

if TYPE_CHECKING:
    from shuffledp.accounting.report import Proof

#: What the analyst sees.
View = Literal["multiset", "sum"]
VIEWS: tuple[View, ...] = ("multiset", "sum")


def check_view(view: View) -> View:
    """Return a view; refuse others."""
    if view not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(VIEWS)}, got {view!r}")
    return view


_VAGUE = 0.1  # of log delta
_CLOSE = 0.5  # of log delta: the multiset has hardly any less
_FEW_CUTS = 60  # where many epsilons are asked for: about 1% of epsilon
_FINE = 1e-4  # of epsilon, for what some datasets attain
_NEXT_TO_END = 0.9  # of the epsilon at which delta is 0

#: How far above that to look, and with how much effort.
_STEPS = ((0.003, 60), (0.005, 400), (0.01, 600), (0.02, 600), (0.05, 600), (0.2, 600))


@dataclass(frozen=True)
class Attained:
    """Where a bound is attained: the inputs of the differing user, and what all others hold."""

    pair: Pair
    other: Input

    @property
    def datasets(self) -> Datasets:
        """The two datasets."""
        return Datasets(self.pair, self.other)


class ExactSum:
    r"""The exact privacy of a sum of noisy values, or of the sums of independent bits.

    The sum is that of the values plus that of the noise, which does not depend on them. So delta is
    that of a shift of the noise's sum by :math:`x_1-x_1'`, whatever the others hold, and the noise
    being log-concave it grows with the shift: the end points are the worst inputs. For bits see
    :mod:`shuffledp.accounting.count_search`.

    Args:
        randomizer: a mechanism that adds noise, or a unary encoding.
        n: number of users.
        rtol: relative width of enclosures of epsilon.
        multiset: bounds log delta from above if all reports are seen, for the same users, and says
            what proves it.
        multiset_root: bounds epsilon from above if all reports are seen.
    """

    def __init__(
        self,
        randomizer: LocalRandomizer,
        n: int,
        rtol: float,
        multiset: Callable[[float], tuple[float, Proof]],
        multiset_root: Callable[[float], float],
    ) -> None:
        self.n, self.rtol, self.multiset = n, rtol, multiset
        self.multiset_root = multiset_root
        self.evaluate, self.end = _noise(randomizer, n)
        self.pair = randomizer.neighbours()[0]
        seen = randomizer.aggregate
        self.bits = seen if isinstance(seen, BitSums) else None
        self._evaluated: dict[float, LogEnclosure] = {}
        self._known: dict[float, tuple[LogEnclosure, Proof]] = {}
        self._roots: dict[float, tuple[Interval, Proof]] = {}

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, Attained]:
        """Enclose log delta; where little is known, the bound of the multiset helps."""
        return self._value(epsilon)[0], self._attained(epsilon)

    def proof(self, epsilon: float) -> Proof:
        """Return what proves the bound: "exact", or that of the multiset where it is smaller."""
        return "exact" if epsilon > MAX_EPSILON0 else self._value(epsilon)[1]

    def _own(self, epsilon: float) -> LogEnclosure:
        """Enclose log delta by what is known of the sum alone."""
        if epsilon not in self._evaluated:
            self._evaluated[epsilon] = self.evaluate(epsilon)
        return self._evaluated[epsilon]

    def _value(self, epsilon: float) -> tuple[LogEnclosure, Proof]:
        if epsilon not in self._known:
            value = self._own(epsilon)
            proof: Proof = "exact"
            if value.width > _VAGUE or self._may_equal_multiset(epsilon):
                bound, other = self.multiset(epsilon)
                if bound < value.lower:
                    raise ContradictionError(
                        f"the sum attains a log delta of {value.lower!r}, the multiset's is at "
                        f"most {bound!r}"
                    )
                if bound < value.upper:
                    value, proof = LogEnclosure(value.lower, bound), other
            self._known[epsilon] = value, proof
        return self._known[epsilon]

    def proved(self, epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta and what proves it, with less effort for bits."""
        if self.bits is None or epsilon in self._known or epsilon >= self.bits.epsilon0:
            return self._value(epsilon)[0].upper, self.proof(epsilon)
        value = in_logs(search_of(self.n, self.bits, epsilon).run(most=_FEW_CUTS))
        if value.width <= _CLOSE:
            return value.upper, "exact"
        bound, proof = self.multiset(epsilon)
        return (bound, proof) if bound < value.upper else (value.upper, "exact")

    def epsilon(self, delta: float) -> tuple[Interval, Attained]:
        """Enclose the smallest epsilon at which delta is at most the target."""
        found, _ = self.root(delta)
        return found, self._attained(min(found.lower, MAX_EPSILON0))

    def root(self, delta: float) -> tuple[Interval, Proof]:
        """Enclose that epsilon; also return what proves it.

        It keeps its word: :meth:`log_delta` there ends at or below the logarithm of ``delta``.
        """
        if delta == 1:
            return Interval(0.0, 0.0), "exact"
        if delta == 0:  # the level of bits may have been rounded up to the next double
            least = self.end if self.bits is None else math.nextafter(self.end, 0.0)
            return Interval(least, self.end), "exact"
        if delta not in self._roots:
            found = self._above_corners(delta) or self._crossing(delta)
            self._roots[delta] = self._of_multiset(delta, found[0]) or found
        return self._roots[delta]

    def _of_multiset(self, delta: float, found: Interval) -> tuple[Interval, Proof] | None:
        """Return what was found with the epsilon of the multiset for an end, if it is smaller."""
        if not self._may_equal_multiset(found.upper):
            return None
        if found.upper <= MAX_EPSILON0 and exp_up(self.multiset(found.upper)[0]) > delta:
            return None  # the multiset's is larger
        epsilon = self.multiset_root(delta)
        if epsilon < found.lower:
            raise ContradictionError(
                f"the sum attains an epsilon of {found.lower!r}, the multiset's is at most "
                f"{epsilon!r}"
            )
        if epsilon >= found.upper or epsilon > MAX_EPSILON0:
            return None
        value, proof = self._value(epsilon)
        return (Interval(found.lower, epsilon), proof) if exp_up(value.upper) <= delta else None

    def _may_equal_multiset(self, epsilon: float) -> bool:
        """Whether the multiset may reveal hardly any more: its bound counts where it is smaller.

        Of one noisy number it is the same thing, and asked here.
        """
        if self.bits is not None:
            return True
        return self.n > 1 and epsilon > _NEXT_TO_END * self.end

    def gap(self, epsilon: float, delta: float) -> float:
        """Return how far :meth:`log_delta` ends above the logarithm of ``delta``, about.

        It is at most 0 exactly where it ends at or below.
        """
        if self.bits is None or epsilon in self._known:
            return log_gap(self._value(epsilon)[0].upper, delta)
        return log_gap(self._first_look(epsilon, delta)[0], delta)

    def _first_look(
        self, epsilon: float, delta: float, cuts: int | None = None
    ) -> tuple[float, Proof]:
        """Bound log delta of sums of bits no closer than it takes to compare it with ``delta``.

        Also return what proves it. If two datasets have a larger delta, it is theirs.
        """
        if self.bits is None or epsilon >= self.bits.epsilon0:
            return -math.inf, "exact"
        search = search_of(self.n, self.bits, epsilon)
        found = search.run(delta) if cuts is None else search.run(delta, cuts)
        ends = in_logs(found)
        if found.lower > delta:
            return ends.lower, "exact"
        if exp_up(ends.upper) <= delta:
            return ends.upper, "exact"
        bound, proof = self.multiset(epsilon)
        return (bound, proof) if bound < ends.upper else (ends.upper, "exact")

    def _crossing(self, delta: float) -> tuple[Interval, Proof]:
        """Enclose the epsilon of the sum's own curve; that of the multiset only where it is vague.

        What is known of the sum with the help of the multiset is never more.
        """
        deviation = math.sqrt(max(-log_target(delta).lower, 0.1))

        def log_delta(epsilon: float) -> LogEnclosure:
            value = self._own(epsilon)
            return value if value.width <= _VAGUE else self._value(epsilon)[0]

        found = cross(
            log_delta,
            delta,
            rtol=self.rtol,
            start=min(deviation / math.sqrt(self.n), self.end / 2, MAX_EPSILON0 / 2),
            end=self.end,
        )
        return found, self.proof(found.upper)

    def _above_corners(self, delta: float) -> tuple[Interval, Proof] | None:
        """Look a little above the epsilon of datasets that may well be the worst ones."""
        if self.bits is None:
            return None
        corner = _corner_epsilon(self.bits, self.n, delta)
        for step, cuts in _STEPS:
            epsilon = corner.upper * (1 + step)
            if not 0 < epsilon < min(self.end, MAX_EPSILON0):
                break
            bound, proof = self._first_look(epsilon, delta, cuts)
            if exp_up(bound) <= delta:
                return Interval(min(corner.lower, epsilon), epsilon), proof
        return None

    def _attained(self, epsilon: float) -> Attained:
        """Return datasets that attain the lower end; with noise, whatever the others hold."""
        if self.bits is None or epsilon >= self.bits.epsilon0:
            return Attained(self.pair, self.pair.first)
        search = search_of(self.n, self.bits, epsilon)
        _, held = search.corners()
        return Attained(self.pair, held)


def view_in_words(randomizer: LocalRandomizer, view: View, crowd: Crowd) -> str:
    """Return what the analyst sees and what follows from it."""
    if view == "multiset":
        return "the shuffled multiset of whole reports"
    seen = randomizer.aggregate
    if isinstance(seen, SameAsMultiset):
        return f"the sum of the reports, which is as good as the multiset: {seen.reason}"
    if isinstance(seen, OnlyMultiset):
        return f"the sum of the reports; the guarantee is that of the multiset: {seen.reason}"
    if is_exact(randomizer, crowd):
        attributes = isinstance(seen, SeparateSums)
        return (
            "the sums of the reports alone, one for each attribute"
            if attributes
            else "the sum of the reports alone"
        )
    why = (
        "reports are learned adaptively"
        if crowd.corrupted_adaptively
        else f"sums of bits are analysed for up to {MAX_USERS:,} users"
    )
    return f"the sum of the reports; the guarantee is that of the multiset: {why}"


def tells_less(randomizer: LocalRandomizer) -> bool:
    """Whether the sum may tell less than the multiset."""
    return not isinstance(randomizer.aggregate, SameAsMultiset)


def is_exact(randomizer: LocalRandomizer, crowd: Crowd) -> bool:
    """Whether the privacy of the sum itself is computed."""
    seen = randomizer.aggregate
    if isinstance(seen, SameAsMultiset | OnlyMultiset) or crowd.corrupted_adaptively:
        return False
    return not isinstance(seen, BitSums) or crowd.honest <= MAX_USERS


def is_one_number(randomizer: LocalRandomizer, crowd: Crowd) -> bool:
    """Whether all that is seen of honest users is one noisy number, in either view.

    >>> from shuffledp import Laplace
    >>> is_one_number(Laplace(1.0), Crowd(9, corrupted=8)), is_one_number(Laplace(1.0), Crowd(9))
    (True, False)
    """
    return _is_noisy_number(randomizer) and crowd.honest == 1


def bound_of_one_number(randomizer: LocalRandomizer) -> Callable[[float], float] | None:
    """Return what bounds log delta of one noisy number; None if reports are something else."""
    if not _is_noisy_number(randomizer):
        return None
    evaluate, _ = _noise(randomizer, 1)
    return lambda epsilon: evaluate(epsilon).upper


def _is_noisy_number(randomizer: LocalRandomizer) -> bool:
    return isinstance(randomizer.aggregate, NormalSum | LaplaceSum | GeometricSum)


def _noise(randomizer: LocalRandomizer, n: int) -> tuple[Callable[[float], LogEnclosure], float]:
    """Return what encloses log delta, and from which epsilon on delta is 0."""
    seen = randomizer.aggregate
    if isinstance(seen, NormalSum):
        return _logs(lambda epsilon: normal_log_delta(seen.sigma, n, epsilon)), math.inf
    if isinstance(seen, LaplaceSum):
        level, steps = seen.epsilon0, seen.steps
        return _logs(lambda epsilon: laplace_log_delta(level, steps, n, epsilon)), level
    if isinstance(seen, GeometricSum):
        level, bound = seen.epsilon0, seen.bound
        return _logs(lambda epsilon: geometric_log_delta(level, bound, n, epsilon)), level
    if isinstance(seen, BitSums):
        return _bits(n, seen), seen.epsilon0
    raise TypeError(f"the reports of {randomizer} are not noisy numbers")


def _logs(enclose: Callable[[float], Interval]) -> Callable[[float], LogEnclosure]:
    def evaluate(epsilon: float) -> LogEnclosure:
        found = enclose(epsilon)
        return LogEnclosure(found.lower, found.upper)

    return evaluate


def search_of(n: int, seen: BitSums, epsilon: float) -> CountSearch:
    """Return the search for the largest delta of n users."""
    own, other = Bit(*seen.own), Bit(*seen.other)
    return CountSearch(own, other, n, seen.two_values, epsilon, seen.ones)


def _bits(n: int, seen: BitSums) -> Callable[[float], LogEnclosure]:
    """Return what encloses log delta over all datasets."""

    def evaluate(epsilon: float) -> LogEnclosure:
        if epsilon >= seen.epsilon0:
            return LogEnclosure(-math.inf, -math.inf)
        return in_logs(search_of(n, seen, epsilon).run())

    return evaluate


def _corner_epsilon(seen: BitSums, n: int, delta: float) -> Interval:
    """Enclose the epsilon of datasets that may well be the worst ones."""

    def attained(epsilon: float) -> LogEnclosure:
        search = search_of(n, seen, epsilon)
        return in_logs(search.corners()[0])

    first = min(math.sqrt(-log_target(delta).lower / n), seen.epsilon0 / 2)
    return cross(attained, delta, rtol=_FINE, start=first, end=seen.epsilon0)


def in_logs(bounds: Bounds) -> LogEnclosure:
    """Return the enclosure of the logarithm."""
    lower, upper = (math.log(end) if end > 0 else -math.inf for end in (bounds.lower, bounds.upper))
    return LogEnclosure.rounded(lower, upper, 4 * UNIT)
