"""Exact rational arithmetic for small n: oracles that share nothing with the numerical engines."""

from __future__ import annotations

import math
import numbers
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from shuffledp.basics.errors import check_integer

Histogram = tuple[int, ...]


def exact_delta(
    ratios0: Sequence[Fraction],
    ratios1: Sequence[Fraction],
    weights: Sequence[Fraction],
    n: int,
    exp_epsilon: Fraction,
    *,
    singular: Iterable[tuple[Fraction, Fraction]] = (),
) -> Fraction:
    r"""Return the decomposition bound on delta as an exact fraction.

    With :math:`G = r^0_j - \lambda r^1_j` with probability :math:`c_j`, and 0 with the residual
    probability :math:`1-\sum c_j`, this is (paper, theorems 12 and 13; singular part: components
    that other users never produce)

    .. math:: \delta = \frac1n E\Big[\Big(\sum_{i=1}^n G_i\Big)_+\Big]
              + \sum_{c_j=0} (a_j - \lambda b_j)_+, \qquad \lambda = e^\varepsilon .

    The law of the sum is built value by value; the number of values grows like
    :math:`n^{k}` for k components, so keep n small.

    Args:
        ratios0: a/c of each component.
        ratios1: b/c of each component.
        weights: c of each component; what is missing to 1 is the residual.
        n: number of users, the victim included.
        exp_epsilon: :math:`\lambda = e^\varepsilon`, greater than 0.
        singular: (a, b) of the components with c = 0.

    Raises:
        TypeError: if a number is not rational (a float would hide its rounding error).
        ValueError: if lengths differ or a number is out of range.

    Binary randomized response with probabilities 3/4 and 1/4, alone and among three users:

    >>> quarter = Fraction(1, 4)
    >>> rr = ([Fraction(3), Fraction(1)], [Fraction(1), Fraction(3)], [quarter, quarter])
    >>> print(exact_delta(*rr, n=1, exp_epsilon=Fraction(3, 2)))
    3/8
    >>> print(exact_delta(*rr, n=3, exp_epsilon=Fraction(3, 2)))
    27/128
    """
    n = check_integer("n", n, 1)
    first, second = _nonnegative("ratios0", ratios0), _nonnegative("ratios1", ratios1)
    mass = _nonnegative("weights", weights)
    if not len(first) == len(second) == len(mass):
        raise ValueError(
            "ratios0, ratios1 and weights must have the same length, got "
            f"{len(first)}, {len(second)} and {len(mass)}"
        )
    residual = 1 - sum(mass, Fraction(0))
    if residual < 0:
        raise ValueError(f"weights must sum to at most 1, got {1 - residual}")
    scale = _positive("exp_epsilon", exp_epsilon)
    values = [a - scale * b for a, b in zip(first, second, strict=True)]
    total = _mean_positive_part([*values, Fraction(0)], [*mass, residual], n) / n
    for pair in singular:
        a, b = _nonnegative("singular", pair)
        total += max(a - scale * b, Fraction(0))
    return total


def exact_shuffled_divergence(
    rows: Sequence[Sequence[Fraction]],
    x0: int,
    x1: int,
    others: Sequence[int],
    exp_epsilon: Fraction,
) -> Fraction:
    r"""Return the true hockey-stick divergence of a shuffled finite mechanism.

    The analyst sees the histogram of all reports: one of the victim, whose input is x0 or x1, and
    one of each other user. With :math:`P_0, P_1` the two laws of the histogram h, this is

    .. math:: D_\lambda(P_0\,\|\,P_1) = \sum_h \big(P_0(h) - \lambda P_1(h)\big)_+ ,

    by enumeration of all histograms. No decomposition is involved.

    Args:
        rows: ``rows[x][y]`` is the probability that input x is reported as y.
        x0: the victim's input under the first dataset.
        x1: the victim's input under the second dataset.
        others: inputs of the other users (n - 1 of them, possibly none).
        exp_epsilon: :math:`\lambda = e^\varepsilon`, greater than 0.

    Raises:
        TypeError: if a probability is not rational or an input is not an integer.
        ValueError: if rows are not probability vectors of one length or an input has no row.

    >>> rr = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    >>> print(exact_shuffled_divergence(rr, 0, 1, [], Fraction(3, 2)))
    3/8
    >>> print(exact_shuffled_divergence(rr, 0, 1, [0, 1], Fraction(3, 2)))
    9/64
    """
    matrix = [_nonnegative("rows", row) for row in rows]
    if not matrix or not matrix[0] or any(len(row) != len(matrix[0]) for row in matrix):
        raise ValueError(
            f"rows must be non-empty and of equal length, got {[len(r) for r in matrix]}"
        )
    for x, row in enumerate(matrix):
        if sum(row) != 1:
            raise ValueError(f"every row must sum to 1, row {x} sums to {sum(row)}")
    inputs = len(matrix) - 1
    x0, x1 = (check_integer(name, x, 0, inputs) for name, x in (("x0", x0), ("x1", x1)))
    scale = _positive("exp_epsilon", exp_epsilon)
    crowd = {(0,) * len(matrix[0]): Fraction(1)}
    for x in others:
        crowd = _add_report(crowd, matrix[check_integer("others", x, 0, inputs)])
    law0, law1 = _add_report(crowd, matrix[x0]), _add_report(crowd, matrix[x1])
    gains = (p - scale * law1.get(h, Fraction(0)) for h, p in law0.items())
    return sum((gain for gain in gains if gain > 0), Fraction(0))


def _mean_positive_part(values: list[Fraction], weights: list[Fraction], n: int) -> Fraction:
    """Return E[(sum of n draws)_+]; integers over common denominators, which is much quicker."""
    unit = math.lcm(*(v.denominator for v in values))
    share = math.lcm(*(w.denominator for w in weights))
    atoms: defaultdict[int, int] = defaultdict(int)
    for value, weight in zip(values, weights, strict=True):
        if weight:
            atoms[int(value * unit)] += int(weight * share)
    steps = tuple(atoms.items())
    law = {0: 1}
    for _ in range(n):
        longer: defaultdict[int, int] = defaultdict(int)
        for start, probability in law.items():
            for step, count in steps:
                longer[start + step] += probability * count
        law = longer
    total = sum(value * probability for value, probability in law.items() if value > 0)
    return Fraction(total, unit * share**n)


def _add_report(
    histograms: dict[Histogram, Fraction], row: Sequence[Fraction]
) -> dict[Histogram, Fraction]:
    """Return the law of the histogram after one more report drawn from ``row``."""
    result: defaultdict[Histogram, Fraction] = defaultdict(Fraction)
    for histogram, probability in histograms.items():
        for y, p in enumerate(row):
            if p:
                longer = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                result[longer] += probability * p
    return result


def _fraction(name: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, numbers.Rational):
        raise TypeError(f"{name} must hold fractions or integers, got {value!r}")
    return Fraction(int(value.numerator), int(value.denominator))


def _nonnegative(name: str, values: Iterable[object]) -> list[Fraction]:
    fractions = [_fraction(name, value) for value in values]
    if any(value < 0 for value in fractions):
        raise ValueError(f"{name} must be at least 0, got {[str(v) for v in fractions]}")
    return fractions


def _positive(name: str, value: object) -> Fraction:
    fraction = _fraction(name, value)
    if fraction <= 0:
        raise ValueError(f"{name} must be greater than 0, got {fraction}")
    return fraction
