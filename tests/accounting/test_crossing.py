"""Where a curve falls to a target: whatever the first look is, both ends come close."""

from __future__ import annotations

import math

import pytest

from shuffledp.accounting.crossing import cross
from shuffledp.divergence import LogEnclosure

DELTA = 1e-6


@pytest.mark.parametrize("start", [0.0, 1e-9, 0.01, 0.69, 0.7, 3.0, 9.0])
@pytest.mark.parametrize("end", [0.7, 9.0, math.inf])
def test_the_first_look_may_be_on_either_side(start: float, end: float) -> None:
    def curve(epsilon: float) -> LogEnclosure:
        return LogEnclosure(-20 * epsilon - 1e-6, -20 * epsilon)

    found = cross(curve, DELTA, rtol=1e-4, start=start, end=end)
    assert found.lower <= -math.log(DELTA) / 20 <= found.upper
    assert found.width <= 1e-4 * found.upper
    assert curve(found.upper).upper <= math.log(DELTA)
