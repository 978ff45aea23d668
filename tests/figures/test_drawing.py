"""Pictures: complete files, the same every time, with everything that can be shown."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from shuffledp.basics.extras import MissingExtraError
from shuffledp.basics.figures import Chart, Line, draw
from shuffledp.basics.figures.style import styles

X = tuple(1000 * 1.2**i for i in range(20))


def lines(group: str, height: float = 1.0) -> tuple[Line, Line]:
    upper = tuple(height * 30 / x**0.5 for x in X)
    lower = tuple(0.8 * y for y in upper)
    return (
        Line(f"{group}: guarantee", X, upper, "upper", group),
        Line(f"{group}: lower bound", X, lower, "lower", group),
    )


def chart(*drawn: Line, x_log: bool = True, y_log: bool = True) -> Chart:
    return Chart("A title", "number of users", "epsilon", drawn, x_log=x_log, y_log=y_log)


ONE = chart(*lines("krr(k=10, epsilon0=2.0)"))


def test_a_missing_package_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "shuffledp[plot]"')):
        draw(ONE, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.gif", "a", "png", "a.png.txt"])
def test_unknown_suffixes(tmp_path, name):
    with pytest.raises(ValueError, match=r"must end in one of \.png, \.svg, \.pdf"):
        draw(ONE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


class TestPictures:
    @pytest.fixture(autouse=True)
    def matplotlib(self) -> None:
        pytest.importorskip("matplotlib")

    @pytest.mark.heavy
    @pytest.mark.parametrize(
        ("name", "start", "end"),
        [
            ("a.png", b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
            ("b.PDF", b"%PDF-", b"%%EOF\n"),
            ("c.svg", b"<?xml", b"</svg>\n"),
        ],
        ids=["png", "pdf", "svg"],
    )
    def test_complete_and_reproducible(self, tmp_path, name, start, end):
        path = tmp_path / name
        draw(ONE, path)
        content = path.read_bytes()
        assert content.startswith(start)
        assert content.endswith(end)
        draw(ONE, path)
        assert path.read_bytes() == content
        assert [file.name for file in tmp_path.iterdir()] == [name]

    @pytest.mark.heavy
    def test_nothing_half_written(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            draw(ONE, tmp_path / "missing" / "a.png")
        (tmp_path / "folder.png").mkdir()
        with pytest.raises(OSError, match=r"folder\.png"):
            draw(ONE, tmp_path / "folder.png")
        assert [file.name for file in tmp_path.iterdir()] == ["folder.png"]

    def test_settings_of_the_user_neither_matter_nor_change(self, tmp_path):
        import matplotlib as mpl

        pyplot = sys.modules.get("matplotlib.pyplot")
        draw(ONE, tmp_path / "a.svg")
        with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
            before = mpl.rcParams.copy()
            draw(ONE, tmp_path / "b.svg")
            assert mpl.rcParams.copy() == before
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
        assert sys.modules.get("matplotlib.pyplot") is pyplot

    def test_gaps_split_a_curve_and_lonely_points_are_marked(self):
        y = (0.5, 0.4, None, 0.3, None, None, 0.2, 0.1)
        (curve,) = figure(chart(Line("a", X[:8], y, "upper", "a"))).axes[0].get_lines()
        shown = curve.get_path().vertices[:, 1]
        assert [math.isfinite(value) for value in shown] == [value is not None for value in y]
        assert 3 in curve.get_markevery()

    @pytest.mark.parametrize("y", [(None, None), (0.0, 1e-320)], ids=["gaps", "underflow"])
    def test_nothing_to_show_is_said(self, y):
        (axes,) = figure(chart(Line("a", (1.0, 2.0), y, "upper", "a"))).axes
        assert [note.get_text() for note in axes.texts] == ["no values above 0 to show"]

    def test_a_chart_without_lines(self):
        (axes,) = figure(chart(y_log=False)).axes
        assert [note.get_text() for note in axes.texts] == ["no values to show"]

    @pytest.mark.heavy(keep=3)
    @pytest.mark.parametrize("log", [True, False])
    @pytest.mark.parametrize("values", [(0.25,), (0.25, 0.25)], ids=len)
    def test_a_single_value(self, values, log):
        line = Line("a", X[: len(values)], values, "upper", "a")
        (axes,) = figure(chart(line, x_log=log, y_log=log)).axes
        low, high = axes.get_ylim()
        assert low < 0.25 < high

    def test_what_underflows_is_left_out_of_a_profile(self):
        x = tuple(i / 10 for i in range(11))
        y = tuple(10.0 ** (-330 * v) for v in x)
        (axes,) = figure(chart(Line("a", x, y, "upper", "a"), x_log=False)).axes
        assert 0 < axes.get_ylim()[0] < 1e-290
        assert labels(axes.yaxis)[:2] == ["$10^{-300}$", "$10^{-250}$"]

    @pytest.mark.heavy(keep=1)
    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [
            (1000, 1900, ["1,000", "1,200", "1,400", "1,600", "1,800"]),
            (0.2, 0.9, ["0.2", "0.4", "0.6", "0.8"]),
            (0.2, 8, ["0.2", "0.5", "1", "2", "5"]),
            (1, 2000, ["1", "10", "100", "1,000"]),
            (2e-7, 9e-7, [rf"${k} \times 10^{{-7}}$" for k in (2, 4, 6, 8)]),
            (1e-9, 1e-3, [f"$10^{{-{k}}}$" for k in range(9, 2, -1)]),
        ],
        ids=["half-a-decade", "most-of-a-decade", "two-decades", "more", "small", "many"],
    )
    def test_log_axes_have_readable_labels(self, low, high, expected):
        line = Line("a", (low, high), (low, high), "upper", "a")
        (axes,) = figure(chart(line)).axes
        assert labels(axes.xaxis) == labels(axes.yaxis) == expected

    def test_bounds_of_a_group_share_a_colour_and_a_shade(self):
        (axes,) = figure(chart(*lines("a"), *lines("b", 2.0))).axes
        a, a_lower, b, b_lower = axes.get_lines()
        assert a.get_color() == a_lower.get_color() != b.get_color() == b_lower.get_color()
        assert a.get_linestyle() == b.get_linestyle() == "-"
        assert a_lower.get_linestyle() == b_lower.get_linestyle() == "--"
        assert len(axes.collections) == 2

    @pytest.mark.heavy
    def test_one_sided_groups_have_no_shade(self):
        upper, lower = lines("a")
        other = Line("b", X[:3], (1.0, 1.0, 1.0), "lower", "b")
        assert not figure(chart(upper, other)).axes[0].collections
        assert not figure(chart(lower, other)).axes[0].collections

    def test_a_legend_that_would_cover_curves_stands_beside_them(self):
        full = tuple(
            Line(f"line {i}", (0.0, 1.0), (float(i), float(i)), "upper", str(i)) for i in range(6)
        )
        beside = figure(chart(*full, x_log=False, y_log=False))
        assert len(beside.legends) == 1
        assert beside.axes[0].get_legend() is None
        inside = figure(ONE)
        assert inside.legends == []
        assert inside.axes[0].get_legend() is not None

    def test_all_lines_are_in_the_legend(self):
        many = [line for i in range(15) for line in lines(f"mechanism {i}", 1 + i / 4)]
        empty = Line("silent", X, (None,) * len(X), "upper", "silent")
        (legend,) = figure(chart(*many, empty)).legends
        shown = [text.get_text() for text in legend.get_texts()]
        assert shown == [*(line.label for line in many), "silent (no values)"]

    def test_labels_are_no_formulas(self, tmp_path):
        line = Line("matrix('$HOME/$x_{')", X, tuple(1.0 for _ in X), "upper", "a")
        draw(Chart("$_{", "$x", "y$ and $", (line,)), tmp_path / "a.svg")
        ET.parse(tmp_path / "a.svg")


def figure(drawn: Chart):
    from shuffledp.basics.figures.axes import INSIDE
    from shuffledp.basics.figures.drawing import _figure

    return _figure(drawn, INSIDE)


def labels(axis) -> list[str]:
    low, high = axis.get_view_interval()
    ticks = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
    return axis.get_major_formatter().format_ticks(ticks)


def test_twenty_one_groups_differ():
    looks = styles(21)
    assert len({(style.colour, style.dashes) for style in looks}) == 21
    assert len({style.marker for style in looks[:7]}) == 7
    assert len(styles(100)) == 100
    assert "--" not in {style.dashes for style in looks}
    assert styles(0) == []


def test_paths_may_be_relative(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    draw(ONE, Path("a.png"))
    assert (tmp_path / "a.png").exists()
