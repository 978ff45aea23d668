r"""The mean of a positive part in ball arithmetic, by methods the library does not use.

A law is a list of (value, weight) pairs of Arb balls. Every function returns a ball that is proved
to contain :math:`E[(G_1+\dots+G_n)_+]`:

* ``enumerated_mean``: the sum over all count vectors (few atoms, small n);
* ``binomial_mean``: two atoms and any n, through the incomplete beta function;
* ``trinomial_mean``: two atoms beside 0, given how many draws are not 0;
* ``lattice_mean``: values that are integer multiples of one unit, through a polynomial power;
* ``integral_mean``: large n, by rigorous quadrature of the inversion integral. Unlike the engine
  it neither smooths nor sums over a grid, and it bounds the tail by other inequalities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import acb, arb, arb_poly, ctx, fmpq
from numpy.typing import NDArray

from shuffledp.decomposition import Decomposition

Atoms: TypeAlias = list[tuple[arb, arb]]
Function = Callable[..., arb]

PRECISION = 320  # bits: all ends of the balls below are far finer than doubles


def precise(function: Function) -> Function:
    """Run a function at the precision of this module."""

    def wrapper(*args: object, **options: object) -> arb:
        with ctx.workprec(PRECISION):
            return function(*args, **options)

    return wrapper


def ball(x: float | int | Fraction) -> arb:
    """The exact value of a double or a fraction."""
    return arb(fmpq(x.numerator, x.denominator)) if isinstance(x, Fraction) else arb(x)


@precise
def law_of_ratios(
    log0: Iterable[float],
    log1: Iterable[float],
    weights: Iterable[float],
    residual: float,
    epsilon: float,
) -> Atoms:
    """The law of G for doubles that are taken as exact."""
    level = arb(epsilon).exp()
    atoms = [
        (_exp(x) - level * _exp(y), arb(float(w)))
        for x, y, w in zip(log0, log1, weights, strict=True)
    ]
    return [*atoms, (arb(0), arb(residual))] if residual > 0 else atoms


def law_of(decomposition: Decomposition, epsilon: float) -> Atoms:
    """The law of G, the doubles that describe the decomposition taken as exact."""
    d = decomposition
    return law_of_ratios(d.log_ratio0, d.log_ratio1, d.weight, d.residual, epsilon)


def _exp(log: float) -> arb:
    return arb(0) if log == -math.inf else arb(float(log)).exp()


@precise
def five_point_law(p: arb, q: arb, r: arb, level: arb, epsilon: float) -> Atoms:
    """The law of G with mass p at (E, 1) and (1, E), q at (E, E), r at (1, 1), the rest at 0."""
    scale = arb(epsilon).exp()
    atoms = [
        (level - scale, p),
        (1 - scale * level, p),
        (level * (1 - scale), q),
        (1 - scale, r),
        (arb(0), 1 - 2 * p - q - r),
    ]
    return [(g, w) for g, w in atoms if w > 0]


@precise
def mean_of(atoms: Atoms) -> arb:
    return sum((g * w for g, w in atoms), arb(0))


def counts_of(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All vectors of ``parts`` non-negative integers with the given sum."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in counts_of(total - first, parts - 1):
            yield (first, *rest)


@precise
def enumerated_mean(atoms: Atoms, n: int) -> arb:
    values = [g for g, _ in atoms]
    powers = [[w**k for k in range(n + 1)] for _, w in atoms]
    total = arb(0)
    for counts in counts_of(n, len(atoms)):
        s = sum((k * g for k, g in zip(counts, values, strict=True)), arb(0))
        if s <= 0:
            continue
        coefficient = math.factorial(n)
        weight = arb(1)
        for k, power in zip(counts, powers, strict=True):
            coefficient //= math.factorial(k)
            weight *= power[k]
        total += coefficient * weight * s.max(arb(0))
    return total


@precise
def binomial_mean(atoms: Atoms, n: int) -> arb:
    """Two atoms: the sum is k g + (n - k) h with a binomial k, positive from some k on."""
    (g, w), (h, v) = sorted(atoms, key=lambda atom: -float(atom[0].mid()))
    if not g > 0:
        return arb(0)
    if n == 0 or h >= 0:
        return n * (g * w + h * v)
    switch = n * -h / (g - h)  # the k at which the sum is 0
    low, high = int(switch.lower().floor().unique_fmpz()), int(switch.upper().ceil().unique_fmpz())

    def at_least(k: int, draws: int) -> arb:
        """P(k or more of the draws fall on g)."""
        if k <= 0 or k > draws:
            return arb(int(k <= 0))
        return w.beta_lower(arb(k), arb(draws - k + 1), regularized=True)

    def tail(first: int) -> arb:
        # k C(n, k) = n C(n-1, k-1): both sums are binomial tails of one draw less.
        return n * (g * w * at_least(first - 1, n - 1) + h * v * at_least(first, n - 1))

    # A sum of 0 may count as positive or not; if that is open, so is a ball around 0.
    result = tail(low + 1)
    for first in range(low + 2, high + 1):
        result = result.union(tail(first))
    return result


@precise
def trinomial_mean(atoms: Atoms, n: int) -> arb:
    """Two atoms and 0: condition on the number of draws that are not 0."""
    moving = [(g, w) for g, w in atoms if not g == 0]  # noqa: SIM201 (of balls, not != )
    share = sum((w for _, w in moving), arb(0))
    given = [(g, w / share) for g, w in moving]
    still = 1 - share
    total, weight = arb(0), still**n
    for k in range(n + 1):
        if k:
            weight *= share / still * (n - k + 1) / k
        total += weight * binomial_mean(given, k)
    return total


@precise
def lattice_mean(steps: Sequence[int], weights: Sequence[Fraction], unit: Fraction, n: int) -> arb:
    """Values steps times unit: the law of the sum is the power of a polynomial."""
    bottom = min(steps)
    coefficients = [Fraction(0)] * (max(steps) - bottom + 1)
    for step, weight in zip(steps, weights, strict=True):
        coefficients[step - bottom] += weight
    power = arb_poly([ball(c) for c in coefficients]) ** n
    first = max(0, 1 - n * bottom)
    total = arb(0)
    for k in range(first, n * (len(coefficients) - 1) + 1):
        total += (k + n * bottom) * power[k]
    return total * ball(unit)


class _Tilted:
    """A law tilted by theta and centred, as balls and as doubles."""

    def __init__(self, atoms: Atoms, n: int) -> None:
        values = np.array([float(g.mid()) for g, _ in atoms])
        weights = np.array([float(w.mid()) for _, w in atoms])
        self.theta = _tilt_for(values, weights, n)
        tilted = [w * (self.theta * g).exp() for g, w in atoms]
        self.mgf = sum(tilted, arb(0))
        self.probability = [x / self.mgf for x in tilted]
        self.mean = sum((p * g for p, (g, _) in zip(self.probability, atoms, strict=True)), arb(0))
        self.centred = [g - self.mean for g, _ in atoms]
        self.p = np.array([float(x.mid()) for x in self.probability])
        self.c = np.array([float(x.mid()) for x in self.centred])
        self.variance = float(self.p @ self.c**2)
        self.fourth = float(self.p @ self.c**4)


def _tilt_for(values: NDArray[np.float64], weights: NDArray[np.float64], n: int) -> float:
    """Roughly where n K(theta) - 2 log theta is smallest, by bisection in log theta."""

    def falls(theta: float) -> bool:
        exponent = theta * values + np.log(weights)
        tilted = np.exp(exponent - exponent.max())
        return n * float(tilted @ values) / float(tilted.sum()) < 2 / theta

    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(math.exp(middle)) else (low, middle)
    return math.exp(low)


@precise
def integral_mean(atoms: Atoms, n: int, rtol: float = 1e-8) -> arb:
    r"""Integrate :math:`\frac1\pi\Re\int_0^\infty M(\theta+it)^n(\theta+it)^{-2}dt`.

    Up to 13 standard deviations by rigorous quadrature; beyond, the modulus is bounded.
    """
    law = _Tilted(atoms, n)
    theta = law.theta
    sigma = math.sqrt(n * law.variance)
    end = 13 / sigma
    size = 1 / (theta**2 * 2.5 * math.hypot(sigma, 1.5 / theta))

    def integrand(t: acb, analytic: bool) -> acb:
        excess = acb(0)  # of the characteristic function of the centred law over 1
        for p, c in zip(law.probability, law.centred, strict=True):
            excess += p * _rest_of_exponential(t * c)
        if analytic and not excess.abs_upper() < 0.9:
            return acb("nan")
        log = n * ((1 + excess).log() + acb(0, 1) * t * law.mean)
        return log.exp() / (theta + acb(0, 1) * t) ** 2

    main = acb.integral(integrand, 0, end, abs_tol=arb(rtol * size / 100), rel_tol=arb(2.0**-40))
    rest = _tail_bound(law, n, end, rtol * size)
    value = (main.real + arb(0, rest)) / arb.pi()
    return law.mgf**n * value


def _rest_of_exponential(x: acb) -> acb:
    """exp(ix) - 1 - ix, in a form whose ball shrinks with x (mean value theorem)."""
    i, middle = acb(0, 1), x.mid()
    exact = (i * middle).exp() - 1 - i * middle
    return exact + i * ((i * x).exp() - 1) * (x - middle)


def _tail_bound(law: _Tilted, n: int, begin: float, allowance: float) -> float:
    r"""Bound the integral of :math:`|\varphi|^n/t^2` from ``begin`` on, about ``allowance``.

    Near 0, :math:`|\varphi|^2\le1-s^2t^2+\frac{t^4}{24}E(G-G')^4`; further on cells with the
    Lipschitz constant E|G - m| of the characteristic function; in the end its modulus is 1.
    """
    variance = law.variance
    fourth = 2 * law.fourth + 6 * variance**2
    near = max(math.sqrt(12 * variance / fourth), begin)  # there |phi|^2 <= 1 - s^2 t^2 / 2
    bound = math.exp(-0.25 * n * variance * begin**2 * (1 - 1e-9)) / begin
    last = 2 / allowance
    bound += 1 / last
    slope = float(law.p @ np.abs(law.c)) * (1 + 1e-9)
    smallest = 0.1 / math.sqrt(n * variance)
    starts = np.arange(near, last, 0.2 / math.sqrt(variance))
    widths = np.full(starts.size, 0.2 / math.sqrt(variance))
    limit = 0.5 * allowance / max(starts.size, 1)
    while starts.size:
        settled = np.zeros(starts.size)
        for chunk in np.array_split(np.arange(starts.size), starts.size // 200_000 + 1):
            settled[chunk] = _cell_bounds(law, n, starts[chunk], widths[chunk], slope)
        done = (settled <= limit) | (widths < smallest)
        bound += float(settled[done].sum())
        starts, widths = starts[~done], widths[~done] / 4
        starts = (starts[:, None] + widths[:, None] * np.arange(4)).ravel()
        widths = np.repeat(widths, 4)
        limit /= 4
    return bound * (1 + 1e-6)


def _cell_bounds(
    law: _Tilted,
    n: int,
    starts: NDArray[np.float64],
    widths: NDArray[np.float64],
    slope: float,
) -> NDArray[np.float64]:
    middle = starts + widths / 2
    angle = np.multiply.outer(middle, law.c)
    modulus = np.hypot(np.cos(angle) @ law.p, np.sin(angle) @ law.p)
    rounding = 1e-14 + 1e-15 * middle * slope
    modulus = np.minimum(modulus + slope * widths / 2 + rounding, 1.0)
    return np.exp(n * np.log(modulus)) * widths / starts**2
