"""The chart of error against epsilon."""

from __future__ import annotations

from functools import cache

import pytest

from shuffledp.basics.errors import NoAnswerError
from shuffledp.planning import error_chart, plan
from shuffledp.planning.error_chart import epsilons_around
from shuffledp.planning.frequency_task import Frequency

EPSILONS = (0.0, 0.5, 1.0)
CALLS = []


@cache
def chart():
    task = Frequency(n=1000, domain_size=3)
    return error_chart(task, EPSILONS, 0.0, on_done=lambda *numbers: CALLS.append(numbers))


@pytest.mark.heavy
def test_lines():
    assert chart().title == "shares of 3 values, 1,000 users, delta = 0"
    labels = [line.label for line in chart().lines]
    assert labels == ["krr", "blh", "olh", "rappor", "oue", "hadamard", "best published bound"]
    assert {line.x for line in chart().lines} == {EPSILONS}
    assert CALLS == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.heavy
def test_errors_are_those_of_plans_and_fall():
    made = plan(n=1000, target_epsilon=0.5, target_delta=0, domain_size=3)
    lines = {line.label: line for line in chart().lines}
    for option in made.options:
        line = lines[option.name]
        assert line.y[0] is None  # nothing is private at all
        assert line.y[1] == option.ours.error > line.y[2]
    published = lines["best published bound"].y[1]
    assert published == min(option.previous.error for option in made.options)


def test_epsilons():
    around = epsilons_around(1.0)
    assert len(around) == 13
    assert (around[0], around[6], around[-1]) == (pytest.approx(1 / 8), 1.0, pytest.approx(8))
    assert epsilons_around(200.0)[-1] <= 300
    assert 200.0 in epsilons_around(200.0)
    with pytest.raises(NoAnswerError, match="epsilon is 0"):
        epsilons_around(0.0)
