"""Charts: their data, and how they are drawn.

>>> from shuffledp.basics.figures import Chart, Line
>>> line = Line("krr", (1.0, 2.0), (0.5, 0.25), kind="upper", group="krr")
>>> Chart("Epsilon", "users", "epsilon", (line,)).to_csv().splitlines()[1]
'krr,krr,upper,1.0,0.5'
"""

from shuffledp.basics.figures.chart import Chart, Line
from shuffledp.basics.figures.dots import Dot, plot_dots
from shuffledp.basics.figures.drawing import draw, picture, plot
from shuffledp.basics.figures.rows import Mark, Panel, RowChart

__all__ = [
    "Chart",
    "Dot",
    "Line",
    "Mark",
    "Panel",
    "RowChart",
    "draw",
    "picture",
    "plot",
    "plot_dots",
]
