"""Where to evaluate the swap bound. Chosen in doubles: any choice gives a proved bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from shuffledp.certification.grid import alias_points, choose_grid
from shuffledp.certification.law import Law
from shuffledp.certification.slots import Slots
from shuffledp.certification.tilt import FloatArray, saddle_point
from shuffledp.engine.balls import logarithm, short

_TILTS = 25  # tried between those of the types
_SPREAD = 1.4  # beyond them
_LARGEST = 1e100  # values beyond it are left to the blanket
_FEWEST_BLANKET_USERS = 3.0  # with fewer, nobody is there to swap seats with

# Shares of the tolerance.
_SHARE_OF_SMOOTHING = 0.3
_MOST_BIAS = 0.4
_SHARE_OF_GRID = 0.02
_SHARE_OF_TAIL = 0.02
_LARGEST_TAU = 0.3
_FIRST_TAU = 4.0  # times what smooth laws need: those of few users often do with more
_MOST_SHRINK, _LEAST_SHRINK = 0.7, 0.1


@dataclass(frozen=True)
class SwapPlan:
    """Parameters of the swap bound.

    Attributes:
        theta: the tilt, exact.
        tau: standard deviation of the smoothing, in units of 1/theta.
        step: distance of the nodes.
        count: number of the last node.
        terms: up to how many users are examined.
        value: about what the sum over the nodes is.
        sigma: about the standard deviation of the tilted sum, in units of 1/theta.
        tolerance: how much may be added to log delta, about.
    """

    theta: arb
    tau: float
    step: float
    count: int
    terms: int
    value: float
    sigma: float
    tolerance: float

    @property
    def allowance(self) -> float:
        """What aliases, truncation or skipped nodes may add."""
        return _SHARE_OF_GRID * self.tolerance * self.value


class Planner:
    """Finds parameters for n users and a tolerance of log delta."""

    def __init__(self, slots: Slots, n: int, tolerance: float) -> None:
        self.n, self.tolerance = n, tolerance
        self.first, *self.types = (_doubles(law) for law in (slots.first, *slots.types))
        self.laws, self.rest = slots.types, logarithm(slots.rest)
        self.blanket_users = n * float(slots.blanket_mass.mid())

    def first_plan(self) -> SwapPlan | None:
        """Return the first parameters to try, None if no good bound can be expected."""
        gains = [law for law in self.laws if law.atoms and law.atoms[-1].value > 0]
        largest = max(float(np.abs(values).max()) for values, _ in (self.first, *self.types))
        if not gains or self.blanket_users <= _FEWEST_BLANKET_USERS or largest > _LARGEST:
            return None
        own = [float(saddle_point(law, self.n).mid()) for law in gains]
        tilts = np.geomspace(min(own) / _SPREAD, max(own) * _SPREAD, _TILTS)
        height = self._height(tilts) - 2 * np.log(tilts)
        place = int(np.argmin(height))
        self.theta = short(float(tilts[place]))
        sigma = short(self._deviation() * math.sqrt(self.n))
        value = short(1 / (math.sqrt(2 * math.pi) * math.hypot(sigma, math.sqrt(2))))
        log_delta = float(height[place]) + math.log(self.theta * value / self.n)
        wanted = (log_delta + math.log(_SHARE_OF_TAIL * self.tolerance)) / self.rest
        terms = min(int(max(wanted, 0.0)) + 2, self.n)
        tau = min(_FIRST_TAU * math.sqrt(_SHARE_OF_SMOOTHING * self.tolerance), _LARGEST_TAU)
        plan = SwapPlan(arb(self.theta), 0.0, 0.0, 0, terms, value, sigma, self.tolerance)
        return self._placed(plan, tau)

    def next_plan(self, plan: SwapPlan, bias: float) -> SwapPlan | None:
        """Smooth less if smoothing added a share of ``bias``, None if that is little."""
        if bias <= _MOST_BIAS * self.tolerance:
            return None
        shrink = math.sqrt(_SHARE_OF_SMOOTHING * self.tolerance / bias)
        return self._placed(plan, plan.tau * min(max(shrink, _LEAST_SHRINK), _MOST_SHRINK))

    def _placed(self, plan: SwapPlan, tau: float) -> SwapPlan:
        points, tau = alias_points(plan.sigma), short(tau)
        growth = self._height(self.theta * np.append(points, 1.0))
        grid = choose_grid(tau, points, growth[:-1] - growth[-1], plan.allowance)
        return replace(plan, tau=tau, step=grid.step, count=grid.count)

    def _height(self, tilts: FloatArray) -> FloatArray:
        """Return the logarithm of the largest transform at several tilts."""
        types = np.max([_log_mgf(law, tilts) for law in self.types], axis=0)
        height: FloatArray = (self.n - 1) * types + _log_mgf(self.first, tilts)
        return height

    def _deviation(self) -> float:
        """Return the standard deviation of the leading type, tilted, in units of 1/theta."""
        tilt = np.array([self.theta])
        values, logs = max(self.types, key=lambda law: float(_log_mgf(law, tilt)[0]))
        exponent = self.theta * values + logs
        mass = np.exp(exponent - exponent.max())
        mass /= mass.sum()
        mean = float(mass @ values)
        return self.theta * math.sqrt(float(mass @ (values - mean) ** 2))


def _doubles(law: Law) -> tuple[FloatArray, FloatArray]:
    """Return the values and the logarithms of their weights, 0 included."""
    values = [float(atom.value.mid()) for atom in law.atoms]
    logs = [logarithm(atom.weight) for atom in law.atoms]
    return np.array([*values, 0.0]), np.array([*logs, logarithm(law.zero)])


def _log_mgf(law: tuple[FloatArray, FloatArray], tilts: FloatArray) -> FloatArray:
    values, logs = law
    exponent = np.multiply.outer(tilts, values) + logs
    top = exponent.max(axis=1)
    result: FloatArray = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
    return result
