r"""Reference values for additive noise, from the densities alone.

At the pair (0, 1) the blanket has, on either side of 1/2, a density in x = log R(near)/R(far), and
perhaps an atom. G is :math:`e^x-\lambda` on the near side and :math:`1-\lambda e^x` on the far
one. For n = 1 the bound is the hockey-stick divergence of two reports; for n = 2 and 3 it is
integrated over all reports but one, the last in closed form; for many users the inversion integral
is evaluated with Gauss-Legendre nodes for the densities. None of it is certified, but no cell and
no bound of the library enters, and each answer comes with its own error estimate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value of delta and how far it may be off below and above."""

    value: float
    below: float
    above: float

    @property
    def lower(self) -> float:
        return self.value - self.below

    @property
    def upper(self) -> float:
        return self.value + self.above


class Noise(ABC):
    """One side of the blanket: a density of x on [0, end] and an atom at the end."""

    end: float
    atom: float = 0.0
    residual: float

    @abstractmethod
    def density(self, x: Array) -> Array:
        """The c-density of x on one side."""

    @abstractmethod
    def near_mass(self, x: Array) -> Array:
        """The integral of e^x c from 0 to x, without the atom."""

    @abstractmethod
    def far_mass(self, x: Array) -> Array:
        """The integral of c from 0 to x, without the atom."""

    @abstractmethod
    def alone(self, epsilon: float) -> mpmath.mpf:
        """The divergence of one report."""

    def excess(self, shift: Array, scale: float) -> Array:
        """E(G + shift)_+ in closed form."""
        full_near, full_far = self.near_mass(np.array(self.end)), self.far_mass(np.array(self.end))
        # Near side: e^x > scale - shift. Far side: e^x < (1 + shift)/scale.
        start = np.clip(np.log(np.maximum(scale - shift, 1.0)), 0.0, self.end)
        near = (full_near - self.near_mass(start)) - (scale - shift) * (
            full_far - self.far_mass(start)
        )
        stop = np.clip(np.log(np.maximum((1 + shift) / scale, 1.0)), 0.0, self.end)
        far = (1 + shift) * self.far_mass(stop) - scale * self.near_mass(stop)
        top = math.exp(self.end)
        atoms = np.maximum(top - scale + shift, 0) + np.maximum(1 + shift - scale * top, 0)
        if self.atom == 0:
            atoms = np.zeros_like(shift)
        return near + far + self.atom * atoms + self.residual * np.maximum(shift, 0)

    def nodes(self, panels: int, order: int, scale: float) -> tuple[Array, Array]:
        """Values of G and their probabilities, the densities replaced by Gauss-Legendre nodes."""
        abscissa, weight = np.polynomial.legendre.leggauss(order)
        edges = np.linspace(0.0, self.end, panels + 1)
        half = np.diff(edges) / 2
        x = (edges[:-1, None] + half[:, None] * (1 + abscissa)).ravel()
        mass = (half[:, None] * weight).ravel() * self.density(x)
        values, weights = [np.exp(x) - scale, 1 - scale * np.exp(x)], [mass, mass]
        if self.atom:
            top = math.exp(self.end)
            values.append(np.array([top - scale, 1 - scale * top]))
            weights.append(np.full(2, self.atom))
        values.append(np.zeros(1))
        weights.append(np.array([self.residual]))
        return np.concatenate(values), np.concatenate(weights)


class LaplaceNoise(Noise):
    def __init__(self, epsilon0: float) -> None:
        self.end = epsilon0
        self.atom = math.exp(-epsilon0) / 2
        self.residual = -math.expm1(-epsilon0 / 2)
        self._scale = math.exp(-epsilon0 / 2)

    def density(self, x: Array) -> Array:
        return self._scale * np.exp(-x / 2) / 4

    def near_mass(self, x: Array) -> Array:
        return self._scale * np.expm1(x / 2) / 2

    def far_mass(self, x: Array) -> Array:
        return -self._scale * np.expm1(-x / 2) / 2

    def alone(self, epsilon: float) -> mpmath.mpf:
        """By quadrature of (R(0) - e^epsilon R(1))_+ over the output y."""
        with mpmath.workdps(40):
            rate, level = mpmath.mpf(self.end), mpmath.mpf(epsilon)
            kink = (1 - level / rate) / 2  # where the ratio is e^epsilon

            def gain(y: mpmath.mpf) -> mpmath.mpf:
                first, second = mpmath.exp(-rate * abs(y)), mpmath.exp(-rate * abs(y - 1))
                return rate / 2 * (first - mpmath.exp(level) * second)

            return mpmath.quad(gain, [-60 / rate, -1, 0, kink])


class GaussianNoise(Noise):
    """``reach`` standard deviations are covered; what lies beyond is counted by ``beyond``."""

    def __init__(self, sigma: float, reach: float) -> None:
        self.sigma = sigma
        self.half = 0.5 / sigma
        self.end = reach / sigma
        self.residual = math.erf(self.half / math.sqrt(2)) + 2 * ndtr(-reach - self.half)
        self.beyond = float(ndtr(self.half - reach))  # E[G; cut] is at most this

    def density(self, x: Array) -> Array:
        s = x * self.sigma
        return np.exp(-0.5 * (s + self.half) ** 2) * self.sigma / math.sqrt(2 * math.pi)

    def near_mass(self, x: Array) -> Array:
        return ndtr(x * self.sigma - self.half) - ndtr(-self.half)

    def far_mass(self, x: Array) -> Array:
        return ndtr(-self.half) - ndtr(-self.half - x * self.sigma)

    def alone(self, epsilon: float) -> mpmath.mpf:
        """By the two normal tails that meet at the ratio e^epsilon."""
        with mpmath.workdps(60):
            sigma, level = mpmath.mpf(self.sigma), mpmath.mpf(epsilon)
            half = 1 / (2 * sigma)
            return mpmath.ncdf(half - level * sigma) - mpmath.exp(level) * mpmath.ncdf(
                -half - level * sigma
            )


def few_users(noise: Noise, n: int, epsilon: float, panels: int = 400) -> Estimate:
    """Integrate over n - 1 reports; the error is judged by halving the grid."""
    scale = math.exp(epsilon)

    def integrate(count: int) -> float:
        values, weights = noise.nodes(count, 2, scale)
        if n == 2:
            return float(weights @ noise.excess(values, scale)) / 2
        total = 0.0
        for part in np.array_split(np.arange(values.size), 16):
            sums = np.add.outer(values[part], values)
            total += float(weights[part] @ (noise.excess(sums, scale) @ weights))
        return total / 3

    fine, coarse = integrate(panels), integrate(panels // 2)
    error = 4 * abs(fine - coarse) + 1e-12  # kinks make it irregular
    return Estimate(fine, error, error + getattr(noise, "beyond", 0.0))


def many_users(noise: Noise, n: int, epsilon: float) -> Estimate:
    """The inversion integral over Gauss-Legendre nodes of the density."""
    value = inverted_delta(*noise.nodes(24, 24, math.exp(epsilon)), n)
    error = 1e-8 * value
    return Estimate(value, error, error + getattr(noise, "beyond", 0.0))


def inverted_delta(values: Array, weights: Array, n: int) -> float:
    """The inversion integral by the trapezoidal rule, fine enough for about 8 digits."""
    theta = _tilt(values, weights, n)
    tilted = weights * np.expm1(theta * values)
    log_mgf = math.log1p(float(tilted.sum()))
    p = weights * np.exp(theta * values - log_mgf)
    mean = float(p @ values)
    c = values - mean
    sigma = math.sqrt(n * float(p @ c**2))
    step = 2 * math.pi / (30 * sigma + 40 / theta)
    total, k, block = 0.0, 0, 512
    while True:
        t = step * np.arange(k, k + block)
        angle = np.multiply.outer(t, c) / 2
        sine = np.sin(angle)
        x, y = -2 * (sine**2 @ p), 2 * ((sine * np.cos(angle)) @ p)
        log_phi = 0.5 * np.log1p(2 * x + x * x + y * y) + 1j * np.arctan2(y, 1 + x)
        terms = np.exp(n * (log_phi + 1j * t * mean)) / (theta + 1j * t) ** 2
        if k == 0:
            terms[0] /= 2
        total += float(terms.real.sum())
        k += block
        if np.abs(terms).max() < 1e-14 * abs(total):
            break
    return math.exp(n * log_mgf) * total * step / math.pi / n


def _tilt(values: Array, weights: Array, n: int) -> float:
    low, high = math.log(1e-9), math.log(300 / values.max())
    for _ in range(60):
        middle = (low + high) / 2
        p = weights * np.exp(math.exp(middle) * values)
        falls = n * float(p @ values) / float(p.sum()) < 2 / math.exp(middle)
        low, high = (middle, high) if falls else (low, middle)
    return math.exp(low)
