"""The general clone: any valid decomposition of a finite randomizer, checked and evaluated."""

from __future__ import annotations

import math
import numbers
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from shuffledp.basics.errors import check_delta, check_epsilon, check_users
from shuffledp.basics.interval import Interval
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import delta_above, delta_below, epsilon_above, epsilon_below
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import LocalRandomizer, MatrixRandomizer, Pair, as_randomizer

#: How far a decomposition may miss the rows it decomposes, at an output and relatively: rounding of
#: a few sums. What is missed becomes part of the decomposition, see `GeneralClone.decomposition`.
_TOLERANCE, _RELATIVE_TOLERANCE = Fraction(1, 10**12), Fraction(1, 10**9)

#: Relative width of enclosures of epsilon to aim for; those of delta are as close as that needs.
_RTOL = 1e-4


@dataclass(frozen=True, eq=False, init=False)
class GeneralClone:
    r"""A decomposition of a matrix randomizer at a pair of inputs (paper, section 4.1).

    .. math:: R(x_1^0)=\sum_ja_jQ_j,\qquad R(x_1^1)=\sum_jb_jQ_j,\qquad R(x)\ge\sum_jc_jQ_j
              \ \text{for all}\ x.

    Every valid decomposition gives an upper bound for the pair; none is below that of the blanket,
    which the primary and the simplified optimal decomposition attain.

    The reduction of the original stronger clone for specific randomizers is not offered: it mixes
    the left-over of the differing user with those of the others, and its proof fails. What does
    hold, for every epsilon0-LDP randomizer, is its generic bound: :class:`shuffledp.AnyPureLDP`.

    Coefficients and components are taken as exact numbers, doubles as well as fractions. A sum may
    miss its row by 1e-12, which is part of the answer: what is missed counts as an output that only
    the differing user has.

    Args:
        randomizer: the matrix, or its text.
        pair: the two inputs of the differing user.
        components: one row per component Q_j, over the outputs.
        a: coefficients of R(x_1^0).
        b: coefficients of R(x_1^1).
        c: coefficients of the part shared by all inputs.

    >>> r = MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]])
    >>> blanket = GeneralClone.primary(r, Pair(0, 1))  # or GeneralClone.primary(str(r), ...)
    >>> clone = GeneralClone.standard(r, Pair(0, 1))
    >>> blanket.delta_interval(100, 0.2).upper < clone.delta_interval(100, 0.2).lower
    True
    """

    randomizer: MatrixRandomizer
    pair: Pair
    components: Sequence[Sequence[Fraction]]
    a: Sequence[Fraction]
    b: Sequence[Fraction]
    c: Sequence[Fraction]

    def __init__(
        self,
        randomizer: MatrixRandomizer | str,
        pair: Pair,
        components: Sequence[Sequence[float | Fraction]],
        a: Sequence[float | Fraction],
        b: Sequence[float | Fraction],
        c: Sequence[float | Fraction],
    ) -> None:
        object.__setattr__(self, "randomizer", _as_matrix(randomizer))
        object.__setattr__(self, "pair", pair)
        self._convert(components, {"a": a, "b": b, "c": c})
        _ = self.decomposition  # which finds out whether it is one of the randomizer

    def _convert(
        self, components: Iterable[object], coefficients: Mapping[str, Sequence[object]]
    ) -> None:
        """Turn all numbers into fractions; check components and coefficients by themselves."""
        outputs = self.randomizer.matrix.shape[1]
        rows = [_fractions("components", row) for row in components]
        if not rows or any(len(row) != outputs for row in rows):
            raise ValueError(
                f"components must be rows over the {outputs} outputs, got rows of length "
                f"{[len(row) for row in rows]}"
            )
        if any(min(row) < 0 or abs(sum(row, _ZERO) - 1) > _TOLERANCE for row in rows):
            raise ValueError("every component must be a probability distribution over the outputs")
        object.__setattr__(self, "components", tuple(rows))
        for name, given in coefficients.items():
            own = _fractions(name, given)
            if len(own) != len(rows) or min(own) < 0:
                raise ValueError(
                    f"{name} must hold one coefficient of at least 0 per component, got "
                    f"{[float(x) for x in own]}"
                )
            object.__setattr__(self, name, own)

    @cached_property
    def decomposition(self) -> Decomposition:
        """The coefficients as a decomposition that is valid exactly.

        The coefficients a, b and c are multiplied by the largest factors, c by at most 1, with
        which their mixtures stay below what they decompose. What is left of R(x_1^0) and R(x_1^1)
        is counted as two more outputs, which no other user has.
        """
        first, second = (self.randomizer.law(x) for x in (self.pair.first, self.pair.second))
        a = self._below("a", first, f"equal R({self.pair.first})")
        b = self._below("b", second, f"equal R({self.pair.second})")
        c = self._below("c", self.randomizer.smallest_law(), "stay below every R(x)")
        return Decomposition.from_coefficients(
            [*a, 1 - sum(a, _ZERO), _ZERO], [*b, _ZERO, 1 - sum(b, _ZERO)], [*c, _ZERO, _ZERO]
        )

    def _below(self, name: str, law: Sequence[Fraction], aim: str) -> list[Fraction]:
        """Return the masses of the components, scaled so that their mixture stays below a law.

        Raises:
            ValueError: if the mixture misses its aim by more than rounding.
        """
        coefficients: tuple[Fraction, ...] = getattr(self, name)
        mixed, masses = [_ZERO] * len(law), []
        for coefficient, row in zip(coefficients, self.components, strict=True):
            own = [(y, coefficient * q) for y, q in enumerate(row) if q]
            for y, mass in own:
                mixed[y] += mass
            masses.append(sum((mass for _, mass in own), _ZERO))
        self._check_gaps(name, mixed, law, aim)
        factors = [p / m for p, m in zip(law, mixed, strict=True) if m]
        factor = min(factors, default=Fraction(1))
        if name == "c":
            factor = min(factor, Fraction(1))
        return [factor * mass for mass in masses]

    def _check_gaps(
        self, name: str, mixed: Sequence[Fraction], law: Sequence[Fraction], aim: str
    ) -> None:
        gaps = [found - wanted for found, wanted in zip(mixed, law, strict=True)]
        wrong = [
            y
            for y, gap in enumerate(gaps)
            if gap > min(_TOLERANCE, _RELATIVE_TOLERANCE * law[y])
            or (name != "c" and -gap > _TOLERANCE)
        ]
        if not wrong:
            return
        y = max(wrong, key=lambda y: abs(gaps[y]))
        place = f"sum of {name}_j Q_j must {aim}; at output {y} it "
        if name == "c":
            x = int(self.randomizer.infimum.rows[y])
            raise ValueError(f"{place}exceeds R({x}) by {float(gaps[y]):.3g}")
        raise ValueError(
            f"{place}is {float(mixed[y])!r} instead of {float(law[y])!r}, off by "
            f"{float(abs(gaps[y])):.3g}"
        )

    def delta_interval(self, n: int, target_epsilon: float) -> Interval:
        """Enclose the bound on delta for this pair with n users."""
        epsilon = check_epsilon(target_epsilon)
        curve = self._curve(n)
        lower, upper = curve.below(epsilon).log, curve.above(epsilon).log
        return Interval(delta_below(lower), delta_above(upper))

    def epsilon_interval(self, n: int, target_delta: float) -> Interval:
        """Enclose the bound on epsilon for this pair with n users."""
        delta = check_delta(target_delta)
        curve = self._curve(n)
        lower, upper = (
            find(curve, delta, _RTOL).epsilon for find in (epsilon_below, epsilon_above)
        )
        return Interval(lower, upper)

    def _curve(self, n: int) -> Decomposed:
        return Decomposed(self.decomposition, check_users(n), _RTOL, self.pair)

    @classmethod
    def primary(cls, randomizer: MatrixRandomizer | str, pair: Pair) -> GeneralClone:
        """Return the primary optimal decomposition: one component per output, c the infimum."""
        randomizer = _as_matrix(randomizer)
        a, b = randomizer.law(pair.first), randomizer.law(pair.second)
        c = randomizer.smallest_law()
        points = [[Fraction(int(y == z)) for z in range(len(a))] for y in range(len(a))]
        return cls(randomizer, pair, points, a, b, c)

    @classmethod
    def simplified(cls, randomizer: MatrixRandomizer | str, pair: Pair) -> GeneralClone:
        """Return the simplified optimal decomposition: outputs of equal ratios are merged."""
        randomizer = _as_matrix(randomizer)
        outputs = zip(
            randomizer.law(pair.first),
            randomizer.law(pair.second),
            randomizer.smallest_law(),
            strict=True,
        )
        groups = defaultdict(list)
        for y, masses in enumerate(outputs):
            total = sum(masses)
            if total:
                groups[tuple(mass / total for mass in masses)].append((y, total))
        components, coefficients = [], []
        for ratios, members in groups.items():
            whole = sum(total for _, total in members)
            row = [_ZERO] * randomizer.matrix.shape[1]
            for y, total in members:
                row[y] = total / whole
            components.append(row)
            coefficients.append([ratio * whole for ratio in ratios])
        a, b, c = zip(*coefficients, strict=True)
        return cls(randomizer, pair, components, a, b, c)

    @classmethod
    def standard(cls, randomizer: MatrixRandomizer | str, pair: Pair) -> GeneralClone:
        r"""Return the standard clone (Feldman, McMillan and Talwar 2021).

        :math:`Q_0=(E R(x_1^0)-R(x_1^1))/(E-1)`, :math:`Q_1` the other way round, coefficients
        :math:`E/(E+1)` and :math:`1/(E+1)`, shared part :math:`1/(2E)` of each.
        """
        randomizer = _as_matrix(randomizer)
        ratio, first, second = _rows(randomizer, pair)
        components = [
            [(ratio * p - q) / (ratio - 1) for p, q in zip(*rows, strict=True)]
            for rows in ((first, second), (second, first))
        ]
        high, low = ratio / (ratio + 1), 1 / (ratio + 1)
        return cls(randomizer, pair, components, [high, low], [low, high], [1 / (2 * ratio)] * 2)

    @classmethod
    def stronger(cls, randomizer: MatrixRandomizer | str, pair: Pair) -> GeneralClone:
        r"""Return the corrected stronger clone (p, q) with the largest valid q (section 3.3).

        :math:`(E-1)pQ_0=(R(x_1^0)-R(x_1^1))_+`, :math:`(E-1)pQ_1=(R(x_1^1)-R(x_1^0))_+` and the
        common rest :math:`(1-p-Ep)Q`; q is the smallest ratio, over outputs, of what every R(x) has
        left to Q.
        """
        randomizer = _as_matrix(randomizer)
        ratio, first, second = _rows(randomizer, pair)
        gains = [
            [max(p - q, _ZERO) / (ratio - 1) for p, q in zip(*rows, strict=True)]
            for rows in ((first, second), (second, first))
        ]
        taken = list(zip(*gains, strict=True))
        rest = [r - ratio * g - h for r, (g, h) in zip(first, taken, strict=True)]
        p, r = sum(gains[0], _ZERO), sum(rest, _ZERO)
        components = [[g / p for g in row] for row in gains]
        a, b, c = [ratio * p, p], [p, ratio * p], [p, p]
        if r > 0:
            spare = [s - g - h for s, (g, h) in zip(randomizer.smallest_law(), taken, strict=True)]
            q = min(r * s / part for s, part in zip(spare, rest, strict=True) if part)
            components.append([part / r for part in rest])
            a, b, c = [*a, r], [*b, r], [*c, q]
        return cls(randomizer, pair, components, a, b, c)


_ZERO = Fraction(0)


def _as_matrix(value: LocalRandomizer | str) -> MatrixRandomizer:
    randomizer = as_randomizer(value) if isinstance(value, str) else value
    if not isinstance(randomizer, MatrixRandomizer):
        raise TypeError(f"randomizer must be a MatrixRandomizer, got {value!r}")
    return randomizer


def _fractions(name: str, values: object) -> tuple[Fraction, ...]:
    """Return exact numbers."""
    found = []
    if not isinstance(values, Iterable):
        raise ValueError(f"{name} must be rows of numbers, got {values!r}")
    for value in values:
        if isinstance(value, numbers.Rational):
            found.append(Fraction(value))
        elif isinstance(value, numbers.Real) and math.isfinite(value):
            found.append(Fraction(float(value)))
        else:
            raise ValueError(f"{name} must hold finite numbers, got {value!r}")
    return tuple(found)


def _rows(
    randomizer: MatrixRandomizer, pair: Pair
) -> tuple[Fraction, list[Fraction], list[Fraction]]:
    """Return E and the two laws, all exact; clones need pure LDP and laws that differ."""
    first, second = randomizer.law(pair.first), randomizer.law(pair.second)
    if randomizer.epsilon0 == math.inf or first == second:
        raise ValueError(
            "clones need a finite LDP level above 0 and two different rows, got epsilon0 = "
            f"{randomizer.epsilon0}"
        )
    pairs = zip(randomizer.largest_law(), randomizer.smallest_law(), strict=True)
    return max(high / low for high, low in pairs if high), first, second
