"""Pictures without the package that draws them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shuffledp.basics.figures import Chart

sys.path.insert(0, str(Path(__file__).parents[1]))
from reproduction import folder

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>{}</title></svg>'


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Chart]:
    """Draw a stand-in, and list the charts drawn."""
    charts: list[Chart] = []

    def draw(chart: Chart, path: Path) -> None:
        charts.append(chart)
        path.write_text(SVG.format(len(chart.lines)), encoding="utf-8")

    monkeypatch.setattr(folder, "draw", draw)
    return charts
