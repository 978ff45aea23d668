"""What notebooks show: tables that are well formed, complete and escaped."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import shuffledp
from shuffledp import Aggregator, Estimate, MatrixRandomizer, Setting, audit, parse
from shuffledp.basics.markup import bar
from shuffledp.mechanisms import MECHANISMS
from shuffledp.planning import Candidate, Option, Plan
from shuffledp.planning.family_search import Found
from shuffledp.planning.frequency_task import Frequency

ATTACK = "<script>alert(1)</script>"


def cells(shown: object) -> list[str]:
    """The texts of the table, which must be well formed."""
    return ["".join(cell.itertext()) for cell in ET.fromstring(shown._repr_html_()).iter()]


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms(name):
    mechanism = parse(MECHANISMS[name].example)
    assert str(mechanism) in cells(mechanism)


def test_a_mechanism_says_what_it_takes():
    assert {"the integers 0 to 9", "2", "1 byte"} <= set(cells(parse("krr(k=10, epsilon0=2)")))
    assert "none: it is not pure LDP" in cells(parse("gaussian(sigma=1)"))
    assert "for accounting only: it cannot run" in cells(parse("any_pure_ldp(epsilon0=1)"))


def test_names_are_escaped():
    mechanism = MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]], path=ATTACK)
    assert f"matrix({ATTACK!r})" in cells(mechanism)
    assert "<script" not in mechanism._repr_html_()


def test_plans():
    krr, task = parse("krr(k=2, epsilon0=1)"), Frequency(1000, 2)
    ours = Candidate.of(Found(krr, 0.1, "guarantee"), task)
    options = (Option(ours, ours, 1.0), Option(ours, None, None))
    shown = cells(Plan(task, 1e-3, 0.1, None, options, (), Setting(n=1000)))
    assert shown.count(str(krr)) == 2
    assert {"0.1", "1", "none"} <= set(shown)
    assert any("1,000 users, delta = 0.001" in text for text in shown)


def test_estimates():
    krr = parse("krr(k=3, epsilon0=2)")
    aggregator = Aggregator(krr)
    aggregator.add(krr.randomize([0] * 50 + [1] * 50))
    assert "estimates from 100 users" in cells(aggregator.estimate())
    values = np.arange(30.0)
    many = cells(Estimate(values, values, 5, True))
    assert "estimates from 5 users; 10 smaller values not shown" in many
    assert "29" in many
    assert "9" not in many


def test_bars_show_the_largest_in_full():
    assert "width:8em" in bar(1.0)
    for part in (-1.0, math.nan, 0.0):
        assert "width:0em" in bar(part)
    shown = Estimate(np.array([0.5, 0.25, -0.1]), np.ones(3), 5, True)._repr_html_()
    assert re.findall(r"width:(\d+)em", shown) == ["8", "4", "0"]


def test_rounds_that_fit():
    accountant = shuffledp.ShuffleAccountant("krr(k=2, epsilon0=1)", 1000)
    shown = cells(shuffledp.AllowedRounds(1234, accountant, 1.0, 1e-6, 1e-3))
    assert {"1,234", "1,000 users", "(1, 1e-6)"} <= set(shown)


def test_audits():
    found = audit("krr(k=2, epsilon0=1)", n=3, target_delta=0.1, trials=50)
    shown = cells(found)
    assert {"yes", "krr(k=2, epsilon0=1.0)", "3 users"} <= set(shown)


def test_all_results_have_a_display():
    for name in (
        "AllowedRounds",
        "Audit",
        "Comparison",
        "Curves",
        "Estimate",
        "KRR",
        "Report",
        "RoundsReport",
    ):
        assert hasattr(getattr(shuffledp, name), "_repr_html_")
