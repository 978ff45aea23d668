"""The general clone: any valid decomposition of a finite randomizer, checked and evaluated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.inversion import enclose_epsilon
from shuffledp.decomposition import Decomposition
from shuffledp.decomposition.arithmetic import UNIT, FloatArray, vector
from shuffledp.divergence import log_delta
from shuffledp.errors import check_delta, check_epsilon, check_users
from shuffledp.interval import Interval
from shuffledp.randomizers import MatrixRandomizer, Pair

#: How far a decomposition may miss the rows it decomposes: rounding of a few sums.
_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class GeneralClone:
    r"""A decomposition of a matrix randomizer at a pair of inputs (paper, section 4.1).

    .. math:: R(x_1^0)=\sum_ja_jQ_j,\qquad R(x_1^1)=\sum_jb_jQ_j,\qquad R(x)\ge\sum_jc_jQ_j
              \ \text{for all}\ x.

    Every valid decomposition gives an upper bound for the pair; none is below that of the blanket,
    which the primary and the simplified optimal decomposition attain.

    The reduction of the original stronger clone for specific randomizers is not offered: it mixes
    the left-over of the differing user with those of the others, and its proof fails. What does
    hold, for every epsilon0-LDP randomizer, is its generic bound: :class:`shuffledp.AnyPureLDP`.

    Args:
        randomizer: the matrix.
        pair: the two inputs of the differing user.
        components: one row per component Q_j, over the outputs.
        a: coefficients of R(x_1^0).
        b: coefficients of R(x_1^1).
        c: coefficients of the part shared by all inputs.

    >>> r = MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]])
    >>> blanket = GeneralClone.primary(r, Pair(0, 1))
    >>> clone = GeneralClone.standard(r, Pair(0, 1))
    >>> blanket.delta_interval(100, 0.2).upper < clone.delta_interval(100, 0.2).lower
    True
    """

    randomizer: MatrixRandomizer
    pair: Pair
    components: FloatArray
    a: FloatArray
    b: FloatArray
    c: FloatArray

    def __post_init__(self) -> None:
        """Check that this is a decomposition of the randomizer."""
        if not isinstance(self.randomizer, MatrixRandomizer):
            raise TypeError(f"randomizer must be a MatrixRandomizer, got {self.randomizer!r}")
        components = np.array(self.components, dtype=np.float64)
        outputs = self.randomizer.matrix.shape[1]
        if components.ndim != 2 or components.shape[1] != outputs:
            raise ValueError(
                f"components must be rows over the {outputs} outputs, got shape {components.shape}"
            )
        if not (components >= 0).all() or not np.allclose(
            components.sum(axis=1), 1.0, rtol=0, atol=_TOLERANCE
        ):
            raise ValueError("every component must be a probability distribution over the outputs")
        object.__setattr__(self, "components", components)
        for name in ("a", "b", "c"):
            coefficients = vector(name, getattr(self, name))
            if coefficients.size != components.shape[0] or not (coefficients >= 0).all():
                raise ValueError(
                    f"{name} must hold one coefficient of at least 0 per component, got "
                    f"{coefficients!r}"
                )
            object.__setattr__(self, name, coefficients)
        self._check_rows()

    def _check_rows(self) -> None:
        matrix = self.randomizer.matrix
        for name, x in (("a", self.pair.first), ("b", self.pair.second)):
            mixed, row = getattr(self, name) @ self.components, self.randomizer.row(x)
            gap = np.abs(mixed - row)
            worst = int(np.argmax(gap))
            if gap[worst] > _TOLERANCE:
                raise ValueError(
                    f"sum of {name}_j Q_j must equal R({x}); at output {worst} it is "
                    f"{float(mixed[worst])!r} instead of {float(row[worst])!r}, off by "
                    f"{float(gap[worst]):.3g}"
                )
        excess = self.c @ self.components - matrix.min(axis=0)
        worst = int(np.argmax(excess))
        if excess[worst] > _TOLERANCE:
            x = int(np.argmin(matrix[:, worst]))
            raise ValueError(
                f"sum of c_j Q_j must stay below every R(x); at output {worst} it exceeds R({x}) "
                f"by {float(excess[worst]):.3g}"
            )

    @property
    def decomposition(self) -> Decomposition:
        """The coefficients as a decomposition."""
        return Decomposition.from_coefficients(self.a, self.b, self.c)

    def delta_interval(self, n: int, target_epsilon: float) -> Interval:
        """Enclose the bound on delta for this pair with n users."""
        epsilon = check_epsilon(target_epsilon)
        value = log_delta(self.decomposition.at(epsilon), check_users(n))
        return Interval(value.lower, value.upper).exp()

    def epsilon_interval(self, n: int, target_delta: float) -> Interval:
        """Enclose the bound on epsilon for this pair with n users."""
        delta = check_delta(target_delta)
        if delta == 0:
            end = self.decomposition.max_epsilon_interval()
            return Interval(max(end.lower, 0.0), max(end.upper, 0.0))
        log = math.log(delta)
        target = Interval(log - 4 * UNIT * abs(log), log + 4 * UNIT * abs(log))
        return enclose_epsilon(self.decomposition, check_users(n), target, 1e-4)

    @classmethod
    def primary(cls, randomizer: MatrixRandomizer, pair: Pair) -> GeneralClone:
        """Return the primary optimal decomposition: one component per output, c the infimum."""
        matrix = randomizer.matrix
        used = matrix.max(axis=0) > 0
        points = np.eye(matrix.shape[1])[used]
        return cls(
            randomizer,
            pair,
            points,
            randomizer.row(pair.first)[used],
            randomizer.row(pair.second)[used],
            matrix.min(axis=0)[used],
        )

    @classmethod
    def simplified(cls, randomizer: MatrixRandomizer, pair: Pair) -> GeneralClone:
        """Return the simplified optimal decomposition: outputs of equal ratios are merged."""
        clone = cls.primary(randomizer, pair)
        ratios = np.stack([clone.a, clone.b, clone.c], axis=1)
        ratios = np.round(ratios / ratios.sum(axis=1, keepdims=True), 13)
        _, group = np.unique(ratios, axis=0, return_inverse=True)
        total = np.bincount(group, clone.a + clone.b)
        shares = (clone.a + clone.b) / total[group]
        merged = np.zeros((total.size, clone.components.shape[1]))
        np.add.at(merged, group, clone.components * shares[:, None])
        a, b, c = (
            np.bincount(group, part).astype(np.float64) for part in (clone.a, clone.b, clone.c)
        )
        return cls(randomizer, pair, merged, a, b, c)

    @classmethod
    def standard(cls, randomizer: MatrixRandomizer, pair: Pair) -> GeneralClone:
        r"""Return the standard clone (Feldman, McMillan and Talwar 2021).

        :math:`Q_0=(E R(x_1^0)-R(x_1^1))/(E-1)`, :math:`Q_1` the other way round, coefficients
        :math:`E/(E+1)` and :math:`1/(E+1)`, shared part :math:`1/(2E)` of each.
        """
        ratio, first, second = _rows(randomizer, pair)
        components = np.maximum([ratio * first - second, ratio * second - first], 0.0) / (ratio - 1)
        high, low = ratio / (ratio + 1), 1 / (ratio + 1)
        return cls(randomizer, pair, components, [high, low], [low, high], [0.5 / ratio] * 2)  # type: ignore[arg-type]

    @classmethod
    def stronger(cls, randomizer: MatrixRandomizer, pair: Pair) -> GeneralClone:
        r"""Return the corrected stronger clone (p, q) with the largest valid q (section 3.3).

        :math:`(E-1)pQ_0=(R(x_1^0)-R(x_1^1))_+`, :math:`(E-1)pQ_1=(R(x_1^1)-R(x_1^0))_+` and the
        common rest :math:`(1-p-Ep)Q`; q is the smallest ratio, over outputs, of what every R(x) has
        left to Q.
        """
        ratio, first, second = _rows(randomizer, pair)
        gains = np.maximum([first - second, second - first], 0.0) / (ratio - 1)
        p = float(gains[0].sum())
        rest = first - ratio * gains[0] - gains[1]
        rest = np.where(rest > 16 * UNIT * first, rest, 0.0)  # below this it is rounding, not mass
        r = float(rest.sum())
        components, a, b, c = [g / p for g in gains], [ratio * p, p], [p, ratio * p], [p, p]
        if r > _TOLERANCE:
            spare = randomizer.matrix.min(axis=0) - gains.sum(axis=0)
            needed = rest > 0
            q = max(float((spare[needed] / (rest[needed] / r)).min()), 0.0)
            components, a, b, c = [*components, rest / r], [*a, r], [*b, r], [*c, q]
        return cls(randomizer, pair, components, a, b, c)  # type: ignore[arg-type]


def _rows(randomizer: MatrixRandomizer, pair: Pair) -> tuple[float, FloatArray, FloatArray]:
    """Return E and the two rows; clones need pure LDP and rows that differ."""
    level = randomizer.epsilon0
    first, second = randomizer.row(pair.first), randomizer.row(pair.second)
    if not 0 < level < math.inf or (first == second).all():
        raise ValueError(
            f"clones need a finite LDP level above 0 and two different rows, got epsilon0 = {level}"
        )
    return math.exp(level), first, second
