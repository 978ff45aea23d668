"""What a deployment sets: the fewest messages, coins or devices that meet a target.

Delta falls with every message, coin or device. What is returned is proved to meet the target, and
what is next to it, by the stated step, is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from shuffledp.accounting.calibration.crowd_size import smallest_crowd
from shuffledp.accounting.crowd import leaves_one_honest
from shuffledp.accounting.messages.counts_setting import CountsSetting
from shuffledp.accounting.messages.fabrication import FabricatedMessages
from shuffledp.accounting.messages.noisy_counts import NoisyCounts
from shuffledp.basics.errors import MAX_USERS, NoAnswerError, check_delta, check_epsilon
from shuffledp.basics.rounding import round_down, round_up
from shuffledp.bounds.root import delta_above
from shuffledp.mechanisms.messages.count_noise import Coins, CountNoise, GeometricNoise, NormalNoise
from shuffledp.mechanisms.messages.fabricated import (
    Fabricated,
    FixedNumber,
    PerDevice,
    PoissonPerValue,
    Reports,
)

#: What may be fabricated, and noise that may be added.
Kind = Literal["fixed", "per device", "poisson"]
KINDS: tuple[Kind, ...] = ("fixed", "per device", "poisson")
NoiseKind = Literal["coins", "discrete_laplace", "discrete_gaussian"]

#: Of real numbers, how close to the smallest one the answer is, relatively.
_RTOL = 1e-5

#: So many digits are enough for people, if they are safe.
_DIGITS = 6

_Setting = TypeVar("_Setting", bound=CountsSetting)


def least_fabricated(
    reports: Reports | str,
    n: int,
    kind: Kind,
    *,
    target_epsilon: float,
    target_delta: float,
    law: tuple[float, ...] | None = None,
    **setting: Any,
) -> FabricatedMessages:
    """Return the setting with the fewest fabricated messages that is proved to meet the target.

    Args:
        reports: as for :class:`FabricatedMessages`, like all further keywords.
        n: number of devices: the reporting threshold.
        kind: "fixed", a number in all; "per device", a probability; "poisson", a ``poisson_mean``.
        target_epsilon: the level to meet.
        target_delta: the failure probability to meet.
        law: weights of the values, None for all alike.
        **setting: the other arguments of :class:`FabricatedMessages`.

    >>> found = least_fabricated(
    ...     "identity(k=10)", 1000, "poisson", target_epsilon=1.0, target_delta=1e-6
    ... )
    >>> round(found.fabricated.mean, 5)
    0.04265
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")

    def made(fabricated: Fabricated) -> FabricatedMessages:
        return FabricatedMessages(reports, n, fabricated, **setting)

    if kind == "fixed":
        return _fewest(lambda m: made(FixedNumber(m, law)), target_epsilon, target_delta)
    if kind == "per device":
        return _smallest(lambda p: made(PerDevice(p, law)), 1.0, target_epsilon, target_delta)
    return _smallest(lambda m: made(PoissonPerValue(m, law)), 1e6, target_epsilon, target_delta)


def fewest_devices(
    reports: Reports | str,
    fabricated: Fabricated,
    *,
    target_epsilon: float,
    target_delta: float,
    **setting: Any,
) -> FabricatedMessages:
    """Return the setting with the smallest reporting threshold that is proved to meet the target.

    >>> found = fewest_devices(
    ...     "identity(k=10)", PoissonPerValue(0.05), target_epsilon=1.0, target_delta=1e-6
    ... )
    >>> found.n
    854
    """
    corrupted = setting.get("corrupted", 0)
    return _fewest(
        lambda n: FabricatedMessages(reports, n, fabricated, **setting),
        target_epsilon,
        target_delta,
        allowed=lambda n: leaves_one_honest(n, corrupted, 0),
    )


def least_noise(
    kind: NoiseKind, *, target_epsilon: float, target_delta: float, **setting: Any
) -> NoisyCounts:
    """Return the least noise in counts that is proved to meet the target.

    Args:
        kind: "coins", "discrete_laplace" or "discrete_gaussian".
        target_epsilon: the level to meet.
        target_delta: the failure probability to meet.
        **setting: the other arguments of :class:`NoisyCounts`.

    >>> found = least_noise(
    ...     "coins", target_epsilon=1.0, target_delta=1e-6, relation="add or remove"
    ... )
    >>> found.noise
    Coins(number=80)
    """

    def made(noise: CountNoise) -> NoisyCounts:
        return NoisyCounts(noise, **setting)

    if kind == "coins":
        return _fewest(lambda m: made(Coins(m)), target_epsilon, target_delta, 1 << 30)
    if kind == "discrete_gaussian":
        return _smallest(lambda s: made(NormalNoise(s)), 1e4, target_epsilon, target_delta)
    if kind == "discrete_laplace":
        return _smallest(
            lambda s: made(GeometricNoise(float(round_down(1 / s, _DIGITS)))),
            1e4,
            target_epsilon,
            target_delta,
        )
    raise ValueError(f"kind must be coins, discrete_laplace or discrete_gaussian, got {kind!r}")


def _gap(setting: CountsSetting, epsilon: float, delta: float) -> float:
    """Return how far log delta is above its target; at most 0 exactly if the target is met."""
    log = setting.curve.above(epsilon).log
    if delta_above(log) <= delta:
        return min(log - math.log(delta), 0.0) if delta and log > -math.inf else -math.inf
    return max(log - math.log(delta), math.ulp(1.0)) if delta else math.inf


def _fewest(
    make: Callable[[int], _Setting],
    epsilon: float,
    delta: float,
    most: int = MAX_USERS - 1,
    allowed: Callable[[int], bool] = lambda _: True,
) -> _Setting:
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)

    def gap(m: int) -> float:
        return _gap(make(m), epsilon, delta) if allowed(m) else math.inf

    found = smallest_crowd(gap, most)
    if found is None:
        raise NoAnswerError(f"even {most:,} do not meet epsilon = {epsilon:g}, delta = {delta:g}")
    return make(found)


def _smallest(
    make: Callable[[float], _Setting], most: float, epsilon: float, delta: float
) -> _Setting:
    """Return the setting of the smallest number, by bisection of its logarithm."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    safe = min(1.0, most)
    while _gap(make(safe), epsilon, delta) > 0:
        if safe == most:
            raise NoAnswerError(
                f"even {most:g} does not meet epsilon = {epsilon:g}, delta = {delta:g}"
            )
        safe = min(8 * safe, most)
    unsafe = safe / 8
    while _gap(make(unsafe), epsilon, delta) <= 0:
        safe, unsafe = unsafe, unsafe / 8
        if safe < 1e-15:
            return make(safe)
    while safe > unsafe * (1 + _RTOL):
        middle = math.sqrt(safe * unsafe)
        if _gap(make(middle), epsilon, delta) <= 0:
            safe = middle
        else:
            unsafe = middle
    short = make(min(float(round_up(safe, _DIGITS)), most))
    return short if _gap(short, epsilon, delta) <= 0 else make(safe)
