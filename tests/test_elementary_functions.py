"""The assumption under all bounds in doubles: elementary functions are good to two ulps.

The functions of the installed numpy and Python are compared with 40 digits. numpy chooses its code
by processor, by layout and by length, so that all of them are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import mpmath
import numpy as np
import pytest

#: What the error terms of ``src`` allow, in units in the last place of the exact value.
ALLOWED = 2.0

LARGEST = np.finfo(np.float64).max
SMALLEST = np.finfo(np.float64).tiny
COUNT = 400

mp = mpmath.MPContext()
mp.dps = 40


def logarithmic(low: float, high: float) -> np.ndarray:
    """Numbers of all sizes from ``low`` to ``high``."""
    ends = np.log2([low, high])
    return np.clip(2.0 ** np.random.default_rng(1).uniform(*ends, COUNT), low, high)


def uniform(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(2).uniform(low, high, COUNT)


def signed(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, -values])


def around(value: float) -> np.ndarray:
    """The doubles next to a number."""
    steps = np.arange(-32, 33)
    return value + steps * np.where(steps < 0, math.ulp(value) / 2, math.ulp(value))


def multiples_of(unit: mpmath.mpf, largest: float) -> np.ndarray:
    """The doubles next to multiples of a number, up to a large one."""
    with mp.workdps(60):
        return np.array([float(unit * int(k)) for k in logarithmic(1, largest)])


def exponents(low: float, high: float) -> np.ndarray:
    """Arguments of an exponential: of all sizes, and where the reduction by log 2 is hard."""
    steps = multiples_of(mp.ln2 / 2, 2000)
    found = [uniform(low, high), signed(logarithmic(1e-300, 1)), uniform(-2, 2), signed(steps)]
    values = np.concatenate(found)
    return values[(values > low) & (values < high)]


#: A phase is n times an argument plus a drift. Beyond 2**53 its own rounding is a whole turn.
PHASES = signed(
    np.concatenate(
        [
            logarithmic(1e-300, 2.0**53),
            uniform(0, 8),
            logarithmic(1e-3, 1e9),
            multiples_of(mp.pi / 2, 2.0**52),
            multiples_of(mp.pi / 4, 1e6),
        ]
    )
)
#: The last one is of all doubles nearest to a multiple of pi/2.
HUGE = np.append(logarithmic(2.0**53, LARGEST), math.ldexp(6381956970095103, 797))
POSITIVE = np.concatenate(
    [logarithmic(SMALLEST, LARGEST), uniform(0.5, 2), around(1.0), around(math.e), around(0.5)]
)
GROWTH = np.concatenate(
    [
        signed(logarithmic(1e-300, 0.9)),
        uniform(-1, 2),
        logarithmic(1, LARGEST),
        -1 + logarithmic(1e-16, 1)[:100],
        around(1.0),
        around(-0.5),
    ]
)
POINTS = np.concatenate(
    [
        signed(np.stack([uniform(-1, 1), uniform(-1, 1)[::-1]], axis=1)),
        signed(np.stack([logarithmic(1e-200, 1e3), logarithmic(1e-200, 1e3)[::-1]], axis=1)),
        np.stack([signed(logarithmic(1e-18, 1)), 1 + uniform(-2, 0).repeat(2)], axis=1),
        np.stack([around(0.25), around(0.25)[::-1]], axis=1),
        np.stack([around(0.25), -around(0.25)], axis=1),
    ]
)


@dataclass(frozen=True, eq=False)
class Elementary:
    """A function of ``numpy`` or ``math``, its exact counterpart, and arguments for both."""

    exact: Callable[..., mpmath.mpf]
    arguments: tuple[np.ndarray, ...]
    allowed: float = ALLOWED

    @cached_property
    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """The exact values as sums of two doubles."""
        with mp.workdps(40):
            exact = [self.exact(*map(mp.mpf, row)) for row in np.stack(self.arguments, axis=1)]
            rounded = [float(value) for value in exact]
            rest = [float(value - near) for value, near in zip(exact, rounded, strict=True)]
        return np.array(rounded), np.array(rest)

    def errors(self, computed: np.ndarray) -> np.ndarray:
        """The errors of computed values in ulps."""
        near, rest = self.values
        below = np.sign(near) * rest < 0  # next to a power of two: ulps are smaller on this side
        ulp = np.spacing(np.where(below, np.nextafter(np.abs(near), 0.0), np.abs(near)))
        return np.abs((computed - near) - rest) / ulp


FUNCTIONS = {
    "exp": Elementary(mp.exp, (exponents(-708, 709),)),
    "expm1": Elementary(mp.expm1, (exponents(-745, 709),)),
    "log": Elementary(mp.log, (POSITIVE,)),
    "log1p": Elementary(mp.log1p, (GROWTH,)),
    "sin": Elementary(mp.sin, (PHASES,)),
    "cos": Elementary(mp.cos, (PHASES,)),
    "arctan2": Elementary(mp.atan2, (POINTS[:, 0].copy(), POINTS[:, 1].copy())),
    # Of a complex number: the dense sum over nodes allows eight ulps for it and what is in it.
    "absolute": Elementary(mp.hypot, (POINTS[:, 0].copy(), POINTS[:, 1].copy()), allowed=4.0),
}


def in_one_call(function, arguments):
    """Long and contiguous: the vector loop."""
    return function(*arguments)


def by_few(function, arguments):
    """Too few for a whole vector, so that its rest is computed apart."""
    cuts = np.cumsum(np.resize([1, 2, 3, 5, 7], arguments[0].size // 3))
    parts = zip(*(np.split(argument, cuts) for argument in arguments), strict=True)
    return np.concatenate([function(*part) for part in parts])


def with_gaps(function, arguments):
    """Not contiguous: every second entry of a longer array."""
    return function(*(np.repeat(argument, 2)[::2] for argument in arguments))


def one_by_one(function, arguments):
    """As Python does it, and numpy for numbers."""
    return np.array([function(*row) for row in zip(*arguments, strict=True)])


def modulus(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(x + 1j * y)


def check(name: str, elementary: Elementary, computed: np.ndarray) -> None:
    errors = elementary.errors(computed)
    worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
    arguments = ", ".join(repr(float(values[worst])) for values in elementary.arguments)
    assert errors[worst] <= elementary.allowed, (
        f"{name}({arguments}) is {float(computed[worst])!r}, off by {errors[worst]:.2f} ulps: "
        f"the bounds of this library allow {elementary.allowed:g}, and do not hold on this machine"
    )


@pytest.mark.parametrize("layout", [in_one_call, by_few, with_gaps, one_by_one])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy(name, layout):
    function = modulus if name == "absolute" else getattr(np, name)
    check(f"np.{name}", FUNCTIONS[name], layout(function, FUNCTIONS[name].arguments))


@pytest.mark.parametrize("layout", [in_one_call, by_few, with_gaps, one_by_one])
@pytest.mark.parametrize("part", ["real", "imag"])
def test_the_complex_exponential_of_a_phase(part, layout):
    elementary = FUNCTIONS["cos" if part == "real" else "sin"]
    circle = layout(lambda x: np.exp(1j * x), elementary.arguments)
    check(f"{part} part of np.exp(1j * x) for x = ", elementary, getattr(circle, part))


@pytest.mark.parametrize("layout", [in_one_call, by_few, with_gaps])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_single_precision_of_up_to_half_a_turn(name, layout):
    angles = np.concatenate([uniform(-math.pi, math.pi), signed(logarithmic(1e-30, 3.1415926))])
    singles = angles.astype(np.float32)
    computed = layout(getattr(np, name), (singles,)).astype(np.float64)
    near, rest = Elementary(getattr(mp, name), (singles.astype(np.float64),)).values
    errors = np.abs((computed - near) - rest)
    assert errors.max() <= 8 * 2.0**-24, f"np.{name} of single precision"


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_huge_phases_stay_on_the_circle(name):
    near, rest = Elementary(getattr(mp, name), (HUGE,)).values
    errors = np.abs((getattr(np, name)(HUGE) - near) - rest)
    worst = int(np.argmax(errors))
    assert errors[worst] <= ALLOWED * math.ulp(1.0), f"np.{name}({HUGE[worst]!r})"


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p"])
def test_python(name):
    elementary = FUNCTIONS[name]
    check(f"math.{name}", elementary, one_by_one(getattr(math, name), elementary.arguments))


def test_log_factorials():
    # The enumeration allows four ulps of the largest of them.
    numbers = np.arange(2.0, 10_001.0, 7.0)
    elementary = Elementary(lambda k: mp.loggamma(k + 1), (numbers,), allowed=4.0)
    check("log factorial of ", elementary, np.array([math.lgamma(k + 1) for k in numbers]))


def test_an_error_is_reported_with_its_argument():
    elementary = FUNCTIONS["log"]
    wrong = np.log(POSITIVE) * (1 + 1e-14)
    with pytest.raises(AssertionError, match=r"^np.log\(.*\) is .*, off by [\d.]+ ulps"):
        check("np.log", elementary, wrong)
    with pytest.raises(AssertionError, match="nan"):
        check("np.log", elementary, np.full(POSITIVE.size, np.nan))
