"""What plans and calibrations promise for a few users."""

from __future__ import annotations

from fractions import Fraction

import pytest

from oracle.reader import read
from oracle.truth import Truth
from shuffledp import calibrate_epsilon0, parse, plan, required_users
from shuffledp.basics.errors import NoAnswerError
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.text import parse_family

#: Mechanisms of more inputs are not enumerated.
_MAX_INPUTS = 6


def assert_private(mechanism: LocalRandomizer, n: int, epsilon: float, delta: float) -> None:
    channel = read(str(mechanism))
    if len(channel.inputs) > _MAX_INPUTS:
        return
    true = Truth(channel, n).delta(epsilon)
    assert true.low <= Fraction(delta), f"{mechanism}, n={n}, epsilon={epsilon!r}: delta is {true}"


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    ("task", "domain_size", "n", "epsilon", "delta"),
    [
        ("frequency", 3, 3, 0.5, 0.01),
        ("frequency", 2, 5, 1.0, 1e-3),
        pytest.param("mean", 3, 4, 0.3, 0.05, marks=pytest.mark.slow),
        pytest.param("frequency", 4, 3, 0.7, 0.03, marks=pytest.mark.slow),
    ],
)
def test_plans_for_an_epsilon(
    task: str, domain_size: int, n: int, epsilon: float, delta: float
) -> None:
    found = plan(
        n=n, target_epsilon=epsilon, target_delta=delta, domain_size=domain_size, task=task
    )
    for option in found.options:
        for setting in (option.ours, option.previous):
            if setting is not None:
                assert setting.epsilon <= epsilon
                assert_private(setting.randomizer, n, setting.epsilon, delta)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "delta"), [(3, 0.01), (5, 1e-3)])
def test_plans_for_an_error(n: int, delta: float) -> None:
    found = plan(n=n, target_error=0.7, target_delta=delta, domain_size=3)
    for option in found.options:
        assert_private(option.ours.randomizer, n, option.ours.epsilon, delta)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "family",
    [
        "krr(k=3)",
        "oue(domain_size=3)",
        "olh(buckets=3, domain_size=3)",
        "discrete_laplace(bound=2)",
        "joint(krr(k=2), krr(k=2), at_most=1)",
        "subsample(rappor(domain_size=2), rate=0.3)",
    ],
)
def test_calibrations(family: str) -> None:
    for n, epsilon, delta in ((2, 0.5, 0.01), (4, 0.1, 0.05), (4, 1.5, 1e-4)):
        try:
            level = calibrate_epsilon0(family, n=n, target_epsilon=epsilon, target_delta=delta)
        except NoAnswerError:
            continue
        assert_private(parse_family(family)(level.epsilon0), n, epsilon, delta)


@pytest.mark.parametrize("epsilon", [0.3, 0.8])
def test_required_users(epsilon: float) -> None:
    mechanism = parse("krr(k=2, epsilon0=1)")
    n = required_users(mechanism, target_epsilon=epsilon, target_delta=0.05).n
    assert n < 60
    assert_private(mechanism, n, epsilon, 0.05)
