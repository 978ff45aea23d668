"""Claims are decided by the numbers, for and against the paper."""

from __future__ import annotations

import pytest

from reproduction import ITEMS
from reproduction.claims import Claim, check_claims, overview
from reproduction.frequency import TARGETS
from reproduction.panels import BENNETT, CLONE, HOEFFDING, LOWER, OURS, PANELS, POOR_LOWER
from reproduction.settings import Settings
from reproduction.speed import PAPER_SECONDS, Speed
from reproduction.table import Table

COLUMNS = ("line", "kind", "n", "epsilon", "e^epsilon - 1", "note")

#: An ideal world at n = 1,000 and 100,000 in which every claim of the paper holds.
IDEAL = {
    HOEFFDING: (None, 0.8),
    BENNETT: (None, 0.4),
    CLONE: (2.2, 0.5),
    OURS: (1.0, 0.2),
    LOWER: (0.99, 0.19999),
    POOR_LOWER: (0.5, 0.1),
    "2-joint": (0.8, 0.1),
    "4-joint": (0.4, 0.05),
}


def curves(values: dict[str, tuple[float | None, float | None]]) -> Table:
    rows = [
        (label, "upper", n, epsilon, epsilon, None)
        for label, own in values.items()
        for n, epsilon in zip((1000, 100_000), own, strict=True)
    ]
    return Table(COLUMNS, tuple(rows))


def panels(**changed: dict[str, tuple[float | None, float | None]]) -> dict[str, Table]:
    """All panels of the ideal world, some lines of some panels changed."""
    return {
        panel.name: curves(IDEAL | changed.get(panel.name.replace("-", "_"), {}))
        for panel in PANELS
    }


def claim(name: str, tables: dict[str, Table]) -> Claim:
    return next(c for c in check_claims(tables) if c.name == name)


PANEL_CLAIMS = [
    "least improvement",
    "largest improvement",
    "best bound",
    "tightness",
    "more attributes",
    "joint against generic",
]


@pytest.mark.parametrize("name", PANEL_CLAIMS)
def test_an_ideal_world(name):
    found = claim(name, panels())
    if name == "largest improvement":  # of equal panels the first is named, and that is a low one
        assert found.verdict == "does not hold everywhere"
        found = claim(name, panels(krr_large={CLONE: (3.9, 0.5)}))
    assert found.verdict == "holds", found


def test_small_improvement_is_told():
    found = claim("least improvement", panels(oue_low={CLONE: (1.05, 0.5)}))
    assert found.verdict == "does not hold everywhere"
    assert "4.8% (OUE, ε0 = 0.1, n = 1,000)" in found.found[0]
    assert "no more than 50.0% there" in found.found[1]
    assert found.found[-1] == "All other panels: at least 50.0%."


def test_a_better_earlier_bound_is_told():
    found = claim("best bound", panels(blh_low={BENNETT: (None, 0.19)}))
    assert found.verdict == "does not hold"
    assert found.found == ("Ours is the smallest at 19 of 20 points.",)


def test_a_wide_gap_is_told():
    found = claim("tightness", panels(blh_large={LOWER: (0.5, 0.1)}))
    assert found.verdict == "does not hold everywhere"
    assert found.found[0].startswith("Within 5.0% of the lower bound everywhere in 9 of 10 panels")
    assert "BLH, ε0 = 4: 100.0%" in found.found[1]


def test_attributes_that_do_not_help_are_told():
    found = claim("more attributes", panels(blh_large={"2-joint": (0.8, 0.201)}))
    assert found.verdict == "does not hold everywhere"
    assert found.found[0] == "More attributes have the smaller epsilon in 39 of 40 comparisons."
    assert "0.20101 against 0.20001 at n = 100,000" in found.found[1]


def test_differences_below_the_resolution_decide_nothing():
    found = claim("more attributes", panels(blh_large={"2-joint": (0.8, 0.200_01)}))
    assert found.verdict == "holds"


def test_overview_has_one_row_per_panel():
    table = overview(panels())
    assert [row[0] for row in table.rows] == [panel.title for panel in PANELS]
    assert table.rows[0][1] == "50.0% (n = 100,000) to 54.5% (n = 1,000)"


def test_parallel_outside_its_parts_is_told():
    inside = curves({"10-RR": (1.0, 0.1), "BLH": (2.0, 0.2), OURS: (1.5, 0.15)})
    outside = curves({"10-RR": (1.0, 0.1), "BLH": (2.0, 0.2), OURS: (1.5, 0.25)})
    tables = {"parallel-low": inside, "parallel-large": inside}
    assert claim("parallel between parts", tables).verdict == "holds"
    tables["parallel-large"] = outside
    assert claim("parallel between parts", tables).verdict == "does not hold everywhere"


def test_misprints_are_told():
    names = ("gparv", "decompositions", "decompositions-limit")
    found = claim("formulas", {name: ITEMS[name].compute(Settings()).table for name in names})
    assert found.verdict == "does not hold everywhere"
    assert found.found[0].startswith("50 of 52 entries")


@pytest.mark.parametrize(("level", "verdict"), [(1.2, "holds"), (1.05, "does not hold")])
def test_levels_are_compared(level, verdict):
    columns = ("analysis", "epsilon", "epsilon0 (this run)")
    rows = [
        (analysis, t, 1.0 if analysis == "Bennett" else level)
        for analysis in ("Bennett", "ours")
        for t in TARGETS
    ]
    found = claim("larger level", {"frequency": Table(columns, tuple(rows))})
    assert found.verdict == verdict
    assert f"{level - 1:.1%}" in found.found[0]


def test_speed_is_scaled_to_full_curves():
    seconds = {"krr-low": {OURS: 0.6, "2-joint": 1.2, "4-joint": 6.0, LOWER: 1.0, CLONE: 0.3}}
    speed = Speed.of(seconds, Settings(points=10))
    assert speed.seconds["10-RR, ε0 = 0.1"][OURS] == pytest.approx(6.0)
    first, slowest, *_, scaled = speed.findings()
    assert f"the paper's about {PAPER_SECONDS:g} s are 5 to 5 times" in first
    assert "4-joint, takes 60 s" in slowest
    assert "scaled to 100" in scaled
    assert Speed.of({}, Settings()).findings() == []
