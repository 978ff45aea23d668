"""A chart as a picture: PNG, SVG or PDF."""

from __future__ import annotations

import io
import math
import textwrap
from pathlib import Path
from typing import Any

from shuffledp.basics.extras import import_extra
from shuffledp.basics.figures.axes import INSIDE, axes_or_new, can_show, describe, set_axis
from shuffledp.basics.figures.chart import Chart, Line
from shuffledp.basics.figures.rows import RowChart
from shuffledp.basics.figures.style import Style, styles
from shuffledp.basics.whole_file import write_whole

#: What a file name may end with, and what must be left out for equal charts to be equal files.
_UNDATED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}

#: The endings of files that :func:`draw` writes.
PICTURE_SUFFIXES = tuple(_UNDATED)

_OUTSIDE = (9.6, 4.6)  # inches
_MAX_INSIDE = 6  # more entries of the legend stand beside the curves
_ENTRY_WIDTH, _ENTRY_LINES = 38, 3  # characters and lines of a legend entry
_ENTRY_SIZE = 8  # points, for which a legend beside the curves gets its room
_MARKS = 9  # markers along a curve


def draw(chart: Chart | RowChart, path: Path) -> None:
    """Draw a chart into a file; its suffix .png, .svg or .pdf says how.

    Equal charts make equal files. What a logarithmic axis cannot show, less than the smallest
    double with all digits, is a gap.

    Raises:
        ValueError: if the suffix is another one.
        MissingExtraError: if matplotlib is not installed.
        OSError: if the file cannot be written; it is absent or complete.
    """
    suffix = path.suffix.lower()
    if suffix not in _UNDATED:
        known = ", ".join(PICTURE_SUFFIXES)
        raise ValueError(f"path must end in one of {known}, got {str(path)!r}")
    write_whole(path, picture(chart, suffix))


def picture(chart: Chart | RowChart, suffix: str, size: tuple[float, float] = INSIDE) -> bytes:
    """Return the content of such a file; ``size`` is the width and height of curves in inches.

    >>> line = Line("krr", (1.0, 2.0), (0.5, 0.25), kind="upper", group="krr")
    >>> picture(Chart("Epsilon", "users", "epsilon", (line,)), ".svg")[:5]
    b'<?xml'
    """
    mpl = import_extra("matplotlib")
    content = io.BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # the same picture whatever the user's own settings
        mpl.rcParams.update(
            {"svg.hashsalt": "shuffledp", "font.size": 9, "legend.fontsize": _ENTRY_SIZE}
        )
        figure = chart.figure() if isinstance(chart, RowChart) else _figure(chart, size)
        figure.savefig(content, format=suffix[1:], dpi=150, metadata=_UNDATED[suffix])
    return content.getvalue()


def plot(chart: Chart, ax: Any = None) -> Any:
    """Draw a chart on matplotlib Axes, new ones unless given, and return them.

    Raises:
        MissingExtraError: if matplotlib is not installed.
    """
    axes = axes_or_new(ax, INSIDE)
    curves = _draw_lines(axes, chart)
    if ax is None:
        _add_legend(axes.figure, axes, curves)
    elif curves:
        beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
        place = {"loc": "best"} if len(curves) <= _MAX_INSIDE else beside
        _no_formulas(axes.legend(curves, [curve.get_label() for curve in curves], **place))
    return axes


def _figure(chart: Chart, size: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    _add_legend(figure, axes, _draw_lines(axes, chart))
    return figure


def _draw_lines(axes: Any, chart: Chart) -> list[Any]:
    """Draw everything but the legend; return the curves."""
    groups = list(dict.fromkeys(line.group for line in chart.lines))
    look = dict(zip(groups, styles(len(groups)), strict=True))
    points = [_points(line, chart) for line in chart.lines]
    curves: list[Any] = []
    for place, (line, (x, y)) in enumerate(zip(chart.lines, points, strict=True)):
        curves += axes.plot(x, y, **_appearance(line, y, look[line.group], place))
    for group in groups:
        _shade(axes, chart, group, look[group].colour)
    known = [value for _, y in points for value in y if math.isfinite(value)]
    if not known:
        note = "no values above 0 to show" if chart.y_log else "no values to show"
        axes.text(0.5, 0.5, note, transform=axes.transAxes, ha="center")
    asked = [value for x, _ in points for value in x if can_show(value, chart.x_log)]
    set_axis(axes.xaxis, asked, log=chart.x_log)
    set_axis(axes.yaxis, known, log=chart.y_log)
    describe(axes, chart.title, chart.x_label, chart.y_label)
    return curves


def _points(line: Line, chart: Chart) -> tuple[list[float], list[float]]:
    """Return the coordinates; y is NaN where nothing can be shown."""
    y = [
        b if b is not None and can_show(a, chart.x_log) and can_show(b, chart.y_log) else math.nan
        for a, b in zip(line.x, line.y, strict=True)
    ]
    return list(line.x), y


def _appearance(line: Line, y: list[float], style: Style, place: int) -> dict[str, Any]:
    lower = line.kind == "lower"
    marked = _marked(y, place)
    label = line.label if marked else f"{line.label} (no values)"
    return {
        "label": "\n".join(textwrap.wrap(label, _ENTRY_WIDTH, max_lines=_ENTRY_LINES)),
        "color": style.colour,
        "linestyle": (0, (4, 3)) if lower else style.dashes,
        "linewidth": 1.2 if lower else 1.6,
        "marker": style.marker,
        "markersize": 5,
        "markerfacecolor": "white" if lower else style.colour,
        "markevery": marked,
        "zorder": 3 if lower else 2.5,
    }


def _marked(y: list[float], place: int) -> list[int]:
    """Return where markers stand: evenly, staggered by line, and on points without neighbours."""
    known = [i for i, value in enumerate(y) if math.isfinite(value)]
    step = max(1, math.ceil(len(known) / _MARKS))
    places = set(known)
    alone = {i for i in known if not {i - 1, i + 1} & places}
    return sorted(alone.union(known[(place * step * 2 // 5) % step :: step]))


def _shade(axes: Any, chart: Chart, group: str, colour: str) -> None:
    """Shade what lies between the two bounds of a group."""
    members = [line for line in chart.lines if line.group == group]
    if sorted(line.kind for line in members) != ["lower", "upper"]:
        return
    first, second = members
    if first.x == second.x:
        x, one = _points(first, chart)
        _, other = _points(second, chart)
        axes.fill_between(x, one, other, color=colour, alpha=0.13, linewidth=0)


def _add_legend(figure: Any, axes: Any, curves: list[Any]) -> None:
    """Put the legend where it covers no curve: inside if there is room, else on the right."""
    if not curves:
        return
    labels = [curve.get_label() for curve in curves]
    if len(curves) <= _MAX_INSIDE:
        legend = axes.legend(curves, labels, loc="best")
        _no_formulas(legend)
        figure.draw_without_rendering()
        box = legend.get_window_extent()
        if not any(_meets(curve, box) for curve in curves):
            return
        legend.remove()
    legend = figure.legend(curves, labels, loc="outside right upper", fontsize=_ENTRY_SIZE)
    _no_formulas(legend)
    rows = sum(label.count("\n") + 1 for label in labels)
    figure.set_size_inches(_OUTSIDE[0], max(_OUTSIDE[1], 0.3 + 0.17 * rows))


def _no_formulas(legend: Any) -> None:
    """Keep a dollar sign in a label from being read as a formula."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def _meets(curve: Any, box: Any) -> bool:
    path = curve.get_transform().transform_path(curve.get_path()).cleaned(remove_nans=True)
    return bool(path.intersects_bbox(box, filled=False))
