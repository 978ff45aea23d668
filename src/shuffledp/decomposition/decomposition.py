"""General-clone decompositions of a local randomizer at a pair of inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.arithmetic import (
    clusters,
    distance,
    finite_or_zero,
    log_quotient,
    two_sum,
    vector,
)
from shuffledp.decomposition.boxes import choose_log_edges, gather, lattice_edges
from shuffledp.decomposition.components import MAX_LOG_RATIO, Components
from shuffledp.decomposition.gains import gains
from shuffledp.decomposition.gparv import GPARV, Law
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.decomposition.masses import LOG_ERROR_UNITS, Masses, exact_sum, log_of
from shuffledp.decomposition.mixture import mix
from shuffledp.decomposition.product import multiply
from shuffledp.errors import MAX_EPSILON0, check_integer, check_real
from shuffledp.interval import Interval

if TYPE_CHECKING:
    from shuffledp.decomposition.smooth import Smooth

#: Masses further from the sum 1 are a mistake, not rounding. They are divided by their exact sum,
#: so nothing of what is tolerated is lost.
_TOLERANCE = 1e-12

#: Exact coefficients c below this count as 0.
_SMALLEST_WEIGHT = 1e-290


@dataclass(frozen=True, eq=False, kw_only=True)
class Decomposition(Components):
    r"""A decomposition :math:`R(x_1^0)=\sum a_jQ_j,\ R(x_1^1)=\sum b_jQ_j,\ R(x_i)\ge\sum c_jQ_j`.

    It is stored through the ratios :math:`a_j/c_j` and :math:`b_j/c_j` (as logarithms, so that
    tiny privacy levels keep their relative accuracy), the weights :math:`c_j` and the residual
    :math:`\beta = 1-\sum c_j` of the left-over laws. The blanket decomposition, with
    :math:`c = \inf_x R(x)`, is the optimal one (paper, section 4). Components with a = b = 0 reveal
    nothing and are counted into the residual.

    Attributes:
        log_ratio0: log(a/c) of each component; minus infinity where a = 0.
        log_ratio1: log(b/c) of each component; minus infinity where b = 0.
        weight: c of each component, greater than 0.
        residual: mass of the left-over laws.
        log_ratio_error: bound on the absolute rounding error of both logarithms of a component.
        weight_error: bound on the relative rounding error of each weight.
        residual_error: bound on the relative rounding error of the residual.
        singular0: a of the components with c = 0 (no absolute continuity).
        singular1: b of the components with c = 0.
        singular_error: bound on the relative rounding error of both.
        spread: None if the components are atoms. If they are cells (each standing for a range
            of ratios, represented by its mean), a decomposition into the end points of the
            cells with the same means: it dominates in convex order.

    >>> d = Decomposition.from_coefficients([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25] * 3)
    >>> [round(float(r), 12) for r in d.ratio0], d.residual
    ([2.0, 1.0, 1.0], 0.25)
    >>> d.at(0.0).lower.values.round(12).tolist()
    [1.0, -1.0, 0.0, 0.0]
    """

    #: The continuous law that the cells stand for, if it is known, as that of a ``Continuous`` one.
    #: Whatever is made from a decomposition has none (``replace`` leaves it out).
    smooth: Smooth | None = field(default=None, init=False, repr=False)

    @property
    def sketch(self) -> Decomposition:
        """A decomposition close to this one, with fewer components if it can be: for estimates."""
        return self if self.smooth is None or self.smooth.is_steep else self.smooth.sketch

    @cached_property
    def start(self) -> Law:
        """The law of G at epsilon = 0, of the sketch: for estimates."""
        return self.sketch.at(0.0).lower

    @classmethod
    def silent(cls) -> Decomposition:
        """Return that of one output, which all inputs produce: it reveals nothing.

        >>> Decomposition.silent().at(0.0).lower.values.tolist()
        [0.0]
        """
        zero, one = np.zeros(1), np.ones(1)
        return cls(log_ratio0=zero, log_ratio1=zero, weight=one, residual=0.0, weight_error=zero)

    @classmethod
    def from_coefficients(
        cls, a: ArrayLike, b: ArrayLike, c: ArrayLike, *, residual: float | None = None
    ) -> Decomposition:
        """Build a decomposition from the coefficients a, b, c of its components.

        Components with c = 0 become singular ones. a and b stand for the laws they are proportional
        to: they are divided by their exact sums, which are 1 up to rounding. Unless given,
        ``residual`` is exactly 1 - sum(c); a c that rounding made too large is divided by its sum.

        >>> d = Decomposition.from_coefficients([0.5, 0.5], [0.5, 0.5], [0.0, 0.5])
        >>> d.singular0.tolist(), d.residual
        ([0.5], 0.5)
        """
        a, b, c = vector("a", a), vector("b", b), vector("c", c)
        if not a.size == b.size == c.size:
            raise ValueError(
                f"a, b and c must have the same length, got {a.size}, {b.size} and {c.size}"
            )
        for name, masses in (("a", a), ("b", b), ("c", c)):
            if not ((masses >= 0) & (masses < math.inf)).all():
                raise ValueError(f"{name} must be at least 0 and finite, got {masses!r}")
        tolerance = max(_TOLERANCE, 8 * a.size * UNIT)
        for name, masses in (("a", a), ("b", b)):
            if abs((total := exact_sum(masses.tolist())) - 1) > tolerance:
                raise ValueError(f"the masses of {name} must sum to 1, got {float(total)!r}")
        common = Masses(c, np.array(0.0))
        error = 4 * UNIT
        if residual is None:
            rest = 1 - exact_sum(c.tolist())
            if rest < -tolerance:
                raise ValueError(
                    f"the masses of weight plus residual must sum to 1, got {float(1 - rest)!r}"
                )
            if rest < 0:
                common, rest = Masses.normalised(c), Fraction(0)
            residual, error = float(rest), UNIT
        return cls.from_masses(
            Masses.normalised(a),
            Masses.normalised(b),
            common,
            residual=residual,
            residual_error=error,
        )

    @classmethod
    def from_masses(
        cls, a: Masses, b: Masses, c: Masses, *, residual: float, residual_error: float
    ) -> Decomposition:
        """Build a decomposition from coefficients with exact sums and the residual that fits."""
        covered = c.values > 0
        singular = ~covered & ((a.values > 0) | (b.values > 0))
        common = c.of(covered)
        (log0, error0), (log1, error1) = (x.of(covered).log_over(common) for x in (a, b))
        return cls(
            log_ratio0=log0,
            log_ratio1=log1,
            weight=common.doubles(),
            residual=residual,
            log_ratio_error=np.maximum(error0, error1),
            weight_error=np.array(8 * UNIT),
            residual_error=residual_error,
            singular0=a.of(singular).doubles(),
            singular1=b.of(singular).doubles(),
        )

    @classmethod
    def from_fractions(
        cls, a: Sequence[Fraction], b: Sequence[Fraction], c: Sequence[Fraction]
    ) -> Decomposition:
        """Build a decomposition from exact coefficients; a and b have the sum 1.

        Components with c below 1e-290, or a/c or b/c near e**600, count as ones with c = 0, which
        makes the common part smaller.

        >>> third = Fraction(1, 3)
        >>> d = Decomposition.from_fractions([2 * third, third], [third, 2 * third], [third] * 2)
        >>> d.weight.tolist() == [1 / 3] * 2, d.residual == 1 / 3
        (True, True)
        """
        limit = Fraction(math.exp(MAX_LOG_RATIO - 1))
        covered, singular = [], []
        for row in zip(a, b, c, strict=True):
            large = max(row[:2])
            if row[2] >= _SMALLEST_WEIGHT and large <= limit * row[2]:
                covered.append(row)
            elif large > 0:
                singular.append(row)
        logs = np.array(
            [[log_of(x / row[2]) if x else -math.inf for x in row[:2]] for row in covered]
        ).reshape(-1, 2)
        return cls(
            log_ratio0=logs[:, 0],
            log_ratio1=logs[:, 1],
            weight=np.array([float(row[2]) for row in covered]),
            residual=float(1 - sum((row[2] for row in covered), Fraction(0))),
            log_ratio_error=LOG_ERROR_UNITS * UNIT * np.abs(finite_or_zero(logs)).max(axis=1),
            singular0=np.array([_round_up(row[0]) for row in singular]),
            singular1=np.array([float(row[1]) for row in singular]),
        )

    @property
    def upper(self) -> Decomposition:
        """The decomposition that dominates in convex order: ``spread``, or itself for atoms."""
        return self if self.spread is None else self.spread

    @property
    def max_epsilon(self) -> float:
        """An epsilon at which the bound is 0, the smallest up to rounding; it may be infinite."""
        return self.max_epsilon_interval().upper

    @property
    def is_singular(self) -> bool:
        """Whether there are components with c = 0, here or in what dominates."""
        return self.singular0.size + self.upper.singular0.size > 0

    def max_epsilon_interval(self) -> Interval:
        """Enclose the smallest epsilon at which the bound is 0; infinite if some b is 0."""
        return Interval(self._max_log_ratio.lower, self.upper._max_log_ratio.upper)

    @cached_property
    def _max_log_ratio(self) -> Interval:
        ratios, rounding = two_sum(self.log_ratio0, -self.log_ratio1)
        exposed = self.singular0 > 0
        singular = log_quotient(self.singular0[exposed], self.singular1[exposed])
        slack = 2 * self.singular_error + 4 * UNIT * np.abs(finite_or_zero(singular))
        errors = np.concatenate([2 * self.log_ratio_error + rounding, slack])
        candidates = np.concatenate([ratios, singular])
        exact = (errors == 0) | np.isinf(candidates)
        lower = np.where(exact, candidates, np.nextafter(candidates - errors, -np.inf))
        upper = np.where(exact, candidates, np.nextafter(candidates + errors, np.inf))
        return Interval(float(lower.max()), float(upper.max()))

    def merge(self) -> Decomposition:
        """Merge components of equal ratios: the simplified decomposition (paper, theorem 7).

        Ratios count as equal when they differ by no more than their rounding errors; how far they
        are moved is added to their errors.

        >>> d = Decomposition.from_coefficients([0.25] * 4, [0.25] * 4, [0.25] * 4)
        >>> d.merge().size
        1
        """
        if self.size == 0:
            return self
        label0 = clusters(self.log_ratio0, self.log_ratio_error)
        label1 = clusters(self.log_ratio1, self.log_ratio_error)
        key = label0 * (int(label1.max()) + 1) + label1
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        log0, log1 = self.log_ratio0[first], self.log_ratio1[first]
        moved = np.maximum(
            distance(self.log_ratio0, log0[group]), distance(self.log_ratio1, log1[group])
        )
        error = np.zeros(first.size)
        np.maximum.at(error, group, self.log_ratio_error + moved)
        weight, weight_error = self.group_weights(group)
        return replace(
            self,
            log_ratio0=log0,
            log_ratio1=log1,
            weight=weight,
            log_ratio_error=error * (1 + 4 * UNIT),
            weight_error=weight_error,
            spread=None if self.spread is None else self.spread.merge(),
        )

    def group_weights(self, group: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the total weight of each group and its relative error.

        A sum of positive numbers is relatively as good as the worst of them, up to rounding.
        """
        error = np.zeros(int(group.max()) + 1)
        np.maximum.at(error, group, self.weight_error)
        weight = np.bincount(group, self.weight).astype(np.float64)
        return weight, error + np.bincount(group) * UNIT * (1 + error)

    def swap(self) -> Decomposition:
        """Return the decomposition of the reversed pair."""
        return replace(
            self,
            log_ratio0=self.log_ratio1,
            log_ratio1=self.log_ratio0,
            singular0=self.singular1,
            singular1=self.singular0,
            spread=None if self.spread is None else self.spread.swap(),
        )

    def product(self, other: Decomposition) -> Decomposition:
        """Return the Cartesian product: the joint composition of two reports (paper, section 4.5).

        >>> d = Decomposition.from_coefficients([0.6, 0.4], [0.4, 0.6], [0.4, 0.4])
        >>> joint = d.product(d)
        >>> joint.size, round(joint.residual, 12)
        (4, 0.36)
        """
        return multiply(self, other)

    @staticmethod
    def mixture(weights: Sequence[float], parts: Sequence[Decomposition]) -> Decomposition:
        """Return the weighted combination: parallel composition (paper, section 4.6).

        The weights are divided by their sum, which is 1 up to rounding.

        >>> d = Decomposition.from_coefficients([0.6, 0.4], [0.4, 0.6], [0.4, 0.4])
        >>> Decomposition.mixture([0.5, 0.5], [d, d]).merge().size
        2
        """
        return mix(weights, parts)

    def coarsen(self, max_components: int) -> Decomposition:
        """Return at most about ``max_components`` cells that enclose this decomposition.

        The plane of ratios is cut into a grid of boxes. The components of one box are replaced
        by their mean (a contraction in convex order) and, in ``spread``, by the corners of the
        box with bilinear weights (a spread): the true bound lies between the two for every
        epsilon and n.
        """
        limit = check_integer("max_components", max_components, 4)
        if max(self.size, self.upper.size) <= limit:
            return self
        return gather(self, *choose_log_edges(self.upper, limit))

    def coarsen_to_lattice(self, step: float) -> Decomposition:
        """Return cells whose corners lie on the lattice of multiples of ``step`` of both logs.

        Ratios that are 0 stay as they are. Products of such decompositions stay on the lattice.
        """
        return gather(self, *lattice_edges(self.upper, step))

    def at(self, epsilon: float) -> GPARV:
        r"""Return the law of :math:`G=a_j/c_j-e^\varepsilon b_j/c_j` and its rounding errors."""
        epsilon = check_real("epsilon", epsilon)
        if abs(epsilon) > MAX_EPSILON0:
            raise ValueError(f"epsilon must lie in [-300, 300], got {epsilon!r}")
        lower = self._law(epsilon)
        upper = lower if self.spread is None else self.spread._law(epsilon)
        singular_lower, _ = self._singular(epsilon)
        _, singular_upper = self.upper._singular(epsilon)
        return GPARV(lower, upper, singular_lower, singular_upper)

    def rows_at(self, epsilons: FloatArray) -> LawRows:
        """Return the laws of G at several epsilons, one row for each, of atoms only.

        They are those of :meth:`at`, up to the last bits of elementary functions.

        >>> d = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
        >>> d.rows_at(np.array([0.0, 1.0])).values.shape  # the residual is an atom as well
        (2, 3)
        """
        values, error = gains(self, epsilons[:, None])
        weights, weight_error = self._atom_weights
        if self.residual > 0:
            nothing = np.zeros((epsilons.size, 1))
            values, error = np.hstack([values, nothing]), np.hstack([error, nothing])
        shape = values.shape
        return LawRows(
            values, np.broadcast_to(weights, shape), error, np.broadcast_to(weight_error, shape)
        )

    def _law(self, epsilon: float) -> Law:
        values, error = gains(self, epsilon)
        weights, weight_error = self._atom_weights
        if self.residual > 0:
            values, error = np.append(values, 0.0), np.append(error, 0.0)
        return Law(values, weights, error, weight_error)

    @cached_property
    def _atom_weights(self) -> tuple[FloatArray, FloatArray]:
        """The weights of all atoms, that of the residual last, and errors of their logarithms."""
        weights, errors = self.weight, self.weight_error
        if self.residual > 0:
            weights = np.append(weights, self.residual)
            errors = np.append(errors, self.residual_error)
        log_errors = -np.log1p(-errors)
        for shared in (weights, log_errors):
            shared.setflags(write=False)
        return weights, log_errors

    def _singular(self, epsilon: float) -> tuple[float, float]:
        """Return the sum of (a - e^epsilon b)_+ over c = 0, rounded down and up."""
        if self.singular0.size == 0:
            return 0.0, 0.0
        slack = self.singular_error + UNIT * (8 + 2 * abs(epsilon) + self.singular0.size)
        a, b = self.singular0, np.exp(epsilon) * self.singular1
        lower = np.maximum(a * (1 - slack) - b * (1 + slack), 0).sum() * (1 - slack)
        upper = np.maximum(a * (1 + slack) - b * (1 - slack), 0).sum() * (1 + slack)
        return float(lower), float(upper)


def _round_up(mass: Fraction) -> float:
    """Return the nearest double, the smallest normal one for positive numbers below that."""
    return max(float(mass), 2.0**-1022) if mass else 0.0
