"""Bounds side by side and along an axis: which exist, what they say, how they are computed.

>>> found = compare("krr(k=10, epsilon0=2)", n=10_000, target_delta=1e-6)
>>> found.rows[0].title, min(row.epsilon or 1 for row in found.rows if row.kind == "upper") > 0.079
('shuffledp, guarantee', True)
"""

from shuffledp.comparison.axis import AXES, Axis, Course, Families, end_of_profile, read_families
from shuffledp.comparison.bounds import BOUNDS, OURS, Bound
from shuffledp.comparison.comparison import Comparison, Row, compare
from shuffledp.comparison.curves import Curves, curve, trace
from shuffledp.comparison.drawn_curve import Curve
from shuffledp.comparison.pool import compute, sweep
from shuffledp.comparison.question import Question, Value

__all__ = [
    "AXES",
    "BOUNDS",
    "OURS",
    "Axis",
    "Bound",
    "Comparison",
    "Course",
    "Curve",
    "Curves",
    "Families",
    "Question",
    "Row",
    "Value",
    "compare",
    "compute",
    "curve",
    "end_of_profile",
    "read_families",
    "sweep",
    "trace",
]
