"""Every figure and table of the paper is there, and its numbers make sense."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest

from reproduction import ITEMS, Settings, previous
from reproduction.claims import check_claims
from reproduction.item import CurveFigure, epsilons
from reproduction.measure import smallest
from reproduction.panels import (
    LAPLACE,
    LOWER,
    MECHANISMS,
    OURS,
    PARTS,
    POOR_LOWER,
    PREVIOUS,
    parts_label,
)
from reproduction.table import Table

QUICK = Settings(points=3)

#: Joint compositions of noise take a second per point.
SLOW = [f"{LAPLACE.key}-low", f"{LAPLACE.key}-large"]


def names() -> list[object]:
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ITEMS]


def curve_names() -> list[str]:
    return [name for name, item in ITEMS.items() if isinstance(item, CurveFigure)]


def test_every_figure_and_table_is_there():
    places = {}
    for name, item in ITEMS.items():
        places.setdefault(item.place, []).append(name)
    assert places == {
        "Figure 1": ["hierarchy"],
        "Figure 2": [
            "krr-low",
            "krr-large",
            "blh-low",
            "blh-large",
            "rappor-low",
            "rappor-large",
        ],
        "Figure 3": ["oue-low", "oue-large", "laplace-low", "laplace-large"],
        "Figure 4": ["parallel-low", "parallel-large"],
        "Figure 5": ["rappor-domain-low", "rappor-domain-large"],
        "Figure 6": ["poisson-low", "poisson-large"],
        "Figure 7": ["hamming-low", "hamming-large"],
        "Figure 8": ["laplace-cdf"],
        "Figure of ours": ["beyond"],
        "Table 1": ["gparv"],
        "Table 2": ["decompositions"],
        "Table 3": ["decompositions-limit"],
        "Table 4": ["frequency"],
        "beyond the paper": ["previous"],
    }


def test_the_grid_is_the_papers():
    users = Settings().users
    assert len(users) == 100
    assert (users[0], users[-1]) == (1000, 100_000)
    ratios = [b / a for a, b in itertools.pairwise(users)]
    assert max(ratios) / min(ratios) < 1.002


@pytest.mark.parametrize("points", [1, 1001, 2.5, "many", True])
def test_bad_numbers_of_points(points):
    with pytest.raises((ValueError, TypeError), match="points"):
        Settings(points=points)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("name", names())
def test_item_at_three_points(name, monkeypatch):
    monkeypatch.setattr(previous, "_USERS", (10**4,))
    item = ITEMS[name]
    counts = []
    result = item.compute(QUICK, lambda done, total: counts.append((done, total)))
    if counts:
        assert counts[-1] == (item.size(QUICK), item.size(QUICK))
    table = result.table
    assert Table.from_csv(table.to_csv()) == table
    findings = item.findings(table)
    assert findings
    assert all(text.endswith(".") and "nan" not in text for text in findings)
    assert item.summary(table).rows
    if isinstance(item, CurveFigure):
        check_curves(item, table)
        assert set(result.seconds) == {curve.label for curve in item.curves}
        assert all(seconds > 0 for seconds in result.seconds.values())
    chart = item.chart(table)
    assert (chart is None) == (not item.place.startswith("Figure"))


@pytest.mark.heavy
@pytest.mark.parametrize("name", SLOW)
def test_noise_without_joint_compositions(name):
    item = ITEMS[name]
    kept = tuple(c for c in item.curves if c.label not in map(parts_label, PARTS))
    check_curves(item, dataclasses.replace(item, curves=kept).compute(QUICK).table)


def check_curves(item: CurveFigure, table: Table) -> None:
    """All curves fall with n, and upper bounds lie above lower ones."""
    found = {curve.label: epsilons(table, curve.label) for curve in item.curves}
    for values in found.values():
        assert list(values.values()) == sorted(values.values(), reverse=True)
        assert all(0 < epsilon < 5 for epsilon in values.values())
    if OURS in found:
        assert list(found[OURS]) == list(QUICK.users)
        best = smallest(found[label] for label in PREVIOUS)
        for n, epsilon in found[OURS].items():
            assert found[LOWER][n] <= epsilon <= best[n]
    if found.get(POOR_LOWER):
        assert all(found[POOR_LOWER][n] <= found[LOWER][n] for n in found[LOWER])


@pytest.mark.parametrize("name", curve_names())
def test_charts_have_the_excess_of_every_shown_curve(name):
    item = ITEMS[name]
    rows = [
        (curve.label, curve.kind, n, 1 / n, math.expm1(1 / n), None)
        for curve in item.curves
        for n in QUICK.users
    ]
    columns = ("line", "kind", "n", "epsilon", "e^epsilon - 1", "note")
    chart = item.chart(Table(columns, tuple(rows)))
    assert chart.x_log
    assert chart.y_log
    shown = [curve for curve in item.curves if curve.label not in item.hidden]
    assert [line.label for line in chart.lines] == [curve.label for curve in shown]
    assert [line.kind for line in chart.lines] == [curve.kind for curve in shown]
    for line in chart.lines:
        assert line.y == tuple(math.expm1(1 / n) for n in QUICK.users)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.key)
def test_panels_split_the_level_evenly(mechanism):
    for size, level in (("low", 0.1), ("large", 4.0)):
        curves = {curve.label: curve for curve in ITEMS[f"{mechanism.key}-{size}"].curves}
        assert curves[OURS].mechanism == mechanism.at(level)
        for parts in PARTS:
            text = curves[parts_label(parts)].mechanism
            assert text.count(mechanism.at(level / parts)) == parts
        assert set(PREVIOUS) < set(curves)


def test_claims_without_any_item_are_not_measured():
    claims = check_claims({})
    assert {claim.verdict for claim in claims} == {"not measured"}
    assert all(claim.found[0].startswith("It needs ") for claim in claims)
