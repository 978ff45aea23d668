"""Charts: their data, how they are drawn, and how their points are computed.

>>> from shuffledp.figures import Chart, Line
>>> line = Line("krr", (1.0, 2.0), (0.5, 0.25), kind="upper", group="krr")
>>> Chart("Epsilon", "users", "epsilon", (line,)).to_csv().splitlines()[1]
'krr,krr,upper,1.0,0.5'
"""

from shuffledp.figures.chart import Chart, Line
from shuffledp.figures.drawing import draw
from shuffledp.figures.points import compute

__all__ = ["Chart", "Line", "compute", "draw"]
