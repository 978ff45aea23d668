"""General-clone decompositions of a local randomizer at a pair of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.decomposition.arithmetic import (
    UNIT,
    FloatArray,
    clusters,
    distance,
    finite_or_zero,
    log_quotient,
    outer_sum,
    two_sum,
    vector,
)
from shuffledp.decomposition.cells import boxes, choose_axes, split_to_corners
from shuffledp.decomposition.components import Components
from shuffledp.decomposition.gparv import GPARV, Law
from shuffledp.errors import MAX_EPSILON0, check_integer, check_real
from shuffledp.interval import Interval

#: Products of weights below e**-660 are kept apart: they would leave the range of doubles.
_LOG_TINY = -660.0


@dataclass(frozen=True, eq=False)
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

    @classmethod
    def from_coefficients(
        cls, a: ArrayLike, b: ArrayLike, c: ArrayLike, *, residual: float | None = None
    ) -> Decomposition:
        """Build a decomposition from the coefficients a, b, c of its components.

        Components with c = 0 become singular ones. ``residual`` is 1 - sum(c) unless given;
        rounding noise below 1e-12 counts as no residual.

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
            if not (masses >= 0).all():
                raise ValueError(f"{name} must be at least 0, got {masses!r}")
        covered = c > 0
        singular = ~covered & ((a > 0) | (b > 0))
        log0, log1 = log_quotient(a[covered], c[covered]), log_quotient(b[covered], c[covered])
        residual_error = 4 * UNIT
        if residual is None:
            gap = 1.0 - float(c.sum())
            residual = gap if gap > 1e-12 else 0.0
            residual_error = min((c.size + 4) * UNIT / residual, 0.5) if residual else 0.0
        largest = np.maximum(np.abs(finite_or_zero(log0)), np.abs(finite_or_zero(log1)))
        return cls(
            log0,
            log1,
            c[covered],
            residual,
            log_ratio_error=4 * UNIT * largest,
            residual_error=residual_error,
            singular0=a[singular],
            singular1=b[singular],
        )

    @property
    def upper(self) -> Decomposition:
        """The decomposition that dominates in convex order: ``spread``, or itself for atoms."""
        return self if self.spread is None else self.spread

    @property
    def max_epsilon(self) -> float:
        """An epsilon at which the bound is 0, the smallest up to rounding; it may be infinite."""
        return self.max_epsilon_interval().upper

    def max_epsilon_interval(self) -> Interval:
        """Enclose the smallest epsilon at which the bound is 0; infinite if some b is 0."""
        return Interval(self._max_log_ratio().lower, self.upper._max_log_ratio().upper)

    def _max_log_ratio(self) -> Interval:
        ratios, rounding = two_sum(self.log_ratio0, -self.log_ratio1)
        exposed = self.singular0 > 0
        singular = log_quotient(self.singular0[exposed], self.singular1[exposed])
        slack = 2 * self.singular_error + 4 * UNIT * np.abs(finite_or_zero(singular))
        errors = np.concatenate([2 * self.log_ratio_error + rounding, slack])
        candidates = np.concatenate([ratios, singular])
        exact = errors == 0
        lower = np.where(exact, candidates, np.nextafter(candidates - errors, -np.inf))
        upper = np.where(exact, candidates, np.nextafter(candidates + errors, np.inf))
        return Interval(float(lower.max()), float(upper.max()))

    def merge(self) -> Decomposition:
        """Merge components of equal ratios: the simplified decomposition (paper, theorem 7).

        Ratios count as equal when they differ by no more than their rounding errors.

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
        weight, weight_error = self._group_weights(group)
        return self._with_components(
            (log0, log1, weight, error, weight_error),
            None if self.spread is None else self.spread.merge(),
        )

    def _group_weights(self, group: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Return the total weight of each group and its relative error."""
        error = np.zeros(int(group.max()) + 1)
        np.maximum.at(error, group, self.weight_error)
        weight = np.bincount(group, self.weight).astype(np.float64)
        return weight, error + np.bincount(group) * UNIT

    def _with_components(
        self, components: Sequence[FloatArray], spread: Decomposition | None
    ) -> Decomposition:
        log0, log1, weight, log_error, weight_error = components
        return Decomposition(
            log0,
            log1,
            weight,
            self.residual,
            log_error,
            weight_error,
            self.residual_error,
            self.singular0,
            self.singular1,
            self.singular_error,
            spread,
        )

    def swap(self) -> Decomposition:
        """Return the decomposition of the reversed pair."""
        return Decomposition(
            self.log_ratio1,
            self.log_ratio0,
            self.weight,
            self.residual,
            self.log_ratio_error,
            self.weight_error,
            self.residual_error,
            self.singular1,
            self.singular0,
            self.singular_error,
            None if self.spread is None else self.spread.swap(),
        )

    def product(self, other: Decomposition) -> Decomposition:
        """Return the Cartesian product: the joint composition of two reports (paper, section 4.5).

        >>> d = Decomposition.from_coefficients([0.6, 0.4], [0.4, 0.6], [0.4, 0.4])
        >>> joint = d.product(d)
        >>> joint.size, round(joint.residual, 12)
        (4, 0.36)
        """
        atoms = self.spread is None and other.spread is None
        if atoms and not self._underflows(other):
            return self._product(other, None)
        return self._product(other, self.upper._product(other.upper, None, expose=True))

    def _underflows(self, other: Decomposition) -> bool:
        """Whether some product of weights leaves the range of doubles."""
        if self.size == 0 or other.size == 0:
            return False
        return bool(np.log(self.weight.min()) + np.log(other.weight.min()) < _LOG_TINY)

    def _product(
        self, other: Decomposition, spread: Decomposition | None, *, expose: bool = False
    ) -> Decomposition:
        """Multiply atoms. Components of tiny weight are exposed or absorbed.

        Exposed ones become singular, which is a smaller blanket: a spread. Absorbed ones are
        merged with the lightest of the others, at the mean of both: a contraction.
        """
        log0, error0 = outer_sum(self.log_ratio0, other.log_ratio0)
        log1, error1 = outer_sum(self.log_ratio1, other.log_ratio1)
        error = np.add.outer(self.log_ratio_error, other.log_ratio_error).ravel()
        error += np.maximum(error0, error1)
        weight = np.outer(self.weight, other.weight).ravel()
        weight_error = np.add.outer(self.weight_error, other.weight_error)
        weight_error += np.multiply.outer(self.weight_error, other.weight_error)
        weight_error = weight_error.ravel() + 2 * UNIT
        singular0 = self._product_singular(other, "0")
        singular1 = self._product_singular(other, "1")
        singular_error = self.singular_error + other.singular_error + 8 * UNIT
        if error.size:
            singular_error += float((error + weight_error).max())
        if self._underflows(other):
            log_weight = np.add.outer(np.log(self.weight), np.log(other.weight)).ravel()
            tiny = log_weight < _LOG_TINY
            masses = np.exp(log_weight[tiny] + np.array((log0[tiny], log1[tiny])))
            singular_error += 2000 * UNIT
            log0, log1, weight = log0[~tiny], log1[~tiny], weight[~tiny]
            error, weight_error = error[~tiny], weight_error[~tiny]
            if expose:
                singular0 = np.concatenate([singular0, masses[0]])
                singular1 = np.concatenate([singular1, masses[1]])
            else:
                lightest = int(np.argmin(weight))
                for logs, mass in ((log0, masses[0].sum()), (log1, masses[1].sum())):
                    logs[lightest] = np.log(np.exp(logs[lightest]) + mass / weight[lightest])
                error[lightest] += 1e-12
        return Decomposition(
            log0,
            log1,
            weight,
            self.residual + other.residual * (1 - self.residual),
            error,
            weight_error,
            2 * (self.residual_error + other.residual_error) + 4 * UNIT,
            singular0,
            singular1,
            singular_error,
            spread,
        )

    def _product_singular(self, other: Decomposition, which: str) -> FloatArray:
        """Return the masses of outputs one part of which only the differing user can produce."""

        def masses(d: Decomposition) -> tuple[FloatArray, FloatArray]:
            ratio = np.exp(getattr(d, f"log_ratio{which}"))
            return d.weight * ratio, getattr(d, f"singular{which}")

        (mine, my_singular), (theirs, their_singular) = masses(self), masses(other)
        either = np.concatenate([theirs, their_singular])
        return np.concatenate(
            [np.outer(my_singular, either).ravel(), np.outer(mine, their_singular).ravel()]
        )

    @staticmethod
    def mixture(weights: Sequence[float], parts: Sequence[Decomposition]) -> Decomposition:
        """Return the weighted combination: parallel composition (paper, section 4.6).

        >>> d = Decomposition.from_coefficients([0.6, 0.4], [0.4, 0.6], [0.4, 0.4])
        >>> Decomposition.mixture([0.5, 0.5], [d, d]).merge().size
        2
        """
        if not parts or len(weights) != len(parts):
            raise ValueError(
                f"weights and parts must be non-empty and of equal length, got {len(weights)} "
                f"and {len(parts)}"
            )
        shares = [check_real("weights", w) for w in weights]
        excess = abs(sum(shares) - 1)
        if min(shares) <= 0 or excess > 1e-12:
            raise ValueError(f"weights must be positive and sum to 1, got {shares!r}")
        spread = None
        if any(part.spread is not None for part in parts):
            spread = Decomposition.mixture(shares, [part.upper for part in parts])
        slack = 2 * UNIT + excess
        scaled = list(zip(shares, parts, strict=True))
        return Decomposition(
            np.concatenate([part.log_ratio0 for part in parts]),
            np.concatenate([part.log_ratio1 for part in parts]),
            np.concatenate([share * part.weight for share, part in scaled]),
            sum(share * part.residual for share, part in scaled),
            np.concatenate([part.log_ratio_error for part in parts]),
            np.concatenate([part.weight_error for part in parts]) + slack,
            max(part.residual_error for part in parts) + len(parts) * UNIT + slack,
            np.concatenate([share * part.singular0 for share, part in scaled]),
            np.concatenate([share * part.singular1 for share, part in scaled]),
            max(part.singular_error for part in parts) + slack,
            spread,
        )

    def coarsen(self, max_components: int) -> Decomposition:
        """Return at most about ``max_components`` cells that enclose this decomposition.

        The plane of ratios is cut into a grid of boxes. The components of one box are replaced
        by their mean (a contraction in convex order) and, in ``spread``, by the corners of the
        box with bilinear weights (a spread): the true bound lies between the two for every
        epsilon and n.
        """
        limit = check_integer("max_components", max_components, 4)
        upper = self.upper
        if max(self.size, upper.size) <= limit:
            return self
        return self._coarsen(*choose_axes(upper.ratio0, upper.ratio1, upper.weight, limit))

    def coarsen_to_lattice(self, step: float) -> Decomposition:
        """Return cells whose corners lie on the lattice of multiples of ``step`` of both logs.

        Ratios that are 0 stay as they are. Products of such decompositions stay on the lattice.
        """
        edges = []
        for logs in (self.upper.log_ratio0, self.upper.log_ratio1):
            finite = logs[np.isfinite(logs)]
            low, high = np.floor(finite.min() / step), np.ceil(finite.max() / step)
            points = np.exp(step * np.arange(low, high + 1))
            edges.append(np.append(0.0, points) if finite.size < logs.size else points)
        return self._coarsen(*edges)

    def _coarsen(self, edges0: FloatArray, edges1: FloatArray) -> Decomposition:
        """Gather components in boxes; the spread goes to the corners of the boxes."""
        upper = self.upper
        box = boxes(self.ratio0, edges0) * (2 * edges1.size + 1) + boxes(self.ratio1, edges1)
        _, group = np.unique(box, return_inverse=True)
        weight, weight_error = self._group_weights(group)
        mean0 = np.bincount(group, self.weight * self.ratio0) / weight
        mean1 = np.bincount(group, self.weight * self.ratio1) / weight
        error = np.zeros(weight.size)
        np.maximum.at(error, group, self.log_ratio_error)
        error += (np.bincount(group) + 16) * UNIT
        corner0, corner1, mass = split_to_corners(
            upper.ratio0, upper.ratio1, upper.weight, edges0, edges1
        )
        rounding = (upper.size + 16) * UNIT
        corner_error = np.full(mass.size, float(upper.log_ratio_error.max()) + rounding)
        mass_error = np.full(mass.size, float(upper.weight_error.max()) + rounding)
        with np.errstate(divide="ignore"):
            means, corners = np.log((mean0, mean1)), np.log((corner0, corner1))
        spread = upper._with_components((*corners, mass, corner_error, mass_error), None)
        return self._with_components((*means, weight, error, weight_error), spread)

    def at(self, epsilon: float) -> GPARV:
        r"""Return the law of :math:`G=a_j/c_j-e^\varepsilon b_j/c_j` and its rounding errors.

        With :math:`\rho=\log(a_j/b_j)` the value is
        :math:`(b_j/c_j)\,e^\varepsilon\,\mathrm{expm1}(\rho-\varepsilon)`, which keeps full
        relative accuracy where a and :math:`e^\varepsilon b` nearly cancel.
        """
        epsilon = check_real("epsilon", epsilon)
        if abs(epsilon) > MAX_EPSILON0:
            raise ValueError(f"epsilon must lie in [-300, 300], got {epsilon!r}")
        lower = self._law(epsilon)
        upper = lower if self.spread is None else self.spread._law(epsilon)
        singular_lower, _ = self._singular(epsilon)
        _, singular_upper = self.upper._singular(epsilon)
        return GPARV(lower, upper, singular_lower, singular_upper)

    def _law(self, epsilon: float) -> Law:
        log0, log1 = self.log_ratio0, self.log_ratio1
        rho, rho_error = two_sum(log0, -log1)
        excess = rho - epsilon
        cost = np.exp(log1 + epsilon)
        far = excess > 40  # nothing cancels there, and expm1 might overflow
        near_value = cost * np.expm1(np.where(far, 0.0, excess))
        values = np.where(far, np.exp(log0) - cost, near_value)
        magnitude = np.exp(log0) + cost
        error = magnitude * np.expm1(self.log_ratio_error + rho_error)
        logs = np.abs(finite_or_zero(log1 + epsilon)) + np.abs(finite_or_zero(log0)) * far
        error += UNIT * np.abs(values) * (8 + logs + np.clip(finite_or_zero(excess), 0.0, 40.0))
        weights, weight_error = self.weight, self.weight_error
        if self.residual > 0:
            values, error = np.append(values, 0.0), np.append(error, 0.0)
            weights = np.append(weights, self.residual)
            weight_error = np.append(weight_error, self.residual_error)
        return Law(values, weights, error, -np.log1p(-weight_error))

    def _singular(self, epsilon: float) -> tuple[float, float]:
        """Return the sum of (a - e^epsilon b)_+ over c = 0, rounded down and up."""
        if self.singular0.size == 0:
            return 0.0, 0.0
        slack = self.singular_error + UNIT * (8 + 2 * abs(epsilon) + self.singular0.size)
        a, b = self.singular0, np.exp(epsilon) * self.singular1
        lower = np.maximum(a * (1 - slack) - b * (1 + slack), 0).sum() * (1 - slack)
        upper = np.maximum(a * (1 + slack) - b * (1 - slack), 0).sum() * (1 + slack)
        return float(lower), float(upper)
