"""Sums of noise against a contour integral of their own: densities, a fine rule, no bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.arrays import FloatArray
from shuffledp.divergence import BlockSum
from shuffledp.divergence.contour import contour_log_mean
from shuffledp.divergence.tilt import log_mgf, tilt, tilt_sum
from shuffledp.randomizers import Gaussian, Laplace, Pair
from shuffledp.randomizers.noise import SymmetricNoise

PAIR = Pair(0, 1)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
PANELS = 30


def law_of_gains(
    mechanism: SymmetricNoise, end: float, epsilon: float, holder: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return values and weights of G up to the end; all other mass has G = 0."""
    edges = np.linspace(0.0, end, PANELS + 1)
    radius = np.diff(edges)[:, None] / 2
    s = (edges[:-1, None] + radius * (1 + NODES)).ravel()
    step = (radius * WEIGHTS).ravel()
    if isinstance(mechanism, Gaussian):
        half = 0.5 / mechanism.sigma
        near, far = (
            step * np.exp(-((s + x) ** 2) / 2) / math.sqrt(2 * math.pi) for x in (-half, half)
        )
        log_u = s / mechanism.sigma
    else:
        level = mechanism.epsilon0
        scale = step * math.exp(-level / 2) / 4
        near = np.append(scale * np.exp(s / 2), 0.5)
        far = np.append(scale * np.exp(-s / 2), math.exp(-level) / 2)
        log_u = np.append(s, level)
    values, weights = [], []
    for first, second in ((near, far), (far, near)):
        c = far if holder is None else (first, second)[holder]
        log_c = np.log(c / far)
        sign = 1 if first is near else 0
        b = np.exp(epsilon + (1 - sign) * log_u - log_c)
        values.append(b * np.expm1((2 * sign - 1) * log_u - epsilon))
        weights.append(c)
    return np.concatenate(values), np.concatenate(weights)


def log_mean(values: FloatArray, weights: FloatArray, n: int, theta: float) -> float:
    """Return log E[S_+] for a law whose transform dies out quickly, to some 1e-11."""
    growth = 1 + float(weights @ np.expm1(theta * values))
    p = weights * np.exp(theta * values) / growth
    deviation = math.sqrt(n * float(p @ values**2) + 1 / theta**2)
    step = 2 * math.pi / (40 * deviation + 50 / theta)
    t = step * np.arange(600)
    angle = np.multiply.outer(t, values)
    turned = -2 * (np.sin(angle / 2) ** 2 @ p) + 1j * (np.sin(angle) @ p)
    integrand = np.exp(n * np.log1p(turned)) / (theta + 1j * t) ** 2
    assert abs(integrand[-50:]).max() < 1e-14 * abs(integrand[0])
    integrand[0] /= 2
    return n * math.log(growth) + math.log(integrand.real.sum() * step / math.pi)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
@pytest.mark.parametrize("width", [0.4, 1.2])
@pytest.mark.parametrize("holder", [None, 0, 1])
@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon", "theta"),
    [
        (Gaussian(sigma=1.0), 1000, 0.2, 0.03),
        (Gaussian(sigma=2.0), 100, 0.24, 0.3),
        (Gaussian(sigma=5.0), 200, 0.0, 0.3),
        (Laplace(epsilon0=1.0), 100, 0.2, 0.2),
        (Laplace(epsilon0=4.0), 1000, 0.4, 0.02),
    ],
)
def test_enclosures_hold_what_a_fine_rule_finds(mechanism, n, epsilon, theta, holder, width, rtol):
    made = mechanism.blanket(PAIR) if holder is None else mechanism.background(PAIR, holder)
    assert made.smooth is not None
    end = min(6.0, made.smooth.length)
    exact = log_mean(*law_of_gains(mechanism, end, epsilon, holder), n, theta)
    law = made.smooth.quadrature(end, width).law(epsilon)
    found = contour_log_mean(BlockSum.of((law, n)), rtol, 1e6)
    assert found.lower - 1e-10 <= exact <= found.upper + 1e-10
    assert found.width < 0.5


@pytest.mark.parametrize("share", [20.0, 60.0])
def test_tilts_that_a_rule_hardly_follows_have_the_error_they_say(share):
    """The quadrature is off by far more than rounding here, and all uses of K know it."""
    mechanism, end, epsilon, n = Gaussian(sigma=0.5), 5.0, 0.1, 50
    made = mechanism.blanket(PAIR)
    assert made.smooth is not None
    law = made.smooth.quadrature(end, 2.5).law(epsilon)
    theta = share / float(law.values.max())
    values, weights = law_of_gains(mechanism, end, epsilon, None)
    exact = math.log1p(float(weights @ np.expm1(theta * values)))
    k, error = log_mgf(law, np.array([theta / 3, theta, theta / 2]))
    tilted = tilt(law, theta)
    assert 1e-9 < abs(k[1] - exact) <= error[1]
    assert 1e-9 < abs(tilted.log_mgf - exact) <= tilted.log_mgf_error
    whole = tilt_sum(BlockSum.of((law, n)), theta)
    assert abs(whole.log_mgf - n * exact) <= whole.log_mgf_error
