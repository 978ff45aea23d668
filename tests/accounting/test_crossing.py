"""Where a curve of enclosures falls to a target, however the curve looks."""

from __future__ import annotations

import math

import pytest

from shuffledp.accounting.crossing import cross
from shuffledp.divergence import LogEnclosure
from shuffledp.interval import exp_up


def curve(function, width=0.0):
    """Enclosures of so much width around a function."""
    return lambda e: LogEnclosure(function(e) - width, function(e) + width)


CURVES = {
    "linear": (lambda e: -20 * e, lambda log: -log / 20),
    "square": (lambda e: -300 * e * e, lambda log: math.sqrt(-log / 300)),
    "steep": (lambda e: -1e9 * e, lambda log: -log / 1e9),
    "flat": (lambda e: -1e-3 * e, lambda log: -log * 1e3),
    "late": (lambda e: -1e-9 if e < 7 else -1e3 * (e - 7) - 1e-9, lambda log: 7 - log / 1e3),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("delta", [0.5, 1e-6, 1e-200])
@pytest.mark.parametrize("start", [0.0, 1e-3, 1.0, 250.0])
@pytest.mark.parametrize("width", [0.0, 1e-3])
def test_the_crossing_is_enclosed_and_the_upper_end_keeps_its_word(name, delta, start, width):
    function, inverse = CURVES[name]
    seen = curve(function, width)
    found = cross(seen, delta, rtol=1e-4, start=start, end=math.inf)
    truth = inverse(math.log(delta))
    assert found.lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= found.upper
    if found.upper <= 300:
        assert exp_up(seen(found.upper).upper) <= delta


def test_it_is_as_narrow_as_the_curve_allows():
    found = cross(curve(CURVES["square"][0], 1e-9), 1e-6, rtol=1e-4, start=1.0, end=math.inf)
    assert found.width <= 1e-4 * found.upper
    wide = cross(curve(CURVES["square"][0], 0.1), 1e-6, rtol=1e-4, start=1.0, end=math.inf)
    assert 0.005 * wide.upper < wide.width < 0.02 * wide.upper


def test_what_is_met_at_0_is_0():
    found = cross(curve(lambda e: -30 - e), 1e-6, rtol=1e-4, start=1.0, end=2.0)
    assert found.upper == 0


def test_the_end_is_used_where_nothing_else_is_known():
    vague = LogEnclosure(-math.inf, 0.0)
    nothing = LogEnclosure(-math.inf, -math.inf)
    found = cross(lambda e: nothing if e >= 2 else vague, 1e-6, rtol=1e-4, start=1.0, end=2.0)
    assert (found.lower, found.upper) == (0.0, 2.0)
    assert cross(lambda e: vague, 1e-6, rtol=1e-4, start=1.0, end=math.inf).upper == math.inf


DELTA = 1e-6


@pytest.mark.parametrize("start", [0.0, 1e-9, 0.01, 0.69, 0.7, 3.0, 9.0])
@pytest.mark.parametrize("end", [0.7, 9.0, math.inf])
def test_the_first_look_may_be_on_either_side(start: float, end: float) -> None:
    def line(epsilon: float) -> LogEnclosure:
        return LogEnclosure(-20 * epsilon - 1e-6, -20 * epsilon)

    found = cross(line, DELTA, rtol=1e-4, start=start, end=end)
    assert found.lower <= -math.log(DELTA) / 20 <= found.upper
    assert found.width <= 1e-4 * found.upper
    assert line(found.upper).upper <= math.log(DELTA)
