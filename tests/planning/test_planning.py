"""Plans: certified, sorted, sensible in every regime, the same when asked backwards."""

from __future__ import annotations

import math

import pytest

from shuffledp import ShuffleAccountant
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published import BASELINES
from shuffledp.planning import TASKS, plan
from shuffledp.planning.distribution import read_distribution

DELTA = 1e-6
USERS = 10_000

#: One target of every kind, and what must come first. Each is made once and then asked everything.
TARGETS = {
    "few values": ({"target_epsilon": 0.5, "domain_size": 4}, ["krr"]),
    "many values": ({"target_epsilon": 0.1, "domain_size": 30_000}, ["subset", "olh", "krr"]),
    "strict mean": ({"target_epsilon": 0.02, "task": "mean"}, ["krr", "discrete_laplace"]),
    "easy mean": ({"target_epsilon": 0.5, "task": "mean"}, ["krr", "discrete_laplace"]),
    "grid": ({"target_epsilon": 0.5, "task": "mean", "domain_size": 5}, ["krr"]),
    "error of shares": ({"target_error": 0.01, "domain_size": 30}, ["krr"]),
    "error of a mean": ({"target_error": 0.004, "task": "mean"}, ["krr"]),
}


def names(found):
    return [option.name for option in found.options]


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::shuffledp.basics.errors.AccuracyWarning")
@pytest.mark.parametrize("kind", TARGETS)
def test_targets(kind):
    target, first = TARGETS[kind]
    found = plan(n=USERS, target_delta=DELTA, **target)
    assert names(found)[: len(first)] == first
    check_sorted_and_complete(found)
    for option in found.options:
        check_ours(option.ours, found)
        check_published(option, found)
    if kind == "grid":
        assert found.best.ours.randomizer.k == 5  # no value is rounded
        assert found.options[1].ours.randomizer.bound == 4
    if kind == "many values":
        check_visible_gain(found)
    if kind in ("few values", "strict mean"):
        check_backwards(found, target)
    if kind == "error of shares":
        check_forwards(found, target)


def check_sorted_and_complete(found):
    values = [o.ours.error if found.target_error is None else o.ours.epsilon for o in found.options]
    assert values == sorted(values)
    assert found.best == found.options[0]
    offered = {*names(found), *(left.name for left in found.left_out)}
    assert offered == set(found.task.mechanisms())


def check_ours(ours, found):
    """The guarantee holds, and the target is met."""
    accountant = ShuffleAccountant(ours.randomizer, USERS, rtol=1e-5)
    assert ours.bound == "guarantee"
    assert accountant.get_epsilon(DELTA) <= ours.epsilon * (1 + 1e-5)
    if found.target_epsilon is not None:
        assert ours.epsilon == found.target_epsilon
        assert accountant.get_delta(ours.epsilon) <= DELTA
    else:
        assert found.target_error * (1 - 1e-6) < ours.error <= found.target_error
    assert ours.worst_case == found.task.worst_case(ours.randomizer)
    assert ours.expected is None
    assert ours.report_bytes == ours.randomizer.report_dtype.itemsize


def check_published(option, found):
    """The published bound proves what is said, and allows no more than ours."""
    before = option.previous
    bound = BASELINES[before.bound](before.randomizer, USERS)
    assert bound.kind == "upper"
    assert bound.get_delta(before.epsilon) <= DELTA * (1 + 1e-3)
    assert option.gain >= 1 - 1e-4
    if found.target_epsilon is not None:
        assert option.gain == before.error / option.ours.error
        assert before.epsilon == found.target_epsilon
    else:
        assert option.gain == before.epsilon / option.ours.epsilon
        assert before.error <= found.target_error


def check_visible_gain(found):
    assert found.best.gain > 1.2
    assert min(o.previous.error for o in found.options) > 1.2 * found.best.ours.error
    assert {o.name: o.previous.bound for o in found.options}["krr"] == "stronger_clone"


def check_backwards(forward, target):
    """The error that a plan reaches costs the epsilon it was made for."""
    rest = {name: value for name, value in target.items() if name != "target_epsilon"}
    back = plan(n=USERS, target_delta=DELTA, target_error=forward.best.ours.error, **rest)
    assert back.best.name == forward.best.name
    assert back.best.ours.epsilon == pytest.approx(forward.target_epsilon, rel=2e-4)
    assert all(o.ours.epsilon >= forward.target_epsilon * (1 - 2e-4) for o in back.options)


def check_forwards(back, target):
    """The epsilon that an error costs reaches that error."""
    rest = {name: value for name, value in target.items() if name != "target_error"}
    epsilon = back.best.ours.epsilon
    forward = plan(n=USERS, target_delta=DELTA, target_epsilon=epsilon, **rest)
    assert forward.best.name == back.best.name
    assert forward.best.ours.error == pytest.approx(back.target_error, rel=2e-4)


@pytest.mark.heavy
def test_error_out_of_reach_of_some():
    found = plan(n=100, target_delta=DELTA, target_error=0.05, domain_size=3)
    reasons = {x.name: x.reason for x in found.left_out}
    assert set(names(found)) == {"krr", "olh", "rappor"}
    assert reasons["blh"] == reasons["hadamard"] == "its error is never below 0.08164"
    assert reasons["oue"] == "its error is never below 0.05773"


def test_error_out_of_reach_of_all():
    with pytest.raises(NoAnswerError, match="no mechanism meets the target; krr: its error is nev"):
        plan(n=100, target_delta=DELTA, target_error=1e-100, domain_size=10)


@pytest.mark.heavy
def test_generous_error():
    found = plan(n=100, target_delta=DELTA, target_error=1e12, domain_size=3)
    assert found.best.ours.randomizer.epsilon0 == 1e-9
    assert found.best.ours.epsilon <= 1e-9


@pytest.mark.heavy
def test_known_distribution_of_a_mean():
    ends = (0.5, 0.0, 0.0, 0.0, 0.5)
    target = {"n": USERS, "target_epsilon": 0.5, "target_delta": DELTA, "task": "mean"}
    found = plan(**target, domain_size=5, distribution=ends)
    assert found.best.name == "krr"  # nobody's value is rounded
    assert found.best.ours.expected.rms_error < 0.3 * found.best.ours.worst_case.rms_error


@pytest.mark.heavy
def test_weak_target():
    found = plan(n=10, target_epsilon=300, target_delta=DELTA, domain_size=5)
    assert {o.ours.randomizer.epsilon0 for o in found.options} == {300.0}
    assert all(math.isfinite(o.ours.error) and o.ours.error > 0 for o in found.options)
    anything = plan(n=100, target_epsilon=0, target_delta=1, task="mean", domain_size=3)
    assert {o.ours.randomizer.epsilon0 for o in anything.options} == {300.0}


@pytest.mark.heavy
def test_without_failure_probability_there_is_no_amplification():
    found = plan(n=1000, target_epsilon=0.7, target_delta=0, domain_size=3)
    (left_out,) = found.left_out
    assert left_out.name == "subset"
    assert left_out.reason == "with so few values it is nothing else than krr"
    for option in found.options:
        assert option.ours.randomizer.epsilon0 == pytest.approx(0.7, rel=2e-5)
        assert option.ours.randomizer.epsilon0 <= 0.7
        assert option.gain == pytest.approx(1, abs=1e-4)


@pytest.mark.heavy
def test_one_user():
    found = plan(n=1, target_epsilon=1.0, target_delta=1e-3, domain_size=3)
    for option in found.options:
        accountant = ShuffleAccountant(option.ours.randomizer, 1)
        assert accountant.get_delta(1.0) <= 1e-3
        assert option.ours.randomizer.epsilon0 >= 1.0


@pytest.mark.heavy
def test_target_nobody_meets():
    with pytest.raises(NoAnswerError, match="krr: no epsilon0 of at least 1e-9 meets the target"):
        plan(n=100, target_epsilon=0, target_delta=0, domain_size=3)


@pytest.mark.slow
def test_huge_domain():
    found = plan(n=1000, target_epsilon=1.0, target_delta=1e-6, domain_size=2**53)
    reasons = {x.name: x.reason for x in found.left_out}
    assert reasons["oue"] == reasons["rappor"] == "with so many values its reports are too long"
    assert found.best.name == "olh"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shuffledp.basics.errors.AccuracyWarning")
@pytest.mark.parametrize("n", [10, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("size", [2, 50, 10**4])
def test_certified_everywhere(n, epsilon, size):
    for found in (
        plan(n=n, target_epsilon=epsilon, target_delta=1e-8, domain_size=size),
        plan(n=n, target_epsilon=epsilon, target_delta=1e-8, domain_size=size, task="mean"),
    ):
        for option in found.options:
            accountant = ShuffleAccountant(option.ours.randomizer, n, rtol=1e-5)
            assert accountant.get_delta(epsilon) <= 1e-8
            assert option.gain >= 1 - 1e-4


VALID = {"n": 100, "target_epsilon": 1.0, "target_delta": 1e-6, "domain_size": 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1"),
        ({"n": 1.5}, "n must be an integer"),
        ({"domain_size": 1}, "domain_size must be an integer of at least 2"),
        ({"domain_size": None}, "domain_size must be given for the task frequency"),
        ({"target_epsilon": -1}, "target_epsilon must be between 0 and 300"),
        ({"target_epsilon": math.nan}, "target_epsilon must be finite, got nan"),
        ({"target_delta": 2}, "target_delta must be between 0 and 1"),
        ({"target_delta": math.nan}, "target_delta must be finite"),
        ({"target_epsilon": None}, "either target_epsilon or target_error must be given, got nei"),
        ({"target_error": 1}, "either target_epsilon or target_error must be given, got both"),
        ({"target_epsilon": None, "target_error": -1}, "target_error must be greater than 0"),
        ({"target_epsilon": None, "target_error": math.nan}, "target_error must be finite"),
        ({"task": "median"}, "task must be one of frequency, mean, got 'median'"),
        (
            {"distribution": [0.5, 0.4, 0.2]},
            "distribution must sum to 1, got shares that sum to 1.1",
        ),
        ({"distribution": [0.5, 0.5]}, "domain_size = 3 values, got 2 shares"),
        ({"distribution": [1.5, -0.5, 0]}, r"distribution\[1\] must be at least 0, got -0.5"),
        ({"distribution": [math.nan, 0.5, 0.5]}, r"distribution\[0\] must be finite, got nan"),
        (
            {"distribution": [1], "domain_size": None, "task": "mean"},
            "domain_size must be given with a distribution",
        ),
    ],
)
def test_bad_values(change, message):
    with pytest.raises(ValueError, match=message):
        plan(**VALID | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": "100"}, "n must be"),
        ({"target_epsilon": "1"}, "target_epsilon must be a real number"),
        ({"distribution": 0.5}, "distribution must hold one share per value, got 0.5"),
        ({"distribution": "abc"}, "distribution must hold one share per value, got 'abc'"),
        ({"distribution": ["a", 0, 1]}, r"distribution\[0\] must be a real number"),
    ],
)
def test_bad_types(change, message):
    with pytest.raises(TypeError, match=message):
        plan(**VALID | change)


def test_tasks():
    assert list(TASKS) == ["frequency", "mean"]


def test_distribution_from_a_file(tmp_path):
    path = tmp_path / "shares.txt"
    path.write_text("0.5, 0.25\n0.125 0.125\n", encoding="utf-8")
    assert read_distribution(str(path)) == (0.5, 0.25, 0.125, 0.125)
    path.write_text("0.5\nhalf\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must hold numbers, got 'half' in line 2 of"):
        read_distribution(str(path))
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="it is no text file"):
        read_distribution(str(path))
    with pytest.raises(ValueError, match="'no/such': No such file"):
        read_distribution("no/such")
