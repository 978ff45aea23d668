"""Axes and curves: where points lie, and that every number is that of its analysis."""

from __future__ import annotations

import math

import pytest
from blankets import blanket_accountant

from shuffledp import KRR, RAPPOR, ShuffleAccountant, parse
from shuffledp.accounting import Setting
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison import AXES, BOUNDS, Course, Question, trace
from shuffledp.comparison.published import BASELINES, Baseline
from shuffledp.comparison.question import answer
from shuffledp.mechanisms import parse_family

KRR10 = KRR(k=10, epsilon0=2.0)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("users", 1, 2**53),
        ("users", 1000, 1010),
        ("epsilon0", 1e-12, 300.0),
        ("delta", 5e-324, 1.0),
        ("delta", 1e-6, 1.0000001e-6),
        ("epsilon", 0.0, 300.0),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_points_increase_from_end_to_end(name, low, high, count):
    points = AXES[name].points(low, high, count)
    assert points[0] == low
    assert list(points) == sorted(set(points))
    if count > 1:
        assert points[-1] == high
    assert len(points) == min(count, 11) if high == 1010 else len(points) == count
    if name == "users":
        assert all(type(point) is int for point in points)


def test_one_value_is_one_point():
    assert AXES["delta"].points(1e-6, 1e-6, 50) == (1e-6,)


def test_spacing():
    assert AXES["epsilon0"].points(0.1, 10.0, 3) == (0.1, 1.0, 10.0)
    assert AXES["epsilon"].points(0.0, 0.3, 4) == (0.0, 0.1, 0.2, 0.3)
    assert AXES["users"].points(1000, 100_000, 3) == (1000, 10_000, 100_000)


def test_every_number_is_that_of_its_analysis():
    randomizer = RAPPOR(epsilon0=0.4)
    for quantity, target in (("epsilon", 1e-6), ("delta", 0.01)):
        values = answer(
            Question(Setting(mechanism=randomizer, n=5000), quantity, target, tuple(BOUNDS))
        )
        found = dict(zip(BOUNDS, values, strict=True))
        accountant = ShuffleAccountant(randomizer, 5000)
        report = getattr(accountant, f"{quantity}_report")(target)
        assert found.pop("guarantee").number == report.guarantee.upper
        assert found.pop("lower_bound").number == report.lower_bound
        blanket = getattr(blanket_accountant(randomizer, 5000), f"get_{quantity}")
        assert found.pop("blanket").number == blanket(target)
        for name, value in found.items():
            analysis = BASELINES[name](randomizer, 5000)
            assert (value.number, value.reason) == said(analysis, quantity, target)


def said(analysis: Baseline, quantity: str, target: float) -> tuple[float | None, str | None]:
    try:
        return getattr(analysis, f"get_{quantity}")(target), None
    except NoAnswerError as error:
        return None, str(error)


def test_infinite_values_are_gaps():
    exposed = parse("matrix([[0.5, 0.5, 0], [0.3, 0.3, 0.4]])")
    values = answer(
        Question(Setting(mechanism=exposed, n=9), "epsilon", 0.1, ("guarantee", "lower_bound"))
    )
    assert [value.number for value in values] == [None, None]
    assert all("every epsilon has a larger delta" in value.reason for value in values)


def test_missed_precision_is_noticed():
    (exact,) = answer(Question(Setting(mechanism=KRR10, n=1000), "delta", 0.1, ("guarantee",)))
    many = Setting(mechanism=KRR(k=3, epsilon0=1.0), n=10**15)
    (rough,) = answer(Question(many, "delta", 0.1, ("guarantee",), 1e-10))
    assert exact.rtol_reached
    assert not rough.rtol_reached
    assert math.isfinite(rough.number)


@pytest.mark.heavy
@pytest.mark.parametrize("axis", AXES)
def test_curves_are_monotone(axis):
    ends = {"users": (100, 10**6), "epsilon0": (0.1, 4.0), "delta": (1e-9, 0.1), "rounds": (1, 52)}
    x = AXES[axis].points(*ends.get(axis, (0.0, 0.1)), 6)
    rtol = 1e-3 if axis == "rounds" else 1e-4
    family = parse_family("krr(k=10)")
    make = family if axis == "epsilon0" else lambda _: KRR10
    n = None if axis == "users" else 10_000
    delta = 1e-6 if "delta" in AXES[axis].fixed else None
    course = Course(AXES[axis], x, Setting(n=n), delta)
    for curve in trace({"krr": make}, course, rtol=rtol).curves:
        y = [value.number for value in curve.values]
        assert y == sorted(y, reverse=axis not in ("epsilon0", "rounds"))
        assert len(set(y)) == len(y)


def test_groups_and_labels():
    both = {"krr": lambda _: KRR10, "rappor": lambda _: RAPPOR(epsilon0=2.0)}
    bounds = ("guarantee", "lower_bound", "standard_clone")
    course = Course(AXES["users"], (100, 200), target_delta=1e-6)
    chart = trace(both, course, bounds=bounds).to_chart()
    assert [line.label for line in chart.lines[:2]] == ["krr: guarantee", "krr: lower bound"]
    assert [line.group for line in chart.lines] == [
        *("krr", "krr", "krr: standard_clone"),
        *("rappor", "rappor", "rappor: standard_clone"),
    ]
    assert [line.kind for line in chart.lines[:3]] == ["upper", "lower", "upper"]
    alone = trace({"krr": lambda _: KRR10}, course).to_chart()
    assert alone.lines[0].label == "guarantee"
    assert alone.lines[0].group == "krr"
