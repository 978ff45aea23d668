r"""Large values of a continuous law as jumps, by quadrature.

Values beyond a level, which lie in the last panels of one piece, are jumps
(:mod:`shuffledp.divergence.jumps`). With p their probability, :math:`p_c` those of classes of
panels, R the law of all else and :math:`J_c` that of a class,

.. math:: E[S_+]=\sum_{k<m}\ \sum_{c_1\le\dots\le c_k}\text{ways}\;p_{c_1}\cdots p_{c_k}(1-p)^{n-k}
          E[(J_{c_1}+\dots+J_{c_k}+R_1+\dots+R_{n-k})_+]+\rho_m,

and every mean has a contour of its own. With :math:`\lambda=np` and
:math:`\Lambda=\lambda/E e^{\theta R}`, as there,

.. math:: 0\le\rho_m\le n\,E[G_+;\text{jump}]\,\frac{\lambda^{m-1}}{(m-1)!}
          +\frac{(E e^{\theta R})^n}{e\theta}\,\frac{\Lambda^m}{m!}\,e^\Lambda,

where the mean of the positive jumps is at most the mass of a beyond the level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT
from shuffledp.decomposition.smooth import TAIL_ERROR, Quadrature
from shuffledp.decomposition.smooth_rows import SmoothRows
from shuffledp.decomposition.transform import SmoothLaw
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.contour import chernoff_bound, chernoff_log_mean, contour_log_mean
from shuffledp.divergence.elementary import can_be_positive, log_sum
from shuffledp.divergence.enclosure import LogEnclosure

_MOST_JUMPS = 0.5  # their probability, for jumps to be rare
_NEGLIGIBLE = 0.02  # of the tolerance, shared by all terms
_SHARE_OF_TERM = 0.4
_ROUGHEST = 0.3
_FAR_TOO_WIDE = 3.0  # times the useful width: terms that follow add to the sum
_CHERNOFF = 1.5  # about how far a bound from one tilt lies above its logarithm
_MAX_LOG = 700.0
_NOTHING = LogEnclosure(-math.inf, math.inf)


@dataclass(frozen=True)
class JumpRule:
    """Which panels of the piece of large gains are jumps, and how many to follow.

    Attributes:
        rule: the quadrature of the rest.
        first: the number of its first panel that is left to the jumps.
        fine: the quadrature of the jumps, with the same end.
        cuts: numbers of its panels at which classes begin, and the number of all panels; the first
            class begins where the rest ends.
        orders: fewer jumps than these are followed.
    """

    rule: Quadrature
    first: int
    fine: Quadrature
    cuts: tuple[int, ...]
    orders: int

    @property
    def level(self) -> float:
        """Where jumps begin, along the piece."""
        return float(self.rule.panels.edges[self.first])

    @property
    def end(self) -> float:
        """Where they end."""
        return float(self.rule.panels.edges[-1])

    @property
    def is_whole(self) -> bool:
        """Whether rest and classes are all of the law, and nothing twice."""
        coarse, fine, cuts = self.rule.panels.edges, self.fine.panels.edges, self.cuts
        return bool(
            self.rule.pieces == self.fine.pieces
            and 0 < self.first < coarse.size - 1
            and list(cuts) == sorted(set(cuts))
            and cuts[0] > 0
            and cuts[-1] == fine.size - 1
            and coarse[self.first] == fine[cuts[0]]
            and coarse[-1] == fine[-1]
        )


@dataclass(frozen=True, eq=False)
class Part:
    """Some panels of a rule: the logarithm of their probability, and a bound on its error.

    ``atoms`` tells whether all that is not in panels belongs to them.
    """

    panels: NDArray[np.bool_]
    log_mass: float
    error: float
    atoms: bool = False

    def of(self, law: SmoothLaw) -> SmoothLaw:
        """Return the law of an output that lies there."""
        return law.given(self.panels, self.log_mass, self.error, atoms=self.atoms)

    def of_rows(self, laws: SmoothRows) -> SmoothRows:
        """Do the same for the laws of several rows."""
        return laws.given(self.panels, self.log_mass, self.error, atoms=self.atoms)


@dataclass(frozen=True, eq=False)
class Division:
    """The rest of a law and the classes of its jumps; none of it depends on epsilon.

    Attributes:
        rest: what never jumps.
        classes: of jumps.
        gains: bound on E[G_+; jump].
        orders: fewer jumps than these are followed.
    """

    rest: Part
    classes: list[Part]
    gains: float
    orders: int

    def choices(self) -> list[Counter[int]]:
        """Return all terms: how many jumps of which classes there are."""
        numbers = range(len(self.classes))
        return [
            Counter(chosen)
            for count in range(self.orders)
            for chosen in combinations_with_replacement(numbers, count)
        ]

    def coefficient(self, n: int, chosen: Counter[int]) -> tuple[float, float]:
        """Return the logarithm of what the mean of a term is multiplied with, and its error."""
        count = chosen.total()
        ways = math.perm(n, count)
        for number in chosen.values():
            ways //= math.factorial(number)
        logs = [math.log(ways), (n - count) * self.rest.log_mass]
        logs += [number * self.classes[c].log_mass for c, number in chosen.items()]
        error = (n - count) * self.rest.error
        error += sum(number * self.classes[c].error for c, number in chosen.items())
        # A product and a sum per term; a logarithm has 4 units.
        return sum(logs), error + (len(logs) + 6) * UNIT * sum(map(abs, logs))

    def remainder(self, n: int, log_mean: float, log_mgf: float, log_mgf_error: float) -> float:
        """Bound the logarithm of what ``orders`` jumps or more add.

        Args:
            n: number of summands.
            log_mean: bound on log E[S_+] from one tilt, if no summand jumps.
            log_mgf: the logarithm of E e^{theta R} at that tilt.
            log_mgf_error: bound on its error.
        """
        orders = self.orders
        log_rate = math.log(n) + log_sum(part.log_mass + part.error for part in self.classes)
        others = (orders - 1) * log_rate - math.log(math.factorial(orders - 1))
        jumps = math.log(n) + math.log(self.gains) + others
        log_crowd = log_rate - log_mgf + log_mgf_error
        if not log_crowd <= _MAX_LOG:
            return math.inf
        crowd = math.exp(log_crowd)
        beside = log_mean + orders * log_crowd - math.log(math.factorial(orders)) + crowd
        sizes = [abs(x) for x in (log_rate, others, jumps, log_mean, orders * log_crowd, crowd)]
        return log_sum([jumps, beside]) + 32 * UNIT * (1 + sum(sizes))


def divide(plan: JumpRule) -> Division | None:
    """Return what a plan makes of the law; None if something is left out, or jumps are common."""
    rule, fine, cuts = plan.rule, plan.fine, plan.cuts
    growing = [i for i, piece in enumerate(rule.pieces) if piece.rate0 > 0 == piece.rate1]
    if len(growing) != 1 or not plan.is_whole:
        return None
    piece = rule.pieces[growing[0]]
    tails = [piece.tail(float(fine.panels.edges[cut])) for cut in cuts]
    # Masses of panels are differences of tails, each good to TAIL_ERROR of itself.
    masses = [tails[i][2] - tails[i + 1][2] for i in range(len(cuts) - 1)]
    whole = tails[0][2] - tails[-1][2]
    errors = [
        4 * TAIL_ERROR * (tails[i][2] + tails[i + 1][2]) / mass if mass > 0 else math.inf
        for i, mass in enumerate(masses)
    ]
    if not (whole < _MOST_JUMPS and max(errors) < 1e-3):
        return None
    numbers = fine.panel_numbers(growing[0])
    classes = [
        Part(
            (numbers >= low) & (numbers < high),
            math.log(mass),
            error + 8 * UNIT * abs(math.log(mass)),
        )
        for low, high, mass, error in zip(cuts, cuts[1:], masses, errors, strict=False)
    ]
    # The error of 1 - p is that of p.
    error = 8 * TAIL_ERROR * tails[0][2] + 4 * UNIT
    kept = rule.panel_numbers(growing[0]) < plan.first
    rest = Part(kept, math.log1p(-whole), error, atoms=True)
    return Division(rest, classes, tails[0][0] * (1 + 4 * TAIL_ERROR), plan.orders)


class Terms:
    """Bounds on the terms of a sum, the largest of which are sharpened first.

    Args:
        coefficients: logarithms of what the mean of each is multiplied with, and their errors.
        bounds: bounds on the logarithms of these means.
        rtol: the relative width of the sum to aim for.
    """

    def __init__(
        self, coefficients: Sequence[tuple[float, float]], bounds: Sequence[float], rtol: float
    ) -> None:
        self.coefficients, self.rtol = coefficients, rtol
        pairs = zip(coefficients, bounds, strict=True)
        self.above = [log + error + bound for (log, error), bound in pairs]
        self.below = [-math.inf] * len(self.above)
        self.order = sorted(range(len(self.above)), key=lambda i: -self.above[i])

    def tolerance(self, i: int) -> float | None:
        """Return how closely to look at the mean of a term; None if it is negligible."""
        known = log_sum(self.below)
        if self.above[i] < known + math.log(_NEGLIGIBLE * self.rtol / len(self.above)):
            return None
        tolerance = _SHARE_OF_TERM * self.rtol
        if known > -math.inf:
            tolerance *= math.exp(0.5 * min(max(known - self.above[i] + _CHERNOFF, 0.0), 30.0))
        return min(tolerance, _ROUGHEST)

    def learn(self, i: int, found: LogEnclosure) -> None:
        """Remember what is known of the logarithm of the mean of a term."""
        log, error = self.coefficients[i]
        self.below[i] = log - error + found.lower
        self.above[i] = min(self.above[i], log + error + found.upper)

    def is_too_wide(self, i: int, useful: float) -> bool:
        """Whether one term alone makes the sum wider than is useful, by far."""
        below, above = self.below[i], self.above[i]
        log_gap = above + math.log(-math.expm1(below - above)) if below < above else -math.inf
        return log_gap > log_sum(self.below) + math.log(_FAR_TOO_WIDE * useful)

    def enclosure(self, remainder: float) -> LogEnclosure:
        """Enclose the logarithm of the sum of all terms and of a remainder between 0 and this."""
        logs = (*self.below, *self.above, remainder)
        size = max((abs(x) for x in logs if math.isfinite(x)), default=0.0)
        most = log_sum([*self.above, remainder])
        # Sums of logarithms are rounded, and every summand of a sum of exponentials.
        slack = (len(self.above) + 32) * UNIT * (1 + size)
        return LogEnclosure.rounded(log_sum(self.below), most, slack)


def log_mean_with_jumps(
    plan: JumpRule,
    n: int,
    epsilon: float,
    rtol: float,
    max_work: float,
    useful: float = math.inf,
) -> LogEnclosure:
    """Enclose log E[S_+] of the law up to the end of its quadrature; any plan gives a valid one.

    Nothing is said where one term alone makes the enclosure wider than is ``useful``, by far.
    """
    division = divide(plan)
    if division is None or n < plan.orders:
        return _NOTHING
    fine, coarse = plan.fine.law(epsilon), plan.rule.law(epsilon)
    if not (fine.is_moderate and coarse.is_moderate):
        return _NOTHING
    rest, classes = division.rest.of(coarse), [part.of(fine) for part in division.classes]
    choices = division.choices()
    totals = []
    for chosen in choices:
        others = n - chosen.total()
        blocks = [(rest, others)] if others else []
        blocks += [(classes[c], number) for c, number in chosen.items()]
        totals.append(BlockSum.of(*blocks))
    if not all(map(can_be_positive, totals)):
        return _NOTHING
    coefficients = [division.coefficient(n, chosen) for chosen in choices]
    terms = Terms(coefficients, list(map(chernoff_log_mean, totals)), rtol)
    for i in terms.order:
        if (tolerance := terms.tolerance(i)) is not None:
            terms.learn(i, contour_log_mean(totals[i], tolerance, max_work))
            if terms.is_too_wide(i, useful):
                return _NOTHING
    bound = chernoff_bound(BlockSum.of((rest, n)))
    tilted = bound.tilted.laws[0]
    remainder = division.remainder(n, bound.log_mean, tilted.log_mgf, tilted.log_mgf_error)
    return terms.enclosure(remainder)
