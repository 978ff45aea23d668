"""The page of published deployments is made from its data, and every row is computed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


def script():
    spec = importlib.util.spec_from_file_location("make_deployments", DOCS / "make_deployments.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = script()
ROWS = MADE.deployments()


def test_every_row_has_a_source_and_says_what_is_uncertain():
    for row in ROWS:
        assert {"name", "source", "published", "claims", "sure", "note"} <= set(row)
        assert row["sure"] or re.search("confirmed|third party", row["note"])


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row["name"], marks=[pytest.mark.heavy] * ("mechanism" in row))
        for row in ROWS
    ],
)
def test_rows_are_computed(row):
    page = MADE.PAGE.read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if f". {row['name']}" in line)
    assert f"| {MADE.local(row)} | {MADE.accounted(row)} |" in line
    assert row["claims"] in line
    assert f"{row['note']} Source: {row['source']}" in page
