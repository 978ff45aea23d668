"""General-clone decompositions of a local randomizer at a pair of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.decomposition.arithmetic import (
    UNIT,
    FloatArray,
    clusters,
    distance,
    log_quotient,
    outer_sum,
    two_sum,
    vector,
)
from shuffledp.decomposition.cells import boxes, choose_axes, split_to_corners
from shuffledp.decomposition.gparv import GPARV, Law
from shuffledp.errors import MAX_EPSILON0, check_integer, check_real

#: How far masses may be from 1: rounding of sums over many components, not modelling slack.
MASS_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Decomposition:
    r"""A decomposition :math:`R(x_1^0)=\sum a_jQ_j,\ R(x_1^1)=\sum b_jQ_j,\ R(x_i)\ge\sum c_jQ_j`.

    It is stored through the ratios :math:`a_j/c_j` and :math:`b_j/c_j` (as logarithms, so that
    tiny privacy levels keep their relative accuracy), the weights :math:`c_j` and the residual
    :math:`\beta = 1-\sum c_j` of the left-over laws. The blanket decomposition, with
    :math:`c = \inf_x R(x)`, is the optimal one (paper, theorems 4 to 6).

    Attributes:
        log_ratio0: log(a/c) of each component; minus infinity where a = 0.
        log_ratio1: log(b/c) of each component; minus infinity where b = 0.
        weight: c of each component, greater than 0.
        residual: mass of the left-over laws.
        log_ratio_error: bound on the absolute rounding error of both logarithms.
        weight_error: bound on the relative rounding error of weights and residual.
        singular0: a of the components with c = 0 (no absolute continuity).
        singular1: b of the components with c = 0.
        spread: None if the components are atoms. If they are cells (each standing for a range
            of ratios, represented by its mean), a decomposition into the end points of the
            cells with the same means: it dominates in convex order.

    >>> d = Decomposition.from_coefficients([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25] * 3)
    >>> [round(float(r), 12) for r in d.ratio0], d.residual
    ([2.0, 1.0, 1.0], 0.25)
    >>> d.at(0.0).lower.values.tolist()
    [1.0, -1.0, 0.0, 0.0]
    """

    log_ratio0: FloatArray
    log_ratio1: FloatArray
    weight: FloatArray
    residual: float
    log_ratio_error: FloatArray = field(default_factory=lambda: np.zeros(0))
    weight_error: float = 4 * UNIT
    singular0: FloatArray = field(default_factory=lambda: np.zeros(0))
    singular1: FloatArray = field(default_factory=lambda: np.zeros(0))
    spread: Decomposition | None = None

    def __post_init__(self) -> None:
        """Convert, check the invariants and freeze the arrays."""
        for name in ("log_ratio0", "log_ratio1", "weight", "singular0", "singular1"):
            object.__setattr__(self, name, vector(name, getattr(self, name)))
        error = np.asarray(self.log_ratio_error, dtype=np.float64)
        if error.size == 0:
            error = np.zeros(1)
        object.__setattr__(self, "log_ratio_error", np.broadcast_to(error, self.weight.shape))
        if not self.log_ratio0.size == self.log_ratio1.size == self.weight.size:
            raise ValueError(
                "log_ratio0, log_ratio1 and weight must have the same length, got "
                f"{self.log_ratio0.size}, {self.log_ratio1.size} and {self.weight.size}"
            )
        if self.singular0.size != self.singular1.size:
            raise ValueError(
                "singular0 and singular1 must have the same length, got "
                f"{self.singular0.size} and {self.singular1.size}"
            )
        for name in ("log_ratio0", "log_ratio1"):
            logs = getattr(self, name)
            if np.isnan(logs).any() or (logs > 2 * MAX_EPSILON0).any():
                raise ValueError(f"{name} must be at most {2 * MAX_EPSILON0:g}, got {logs!r}")
        if not (self.weight > 0).all() or not np.isfinite(self.weight).all():
            raise ValueError(f"weight must be positive and finite, got {self.weight!r}")
        for name in ("singular0", "singular1"):
            masses = getattr(self, name)
            if not ((masses >= 0) & (masses <= 1)).all():
                raise ValueError(f"{name} must lie in [0, 1], got {masses!r}")
        residual = check_real("residual", self.residual)
        if residual < 0:
            raise ValueError(f"residual must be at least 0, got {residual!r}")
        object.__setattr__(self, "residual", residual)
        self._check_mass("weight plus residual", float(self.weight.sum()) + residual)
        self._check_mass("a", float(self.weight @ self.ratio0 + self.singular0.sum()))
        self._check_mass("b", float(self.weight @ self.ratio1 + self.singular1.sum()))
        for name in ("log_ratio0", "log_ratio1", "weight", "singular0", "singular1"):
            getattr(self, name).setflags(write=False)

    @staticmethod
    def _check_mass(name: str, total: float) -> None:
        if not abs(total - 1) <= MASS_TOLERANCE:
            raise ValueError(f"the masses of {name} must sum to 1, got {total!r}")

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
        gap = 1.0 - float(c.sum())
        if residual is None:
            residual = gap if gap > 1e-12 else 0.0
        finite0, finite1 = (
            np.where(np.isfinite(log0), log0, 0),
            np.where(np.isfinite(log1), log1, 0),
        )
        return cls(
            log0,
            log1,
            c[covered],
            residual,
            log_ratio_error=4 * UNIT * np.maximum(np.abs(finite0), np.abs(finite1)),
            weight_error=4 * UNIT,
            singular0=a[singular],
            singular1=b[singular],
        )

    @classmethod
    def from_cells(
        cls,
        log_ratio0: ArrayLike,
        log_ratio1: ArrayLike,
        weight: ArrayLike,
        *,
        residual: float,
        start: tuple[ArrayLike, ArrayLike],
        stop: tuple[ArrayLike, ArrayLike],
        log_ratio_error: ArrayLike = 0.0,
        weight_error: float = 4 * UNIT,
        tails: Sequence[tuple[float, float, float]] = (),
    ) -> Decomposition:
        r"""Build a decomposition from cells of a continuous law.

        A cell stands for outputs whose ratios (a/c, b/c) lie on the segment from
        ``exp(start)`` to ``exp(stop)`` and have the mean ``exp(log_ratio)`` there. Moving its
        mass to the mean contracts the law in convex order; moving it to the two ends with the
        same mean spreads it. A segment keeps both statements true for every epsilon, because G is
        linear in the ratios.

        Args:
            log_ratio0: log of the mean of a/c in each cell.
            log_ratio1: log of the mean of b/c in each cell.
            weight: c-mass of each cell.
            residual: mass of the left-over laws.
            start: logs of (a/c, b/c) at the first end of each cell.
            stop: logs of (a/c, b/c) at the second end.
            log_ratio_error: bound on the absolute error of all logs.
            weight_error: bound on the relative error of the weights.
            tails: (a, b, c) of further cells whose ratios are unbounded. The contraction keeps
                them as atoms; the spread gives their c-mass to the residual and calls them
                singular, which is a smaller blanket and so still an upper bound.
        """
        log0, log1 = vector("log_ratio0", log_ratio0), vector("log_ratio1", log_ratio1)
        mass = vector("weight", weight)
        start0, start1 = (np.broadcast_to(vector("start", s), mass.shape) for s in start)
        stop0, stop1 = (np.broadcast_to(vector("stop", s), mass.shape) for s in stop)
        along0 = np.abs(stop0 - start0) >= np.abs(stop1 - start1)
        share = np.where(along0, _share(start0, log0, stop0), _share(start1, log1, stop1))
        if not ((share >= 0) & (share <= 1)).all():
            raise ValueError("the mean of every cell must lie between its ends")
        error = np.broadcast_to(np.asarray(log_ratio_error, dtype=np.float64), mass.shape)
        split = np.concatenate([mass * (1 - share), mass * share])
        kept = split > 0
        spread_parts = (
            np.concatenate([start0, stop0])[kept],
            np.concatenate([start1, stop1])[kept],
            split[kept],
        )
        spread_error = np.concatenate([error, error])[kept]
        a, b, c = np.array(tails, dtype=np.float64).reshape(-1, 3).T
        spread = cls(
            *spread_parts,
            residual + float(c.sum()),
            spread_error,
            weight_error + 4 * UNIT,
            singular0=a,
            singular1=b,
        )
        tail0, tail1 = log_quotient(a, c), log_quotient(b, c)
        return cls(
            np.append(log0, tail0),
            np.append(log1, tail1),
            np.append(mass, c),
            residual,
            np.append(error, 1e-13 * (1 + np.abs(tail0) + np.abs(tail1))),
            weight_error,
            spread=spread.merge(),
        )

    @property
    def ratio0(self) -> FloatArray:
        """a/c of each component."""
        return np.exp(self.log_ratio0)

    @property
    def ratio1(self) -> FloatArray:
        """b/c of each component."""
        return np.exp(self.log_ratio1)

    @property
    def size(self) -> int:
        """Number of components, singular ones and the residual not counted."""
        return self.weight.size

    @property
    def upper(self) -> Decomposition:
        """The decomposition that dominates in convex order: ``spread``, or itself for atoms."""
        return self if self.spread is None else self.spread

    @property
    def max_epsilon(self) -> float:
        """The smallest epsilon at which the bound is 0 (infinite if some b is 0)."""
        upper = self.upper
        with np.errstate(divide="ignore"):
            ratios = [
                upper.log_ratio0 - upper.log_ratio1,
                np.log(upper.singular0[upper.singular0 > 0])
                - np.log(upper.singular1[upper.singular0 > 0]),
            ]
        return float(max((r.max() for r in ratios if r.size), default=-np.inf))

    def merge(self) -> Decomposition:
        """Merge components of equal ratios: the simplified decomposition (paper, theorem 6).

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
        weight = np.bincount(group, self.weight)
        log0, log1 = self.log_ratio0[first], self.log_ratio1[first]
        moved = np.maximum(
            distance(self.log_ratio0, log0[group]), distance(self.log_ratio1, log1[group])
        )
        error = np.zeros(first.size)
        np.maximum.at(error, group, self.log_ratio_error + moved)
        return Decomposition(
            log0,
            log1,
            weight,
            self.residual,
            error,
            self.weight_error + 4 * UNIT,
            self.singular0,
            self.singular1,
            None if self.spread is None else self.spread.merge(),
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
            self.singular1,
            self.singular0,
            None if self.spread is None else self.spread.swap(),
        )

    def product(self, other: Decomposition) -> Decomposition:
        """Return the Cartesian product: the joint composition of two reports (paper, theorem 9).

        >>> d = Decomposition.from_coefficients([0.6, 0.4], [0.4, 0.6], [0.4, 0.4])
        >>> joint = d.product(d)
        >>> joint.size, round(joint.residual, 12)
        (4, 0.36)
        """
        spread = None
        if self.spread is not None or other.spread is not None:
            spread = self.upper._product(other.upper)
        return self._product(other, spread)

    def _product(self, other: Decomposition, spread: Decomposition | None = None) -> Decomposition:
        def masses(d: Decomposition, logs: FloatArray, singular: FloatArray) -> FloatArray:
            return np.concatenate([d.weight * np.exp(logs), singular])

        def singular(which: str) -> FloatArray:
            log, name = f"log_ratio{which}", f"singular{which}"
            mine, theirs = getattr(self, name), getattr(other, name)
            all_theirs = masses(other, getattr(other, log), theirs)
            covered_mine = self.weight * np.exp(getattr(self, log))
            return np.concatenate(
                [np.outer(mine, all_theirs).ravel(), np.outer(covered_mine, theirs).ravel()]
            )

        log0, error0 = outer_sum(self.log_ratio0, other.log_ratio0)
        log1, error1 = outer_sum(self.log_ratio1, other.log_ratio1)
        error = np.add.outer(self.log_ratio_error, other.log_ratio_error).ravel()
        return Decomposition(
            log0,
            log1,
            np.outer(self.weight, other.weight).ravel(),
            self.residual + other.residual * (1 - self.residual),
            error + np.maximum(error0, error1),
            self.weight_error + other.weight_error + 4 * UNIT,
            singular("0"),
            singular("1"),
            spread,
        )

    @staticmethod
    def mixture(weights: Sequence[float], parts: Sequence[Decomposition]) -> Decomposition:
        """Return the weighted combination: parallel composition (paper, theorem 11).

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
        if min(shares) <= 0 or abs(sum(shares) - 1) > 1e-12:
            raise ValueError(f"weights must be positive and sum to 1, got {shares!r}")
        spread = None
        if any(part.spread is not None for part in parts):
            spread = Decomposition.mixture(shares, [part.upper for part in parts])
        return Decomposition(
            np.concatenate([part.log_ratio0 for part in parts]),
            np.concatenate([part.log_ratio1 for part in parts]),
            np.concatenate([w * part.weight for w, part in zip(shares, parts, strict=True)]),
            sum(w * part.residual for w, part in zip(shares, parts, strict=True)),
            np.concatenate([part.log_ratio_error for part in parts]),
            max(part.weight_error for part in parts) + 4 * UNIT,
            np.concatenate([w * part.singular0 for w, part in zip(shares, parts, strict=True)]),
            np.concatenate([w * part.singular1 for w, part in zip(shares, parts, strict=True)]),
            spread,
        )

    def coarsen(self, max_components: int) -> Decomposition:
        """Return at most about ``max_components`` cells that enclose this decomposition.

        The plane of ratios is cut into a grid of boxes. The components of one box are replaced by
        their mean (a contraction in convex order) and, in ``spread``, by the corners of the box with
        bilinear weights (a spread): the true bound lies between the two for every epsilon and n.
        """
        limit = check_integer("max_components", max_components, 4)
        if self.size <= limit:
            return self
        upper = self.upper
        edges0, edges1 = choose_axes(upper.ratio0, upper.ratio1, upper.weight, limit)
        box = boxes(self.ratio0, edges0) * (2 * edges1.size + 1) + boxes(self.ratio1, edges1)
        _, group = np.unique(box, return_inverse=True)
        weight = np.bincount(group, self.weight)
        mean0 = np.bincount(group, self.weight * self.ratio0) / weight
        mean1 = np.bincount(group, self.weight * self.ratio1) / weight
        error = np.zeros(weight.size)
        np.maximum.at(error, group, self.log_ratio_error)
        error += 16 * UNIT
        corner_error = float(upper.log_ratio_error.max()) + 16 * UNIT
        corners = split_to_corners(upper.ratio0, upper.ratio1, upper.weight, edges0, edges1)
        with np.errstate(divide="ignore"):
            return Decomposition(
                np.log(mean0),
                np.log(mean1),
                weight,
                self.residual,
                error,
                self.weight_error + 8 * UNIT,
                self.singular0,
                self.singular1,
                Decomposition(
                    np.log(corners[0]),
                    np.log(corners[1]),
                    corners[2],
                    upper.residual,
                    np.full(corners[2].size, corner_error),
                    upper.weight_error + 8 * UNIT,
                    upper.singular0,
                    upper.singular1,
                ),
            )

    def at(self, epsilon: float) -> GPARV:
        r"""Return the law of :math:`G=a_j/c_j-e^\varepsilon b_j/c_j` and its rounding errors.

        With :math:`\rho=\log(a_j/b_j)` the value is
        :math:`(b_j/c_j)\,e^\varepsilon\,\mathrm{expm1}(\rho-\varepsilon)`, which keeps full relative
        accuracy where a and :math:`e^\varepsilon b` nearly cancel.
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
        finite = np.isfinite(log1)
        safe1 = np.where(finite, log1, 0.0)
        rho, rho_error = two_sum(log0, -safe1)
        values = np.where(finite, np.exp(safe1 + epsilon) * np.expm1(rho - epsilon), np.exp(log0))
        magnitude = np.exp(log0) + np.where(finite, np.exp(safe1 + epsilon), 0.0)
        error = magnitude * (self.log_ratio_error + rho_error)
        error += UNIT * np.abs(values) * (6 + np.abs(safe1 + epsilon))
        error = np.where(finite, error, error + UNIT * values * (2 + np.abs(log0)))
        weights = self.weight
        if self.residual > 0:
            values, error = np.append(values, 0.0), np.append(error, 0.0)
            weights = np.append(weights, self.residual)
        return Law(values, weights, error, self.weight_error)

    def _singular(self, epsilon: float) -> tuple[float, float]:
        """Return the sum of (a - e^epsilon b)_+ over c = 0, rounded down and up."""
        slack = 8 * UNIT
        high, low = self.singular0 * (1 + slack), self.singular0 * (1 - slack)
        b = np.exp(epsilon) * self.singular1
        relative = slack * (1 + abs(epsilon))
        lower = np.maximum(low - b * (1 + relative), 0).sum() * (1 - self.singular0.size * UNIT)
        upper = np.maximum(high - b * (1 - relative), 0).sum() * (1 + self.singular0.size * UNIT)
        return float(lower), float(upper)


def _share(start: FloatArray, mean: FloatArray, stop: FloatArray) -> FloatArray:
    """Return where exp(mean) lies between exp(start) and exp(stop), 0 in an empty cell."""
    width = np.expm1(stop - start)
    return np.divide(np.expm1(mean - start), width, out=np.zeros_like(width), where=width != 0)
