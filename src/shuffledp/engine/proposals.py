r"""Where to look: tilt, smoothing, step and number of nodes, in plain doubles.

Nothing here is proved and nothing needs to be: every positive theta, tau and step gives a valid
bound (:mod:`shuffledp.engine.contour`). A poor choice costs time or width, never truth. The same
sums, evaluated in doubles, are also what searches iterate on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shuffledp.basics.arrays import ComplexArray, FloatArray, usual_errors
from shuffledp.engine.sums import Sum

#: Shares of the relative error asked for that each cause may use up.
_SMOOTHING_SHARE, _ALIASING_SHARE, _TRUNCATION_SHARE = 0.5, 0.05, 0.05

#: Points at which the size of aliases is tried, in standard deviations from the tilt.
_ALIAS_STEPS = np.array([0.5, 1, 1.5, 2, 3, 4, 5, 6.5, 8, 10, 13, 17])

#: An estimate looks at no more than this many waves (nodes times atoms), some nodes at a time.
_MAX_WAVES, _CHUNK = 400_000, 64

#: Sizes are at least this, so that products with them do not underflow.
_SMALLEST_SIZE = 1e-200

#: Beyond this tilt squares are out of the range of doubles; so is e to the power of the other.
_EXTREME, _LARGEST_LOG = 1e100, 690.0

#: A normal density is 0 in doubles so many deviations from its mean.
_FAR = 40.0

#: A sum is measured so often at most, as long as it turns out ever smaller.
_LOOKS = 6

#: Relative accuracy of estimates.
_ROUGH = 1e-3


@dataclass(frozen=True)
class Plan:
    """A contour: its real part, the noise that is added, the distance and number of nodes.

    ``negligible`` is the logarithm of what the power of the characteristic function may be, in
    units of its value at 0, where nodes are skipped; ``aliases`` are the two tilts by which periods
    to the right and to the left are bounded.
    """

    theta: float
    tau: float
    step: float
    nodes: int
    negligible: float
    aliases: tuple[float, float]

    def finer(self, factor: float) -> Plan:
        """Return one with less noise."""
        return replace(self, tau=factor * self.tau, nodes=math.ceil(self.nodes / factor))


class Doubles:
    """A sum in doubles, tilted at its saddle point.

    Values so low that no others make up for them are raised to where that is just so: the kernel is
    0 there, and squares of likelihood ratios may be beyond the range of doubles.
    """

    def __init__(
        self,
        blocks: Sequence[tuple[FloatArray, FloatArray, int]],
        offset: float = 0.0,
        curvature: int = 0,
    ) -> None:
        largest = [float(values.max()) for values, _, _ in blocks]
        others = sum(x * times for x, (_, _, times) in zip(largest, blocks, strict=True)) - offset
        self.blocks = [
            (np.maximum(values, x - max(others, x)), masses, times)
            for x, (values, masses, times) in zip(largest, blocks, strict=True)
        ]
        self.offset, self.curvature = offset, curvature

    @classmethod
    def of(cls, mean: Sum) -> Doubles:
        """Return the doubles nearest to a sum."""
        blocks = [(law.values, law.masses, times) for law, times in mean.blocks]
        return cls(blocks, float(mean.offset), mean.curvature)

    @usual_errors
    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Return log E exp(theta S) and its first two derivatives."""
        log_mgf, mean, variance = -theta * self.offset, -self.offset, 0.0
        for values, masses, times in self.blocks:
            tilted, top = _tilt(theta, values, masses)
            mass = float(tilted.sum())
            first = float(tilted @ values) / mass
            small = _small_log_mgf(masses, theta * values)
            log_mgf += times * (top + math.log(mass) if small is None else small)
            mean += times * first
            deviations = np.sqrt(tilted) * (values - first)  # in this order nothing overflows
            variance += times * float(deviations @ deviations) / mass
        return log_mgf, mean, variance

    @usual_errors
    def tilted(self, block: int) -> list[float]:
        """Return the probabilities of a block's values under the tilted law."""
        values, masses, _ = self.blocks[block]
        tilted, _ = _tilt(self.theta, values, masses)
        return (tilted / tilted.sum()).tolist()  # type: ignore[no-any-return]

    @cached_property
    def theta(self) -> float:
        r"""Where :math:`K(\theta)-\log\theta-\log(\theta+c)` is smallest; a convex function."""
        c = self.curvature
        _, mean, variance = self.cumulants(0.0)
        spread = max(variance, 1e-300)
        guess = 4 / max(math.hypot(mean, math.sqrt(8 * spread)) + mean, 1e-290)
        largest = max(float(values.max()) for values, _, _ in self.blocks)
        # The slope is 0 beyond 1 over the largest sum, below which its Newton steps are short.
        least = 1 / max(sum(float(v.max()) * n for v, _, n in self.blocks) - self.offset, 1e-290)
        log_theta = math.log(min(max(guess, least), 700 / max(largest, 1e-290)))
        low, high = -math.inf, math.inf
        for _ in range(60):
            theta = math.exp(log_theta)
            _, mean, variance = self.cumulants(theta)
            slope = mean - 1 / theta - 1 / (theta + c)
            low, high = (log_theta, high) if slope < 0 else (low, log_theta)
            bend = theta * variance + 1 / theta + theta / (theta + c) / (theta + c)
            step = min(max(-slope / bend, -2.0), 2.0)
            following = min(log_theta + step, _LARGEST_LOG)
            if not low < following < high and math.isfinite(high - low):
                following = (low + high) / 2
            if abs(following - log_theta) < 1e-3:
                break
            log_theta = following
        return math.exp(log_theta)

    @property
    def is_extreme(self) -> bool:
        """Whether the sum is too small for plans."""
        return self.theta > _EXTREME

    @cached_property
    def at_saddle(self) -> tuple[float, float, float]:
        """The cumulants at the saddle point."""
        return self.cumulants(self.theta)

    @cached_property
    def log_estimate(self) -> float:
        """The saddle-point formula for log E f(S)."""
        theta, (log_mgf, _, variance) = self.theta, self.at_saddle
        return log_mgf + math.log(self._size(theta, variance))

    def _size(self, theta: float, variance: float) -> float:
        """Return about the integral in units of its factor at the saddle point."""
        shifted = theta + self.curvature
        spread = math.sqrt(2 * math.pi) * math.hypot(math.sqrt(variance), 1 / theta, 1 / shifted)
        return max(1 / (theta * shifted * spread), _SMALLEST_SIZE)

    def plan(self, rtol: float) -> Plan:
        """Return a contour whose bounds should be about ``rtol`` apart."""
        size, density = self._guessed
        for _ in range(_LOOKS):
            plan = self._plan(rtol, size, density)
            last, (size, density) = size, self._measured(plan)
            if size <= 0:
                return plan
            if size > 0.8 * last and plan.tau**2 * density < size:
                break  # else noise or aliases may be most of what was found
        return self._plan(rtol, size, density)

    def first_plan(self, rtol: float) -> Plan:
        """Return a contour for about the same, at once: as if the sum were normal."""
        return self._plan(rtol, *self._guessed)

    @property
    def _guessed(self) -> tuple[float, float]:
        """About the integral and the density at 0 in units of F(theta)."""
        _, mean, variance = self.at_saddle
        deviation = math.sqrt(max(variance, 1e-300))
        distance = min(abs(mean) / deviation, _FAR)
        density = math.exp(-(distance**2) / 2) / (math.sqrt(2 * math.pi) * deviation)
        return self._size(self.theta, variance), density

    def _plan(self, rtol: float, size: float, density: float) -> Plan:
        """Return a contour for an integral and a density at 0 in units of F(theta)."""
        theta, (log_mgf, _, variance) = self.theta, self.at_saddle
        deviation = math.sqrt(max(variance, 1e-300))
        tau = math.sqrt(_SMOOTHING_SHARE * rtol * size / max(density, 1e-300))
        tau = min(tau, 0.3 * math.hypot(deviation, 1 / theta), 0.5 / theta)
        right, length = self._period(rtol, size, log_mgf, tau, above=True)
        left, other = self._period(rtol, size, log_mgf, tau, above=False)
        step = 2 * math.pi / max(length, other)
        reach = self._reach(tau, _TRUNCATION_SHARE * rtol * size)
        start = 8 / math.hypot(deviation, 1 / theta)
        negligible = math.log(0.02 * rtol * size * math.pi * start)
        nodes = math.ceil(reach / (tau * step))
        return Plan(theta, tau, step, nodes, negligible, (right, left))

    @usual_errors
    def _measured(self, plan: Plan) -> tuple[float, float]:
        """Return about E f(X) and the density of X at 0 in units of F(theta), from a few nodes.

        Further nodes matter where a law is nearly on a lattice, and there tau decides.
        """
        z, power = self._nodes(plan)
        power[0] /= 2
        unit = plan.step / math.pi
        integral = float((power / (z * (z + self.curvature))).real.sum())
        return unit * integral, abs(unit * float(power.real.sum()))

    @usual_errors
    def _nodes(self, plan: Plan) -> tuple[ComplexArray, ComplexArray]:
        """Return nodes z and F(z)/F(theta), as far as they are not negligible."""
        theta, c = plan.theta, self.curvature
        atoms = sum(values.size for values, _, _ in self.blocks)
        last, found, size = min(plan.nodes, _MAX_WAVES // atoms), [], 0.0
        for start in range(0, last + 1, _CHUNK):
            t = plan.step * np.arange(start, min(start + _CHUNK, last + 1))
            drift = plan.tau**2 * (theta + c / 2) - self.offset
            log_power = 1j * t * drift - (plan.tau * t) ** 2 / 2
            for values, masses, times in self.blocks:
                tilted, _ = _tilt(theta, values, masses)
                tilted /= tilted.sum()
                centre = float(tilted @ values)
                turned = np.expm1(1j * np.multiply.outer(t, values - centre)) @ tilted
                log_power = log_power + times * (np.log1p(turned) + 1j * centre * t)
            z, power = theta + 1j * t, np.exp(log_power)
            found.append((z, power))
            size += float((power / (z * (z + c))).real.sum())
            if float(np.abs(power[-8:]).max()) / t[-1] < 1e-5 * abs(size) * plan.step:
                break
        return np.concatenate([z for z, _ in found]), np.concatenate([p for _, p in found])

    @usual_errors
    def log_densities(self, places: FloatArray) -> FloatArray:
        """Return about the logarithms of the density of X at some places."""
        if self.is_extreme:
            return np.zeros_like(places)
        plan = self.plan(_ROUGH)
        z, power = self._nodes(plan)
        power[0] /= 2
        height = (np.exp(np.multiply.outer(-places, 1j * z.imag)) @ power).real
        noise = plan.tau**2 * self.theta * (self.theta + self.curvature) / 2
        log_factor = self.at_saddle[0] + noise + math.log(plan.step / math.pi)
        found: FloatArray = np.log(np.maximum(height, 1e-12)) + log_factor - self.theta * places
        return found

    def _period(
        self, rtol: float, size: float, log_mgf: float, tau: float, *, above: bool
    ) -> tuple[float, float]:
        """Return a tilt beside theta, and the period that makes aliases on its side small."""
        theta, c = self.theta, self.curvature
        width = math.hypot(math.sqrt(self.at_saddle[2]), tau, 1 / theta)
        tilts = (
            theta + _ALIAS_STEPS / width
            if above
            else theta * np.array([0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])
        )
        if not above:
            near = theta - _ALIAS_STEPS / width
            tilts = np.concatenate([tilts, near[near > 0]])
        best = (theta, math.inf)
        for s in tilts.tolist():
            logs = self.cumulants(s)[0] - log_mgf + tau**2 * (s * (s + c) - theta * (theta + c)) / 2
            peak = -1 - math.log(s) if c == 0 else s * math.log(s / (s + 1)) - math.log1p(s)
            excess = logs + peak - math.log(_ALIASING_SHARE * rtol * size)
            length = max(excess, 1.0) / abs(s - theta)
            if length < best[1]:
                best = (s, length)
        return best

    @staticmethod
    def _reach(tau: float, share: float) -> float:
        r"""Return x with :math:`\tau e^{-x^2/2}/(\pi x^3)` of at most ``share``."""
        reach = 3.0
        while tau * math.exp(-reach * reach / 2) / (math.pi * reach**3) > share and reach < 37:
            reach += 0.25
        return reach

    @cached_property
    def log_measured(self) -> float:
        """About log E f(S), from nodes rather than from the saddle-point formula."""
        if self.is_extreme:
            return self.log_estimate
        plan = self.plan(_ROUGH)
        size, _ = self._measured(plan)
        if size <= 0:
            return self.log_estimate
        noise = plan.tau**2 * self.theta * (self.theta + self.curvature) / 2
        return self.at_saddle[0] + noise + math.log(size)


def _tilt(theta: float, values: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Return tilted masses, in units of the largest one, and the logarithm of that."""
    logs = np.log(masses, where=masses > 0, out=np.full_like(masses, -np.inf)) + theta * values
    top = float(logs.max())
    return np.exp(logs - top), top


def _small_log_mgf(masses: FloatArray, exponents: FloatArray) -> float | None:
    """Return log E exp(X) where X is small, to a relative accuracy; None if it is not small.

    Of many users, the absolute accuracy of other formulas is not enough.
    """
    missing = float(masses.sum()) - 1
    if missing < -0.5 or not -1 < exponents.min() <= exponents.max() < 1:
        return None
    missing = missing if abs(missing) > 1e-14 else 0.0  # less is rounding
    return math.log1p(missing + float(masses @ np.expm1(exponents)))
