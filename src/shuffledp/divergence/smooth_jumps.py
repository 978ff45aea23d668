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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from shuffledp.arrays import UNIT
from shuffledp.decomposition.smooth import TAIL_ERROR, Quadrature
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
class _Part:
    """A law and the logarithm of its probability."""

    law: SmoothLaw
    log_mass: float
    error: float


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
    divided = _divide(plan, epsilon)
    if divided is None or n < plan.orders:
        return _NOTHING
    rest, classes, gains = divided
    terms = list(_terms(rest, classes, n, plan.orders))
    if not all(can_be_positive(total) for _, _, total in terms):
        return _NOTHING
    above = [log + error + chernoff_log_mean(total) for log, error, total in terms]
    below = [-math.inf] * len(terms)
    for i in sorted(range(len(terms)), key=lambda i: -above[i]):
        log, error, total = terms[i]
        known = log_sum(below)
        if above[i] < known + math.log(_NEGLIGIBLE * rtol / len(terms)):
            continue
        tolerance = _SHARE_OF_TERM * rtol
        if known > -math.inf:
            tolerance *= math.exp(min(max(known - above[i] + _CHERNOFF, 0.0), 30.0))
        found = contour_log_mean(total, min(tolerance, _ROUGHEST), max_work)
        below[i] = log - error + found.lower
        above[i] = min(above[i], log + error + found.upper)
        if _log_gap(below[i], above[i]) > log_sum(below) + math.log(_FAR_TOO_WIDE * useful):
            return _NOTHING
    remainder = _remainder(plan.orders, rest, classes, gains, n)
    logs = (*below, *above, remainder)
    size = max((abs(x) for x in logs if math.isfinite(x)), default=0.0)
    most = log_sum([*above, remainder])
    # Sums of logarithms are rounded, and every summand of a sum of exponentials.
    slack = (len(terms) + 32) * UNIT * (1 + size)
    return LogEnclosure.rounded(log_sum(below), most, slack)


def _log_gap(below: float, above: float) -> float:
    """Return the logarithm of the difference of two exponentials, the second the larger one."""
    return above + math.log(-math.expm1(below - above)) if below < above else -math.inf


def _divide(plan: JumpRule, epsilon: float) -> tuple[_Part, list[_Part], float] | None:
    """Return the rest, the classes of jumps, and a bound on n = 1 times E[G_+; jump]."""
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
    law, coarse = fine.law(epsilon), rule.law(epsilon)
    if not (law.is_moderate and coarse.is_moderate):
        return None
    numbers = fine.panel_numbers(growing[0])
    classes = [
        _Part(
            law.given((numbers >= low) & (numbers < high), math.log(mass), error, atoms=False),
            math.log(mass),
            error + 8 * UNIT * abs(math.log(mass)),
        )
        for low, high, mass, error in zip(cuts, cuts[1:], masses, errors, strict=False)
    ]
    # The error of 1 - p is that of p.
    error = 8 * TAIL_ERROR * tails[0][2] + 4 * UNIT
    log_rest = math.log1p(-whole)
    kept = rule.panel_numbers(growing[0]) < plan.first
    rest = _Part(coarse.given(kept, log_rest, error, atoms=True), log_rest, error)
    return rest, classes, tails[0][0] * (1 + 4 * TAIL_ERROR)


def _terms(
    rest: _Part, classes: Sequence[_Part], n: int, orders: int
) -> Iterator[tuple[float, float, BlockSum]]:
    """Yield the logarithm of a coefficient, its error, and the sum whose mean it multiplies."""
    for count in range(orders):
        for chosen in combinations_with_replacement(range(len(classes)), count):
            times = Counter(chosen)
            ways = math.perm(n, count)
            for number in times.values():
                ways //= math.factorial(number)
            logs = [math.log(ways), (n - count) * rest.log_mass]
            logs += [number * classes[c].log_mass for c, number in times.items()]
            error = (n - count) * rest.error
            error += sum(number * classes[c].error for c, number in times.items())
            # A product and a sum per term; a logarithm has 4 units.
            error += (len(logs) + 6) * UNIT * sum(map(abs, logs))
            blocks = [(rest.law, n - count)] if n > count else []
            blocks += [(classes[c].law, number) for c, number in times.items()]
            yield sum(logs), error, BlockSum.of(*blocks)


def _remainder(orders: int, rest: _Part, classes: Sequence[_Part], gains: float, n: int) -> float:
    """Bound the logarithm of what ``orders`` jumps or more add."""
    log_rate = math.log(n) + log_sum(part.log_mass + part.error for part in classes)
    others = (orders - 1) * log_rate - math.log(math.factorial(orders - 1))
    jumps = math.log(n) + math.log(gains) + others
    bound = chernoff_bound(BlockSum.of((rest.law, n)))
    tilted = bound.tilted.laws[0]
    log_crowd = log_rate - tilted.log_mgf + tilted.log_mgf_error
    crowd = math.exp(min(log_crowd, 700.0))
    beside = bound.log_mean + orders * log_crowd - math.log(math.factorial(orders)) + crowd
    if log_crowd > 700:
        return math.inf
    sizes = [abs(x) for x in (log_rate, others, jumps, bound.log_mean, orders * log_crowd, crowd)]
    return log_sum([jumps, beside]) + 32 * UNIT * (1 + sum(sizes))
