"""Charts of named numbers with error bars."""

from __future__ import annotations

import json
import math

import pytest

from shuffledp.basics.figures import Mark, Panel, RowChart, picture

CHART = RowChart(
    "Estimates",
    "share",
    (
        Panel("region", (Mark("$a$", 0.5, 0.4, 0.6), Mark("b", 0.0, -0.1, 0.1))),
        Panel("mean of age", (Mark("mean", 40.0),)),
    ),
)
PLAN = RowChart(
    "Errors",
    "error",
    (Panel("1 user", tuple(Mark("x", 10.0**-i, group=f"way {i}") for i in range(3))),),
    x_log=True,
)


def test_numbers():
    assert CHART.to_csv().splitlines()[1:] == [
        "region,$a$,,0.5,0.4,0.6",
        "region,b,,0.0,-0.1,0.1",
        "mean of age,mean,,40.0,,",
    ]
    assert json.loads(CHART.to_json())["panels"][1]["marks"][0]["lower"] is None
    assert [mark.bar for mark in CHART.panels[0].marks] == [(0.4, 0.6), (-0.1, 0.1)]
    assert CHART.panels[1].marks[0].bar == (40.0, 40.0)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_cannot_be_drawn(number):
    for place in range(3):
        numbers = [0.5, 0.5, 0.5]
        numbers[place] = number
        with pytest.raises(ValueError, match="finite numbers"):
            Mark("a", *numbers)


@pytest.mark.heavy
def test_pictures():
    pytest.importorskip("matplotlib")
    for chart in (CHART, PLAN, RowChart("none", "x", (Panel("empty", ()),))):
        first, second = (picture(chart, ".svg") for _ in range(2))
        assert first == second
        assert first.startswith(b"<?xml")
    assert picture(CHART, ".png").startswith(b"\x89PNG")


def test_many_rows_show_the_largest():
    pytest.importorskip("matplotlib")
    marks = tuple(Mark(f"value {i}", float(i)) for i in range(100))
    figure = RowChart("t", "x", (Panel("many", marks),)).figure()
    axes = figure.axes[0]
    shown = [text.get_text() for text in axes.get_yticklabels()]
    assert shown == [f"value {i}" for i in range(60, 100)]
    assert axes.get_title(loc="left") == "many; 60 smaller ones are not shown"


@pytest.mark.heavy
def test_many_panels_fit_into_a_picture():
    pytest.importorskip("matplotlib")
    marks = tuple(Mark(f"value {i}", float(i)) for i in range(100))
    panels = tuple(Panel(f"panel {i}", marks) for i in range(100))
    figure = RowChart("t", "x", panels).figure()
    assert figure.get_size_inches()[1] * 150 < 2**16


def test_groups_have_a_legend_that_covers_nothing():
    pytest.importorskip("matplotlib")
    figure = PLAN.figure()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["way 0", "way 1", "way 2"]
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert not legend.get_window_extent().overlaps(axes.get_tightbbox())
    assert CHART.figure().legends == []
