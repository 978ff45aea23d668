r"""Joint compositions of many equal parts, against a direct computation in extended precision.

The ratios of m equal parts lie on a lattice, (E^i, E^j), and their masses are the coefficients of
:math:`(p\,x+p\,y+q\,xy+r)^m`. For one epsilon the bound is a contour integral of the power n of
their transform, here by plain quadrature.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from blankets import blanket_accountant

from shuffledp import KRR, OUE, RAPPOR, BinaryLocalHash, joint
from shuffledp.mechanisms import LocalRandomizer

DELTA = 1e-8
PARTS, USERS = 64, 10**5


class Reference:
    """The law of the ratios of many equal parts, in extended precision."""

    def __init__(self, level: float, p: float, q: float, r: float) -> None:
        mass = np.zeros((PARTS + 1, PARTS + 1), dtype=np.longdouble)
        mass[0, 0] = 1
        for _ in range(PARTS):
            longer = r * mass
            longer[1:] += p * mass[:-1]
            longer[:, 1:] += p * mass[:, :-1]
            longer[1:, 1:] += q * mass[:-1, :-1]
            mass = longer
        self.weights = mass.ravel()
        powers = np.exp(np.longdouble(level) * np.arange(PARTS + 1))
        self.ratio0 = np.repeat(powers, PARTS + 1)
        self.ratio1 = np.tile(powers, PARTS + 1)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return bounds: of one user who reports alone, or the integral where users are many."""
        values = self.ratio0 - np.exp(np.longdouble(epsilon)) * self.ratio1
        alone = float(self.weights @ np.maximum(values, 0))
        covered = float(self.weights.sum())
        if USERS * covered < 1e-3:
            return alone * (1 - USERS * covered), alone
        value = self._integral(values)
        return value * (1 - 1e-6), value * (1 + 1e-6)

    def simulated(self, epsilon: float, samples: int) -> tuple[float, float]:
        """Return an unbiased estimate of delta and its standard error.

        All but one report are drawn, and the mean over the last one is taken, if it is the largest;
        one among equals counts by its share.
        """
        values = self.ratio0 - np.exp(np.longdouble(epsilon)) * self.ratio1
        order = np.argsort(values)
        values = np.append(values[order], 0.0).astype(np.float64)
        weights = np.append(self.weights[order], 1 - self.weights.sum()).astype(np.float64)
        rng = np.random.default_rng(5)
        found = np.empty(samples)
        for k in range(samples):
            counts = rng.multinomial(USERS - 1, weights)
            largest = values[counts > 0].max()
            equal = counts[values == largest].sum()
            share = np.where(values > largest, 1.0, (values == largest) / (1.0 + equal))
            found[k] = (weights * share) @ np.maximum(values + counts @ values, 0.0)
        return float(found.mean()), float(found.std() / math.sqrt(samples))

    def _integral(self, values: np.ndarray) -> float:
        """Trapezoidal sum of M^n/z^2 on a vertical line near the saddle point."""
        theta, sigma = self._saddle(values)
        log_peak = USERS * np.log1p(self.weights @ np.expm1(theta * values))
        steps = np.arange(-240, 241) * np.longdouble(0.05) / np.longdouble(sigma)
        total = np.longdouble(0)
        for t in steps:
            z = theta + 1j * t
            growth = np.exp(theta * values) * (np.cos(t * values) + 1j * np.sin(t * values)) - 1
            log_power = USERS * np.log1p(self.weights @ growth) - log_peak
            total += (np.exp(log_power) / z**2).real
        return float(np.exp(log_peak) * total * (steps[1] - steps[0]) / (2 * math.pi) / USERS)

    def _saddle(self, values: np.ndarray) -> tuple[float, float]:
        """Bisect for the root of n K'(theta) = 2/theta."""
        low, high = 0.0, 50 / float(values.max())
        for _ in range(60):
            theta = (low + high) / 2
            tilted = self.weights * np.exp(theta * values)
            total = 1 + float(self.weights @ np.expm1(theta * values))
            mean = float(tilted @ values) / total
            if USERS * mean > 2 / theta:
                high = theta
            else:
                low = theta
        variance = float(tilted @ values**2) / total - mean**2
        return theta, math.sqrt(USERS * variance + 2 / theta**2)


def reference_of(part: LocalRandomizer) -> Reference:
    """Randomized response from its definition, others from one part, of at most four components."""
    level = part.epsilon0
    if isinstance(part, KRR):
        p = 1 / (math.exp(level) + part.k - 1)
        return Reference(level, p, 0.0, (part.k - 2) * p)
    one = part.blanket(part.neighbours()[0])
    masses = {
        (round(float(x) / level), round(float(y) / level)): float(w)
        for x, y, w in zip(one.log_ratio0, one.log_ratio1, one.weight, strict=True)
    }
    assert masses[1, 0] == pytest.approx(masses[0, 1])
    return Reference(level, masses[1, 0], masses.get((1, 1), 0.0), masses.get((0, 0), 0.0))


@pytest.mark.heavy(keep=0)
@pytest.mark.parametrize(
    "part",
    [
        KRR(k=10, epsilon0=0.1),
        KRR(k=10, epsilon0=2.0),
        OUE(epsilon0=0.1),
        OUE(epsilon0=2.0),
        RAPPOR(epsilon0=2.0),
        BinaryLocalHash(epsilon0=0.05),
        BinaryLocalHash(epsilon0=2.0),
    ],
    ids=str,
)
def test_many_equal_parts_are_sharp(part):
    interval = blanket_accountant(joint(*[part] * PARTS), USERS).epsilon_interval(DELTA)
    assert interval.width <= 1e-3 * interval.upper
    reference = reference_of(part)
    assert reference.delta(interval.upper)[0] <= DELTA
    assert reference.delta(interval.lower)[1] >= DELTA
    assert reference.delta(0.99 * interval.upper)[0] > DELTA


@pytest.mark.heavy
@pytest.mark.parametrize(("level", "samples"), [(0.5, 300), (1.0, 2000)])
def test_one_large_ratio_among_many_losses(level, samples):
    """Few ratios are so large that one of them decides: no saddle point, but easy to simulate."""
    part = KRR(k=10, epsilon0=level)
    interval = blanket_accountant(joint(*[part] * PARTS), USERS).epsilon_interval(DELTA)
    assert interval.width <= 1e-3 * interval.upper
    reference = reference_of(part)
    for factor, sign in ((0.98, 1), (1.02, -1)):
        delta, error = reference.simulated(factor * interval.upper, samples)
        assert sign * (delta - DELTA) > 2 * error
    delta, error = reference.simulated(interval.upper, samples)
    assert abs(delta - DELTA) < 3 * error


@pytest.mark.heavy
@pytest.mark.parametrize("parts", [24, 47, 100])
def test_the_error_of_the_residual_stays_small(parts):
    whole = joint(*[KRR(k=10, epsilon0=0.1)] * parts)
    blanket = whole.decomposition(whole.neighbours()[0])
    exact = -math.expm1(parts * math.log(10 / (math.exp(0.1) + 9)))
    assert float(blanket.residual) == pytest.approx(exact, rel=1e-12)
