"""The data of a chart: CSV and JSON keep every digit, gaps stay gaps."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from shuffledp.basics.figures import Chart, Line

THIRD = 1 / 3
CHART = Chart(
    title="A title, with a comma",
    x_label="users",
    y_label="epsilon",
    lines=(
        Line("krr(k=10, epsilon0=2.0)", (1000, 2000), (THIRD, 5e-324), "upper", "a"),
        Line('a "quoted" label', (1.5, 2.5, 1e300), (None, 0.0, 1e-17), "lower", "a"),
    ),
    x_log=True,
)


def test_csv_keeps_every_digit():
    rows = list(csv.reader(io.StringIO(CHART.to_csv())))
    assert rows == [
        ["label", "group", "kind", "x", "y"],
        ["krr(k=10, epsilon0=2.0)", "a", "upper", "1000", repr(THIRD)],
        ["krr(k=10, epsilon0=2.0)", "a", "upper", "2000", "5e-324"],
        ['a "quoted" label', "a", "lower", "1.5", ""],
        ['a "quoted" label', "a", "lower", "2.5", "0.0"],
        ['a "quoted" label', "a", "lower", "1e+300", "1e-17"],
    ]
    assert float(rows[1][4]) == THIRD


def test_json_keeps_every_digit():
    document = json.loads(CHART.to_json())
    assert document["title"] == CHART.title
    assert (document["x_log"], document["y_log"]) == (True, False)
    assert document["lines"][0]["y"] == [THIRD, 5e-324]
    assert document["lines"][1]["y"] == [None, 0.0, 1e-17]
    assert document["lines"][1]["kind"] == "lower"


def test_a_chart_without_lines():
    empty = Chart("", "x", "y", ())
    assert empty.to_csv() == "label,group,kind,x,y\n"
    assert json.loads(empty.to_json())["lines"] == []


@pytest.mark.parametrize(
    ("x", "y", "kind", "message"),
    [
        ((1.0, 2.0), (1.0,), "upper", "equally long, got 2 and 1"),
        ((1.0,), (1.0,), "middle", "kind must be 'upper' or 'lower', got 'middle'"),
        ((1.0,), (math.inf,), "upper", "y must hold finite numbers, got inf"),
        ((1.0,), (math.nan,), "lower", "y must hold finite numbers, got nan"),
        ((-math.inf,), (1.0,), "lower", "x must hold finite numbers, got -inf"),
    ],
)
def test_what_cannot_be_drawn_is_refused(x, y, kind, message):
    with pytest.raises(ValueError, match=message):
        Line("a", x, y, kind, "a")
