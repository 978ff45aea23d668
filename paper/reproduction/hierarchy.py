"""Figure 1: generic bounds are flat, specific ones follow the mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.curve import Curve, OnDone, question, trace_questions
from reproduction.digits import percent
from reproduction.item import EXCESS_LABEL, Item, Result, at_some, chart_lines, epsilons
from reproduction.measure import gap, saving
from reproduction.panels import CLONE, LOWER, OURS
from reproduction.settings import DELTA, LEVELS, Settings, geometric
from reproduction.table import Table
from shuffledp.basics.figures import Chart

GENERIC = "generic, restored"

_LEVEL, _USERS = LEVELS["large"], 10**4
_LARGEST_K = 1000


@dataclass(frozen=True, kw_only=True)
class Hierarchy(Item):
    """Bounds of k-RR over k at one level and number of users."""

    curves: tuple[Curve, ...]

    def identity(self, settings: Settings) -> dict[str, object]:
        """Return the curves and where they are computed."""
        return {
            "delta": DELTA,
            "n": _USERS,
            "k": list(_sizes(settings)),
            "curves": [list(curve.identity) for curve in self.curves],
        }

    def size(self, settings: Settings) -> int:
        """Return the number of points of all curves."""
        return len(self.curves) * len(_sizes(settings))

    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Compute every bound for every k."""
        questions = {
            curve: {
                k: question([curve.bound], curve.mechanism.format(k=k), _USERS)
                for k in _sizes(settings)
            }
            for curve in self.curves
        }
        return Result(*trace_questions("k", questions, on_done))

    def chart(self, table: Table) -> Chart:
        """Draw e^epsilon - 1 over k."""
        lines = chart_lines(table, self.curves)
        return Chart(self.title, "values k", EXCESS_LABEL, lines, x_log=True, y_log=True)

    def findings(self, table: Table) -> list[str]:
        """Compare the generic and the specific bounds at both ends."""
        ours, clone, generic = (epsilons(table, label) for label in (OURS, CLONE, GENERIC))
        over_clone, over_generic = saving(ours, clone), saving(ours, generic)
        above = gap(ours, epsilons(table, LOWER))
        first, last = min(ours), max(ours)
        return [
            f"Our bound is below the standard clone by {percent(over_clone[first])} at k = {first} "
            f"and by {percent(over_clone[last])} at k = {last:,}.",
            "The generic bound restored by convex order lies between the two: it equals ours at "
            f"k = 2 (difference {percent(abs(over_generic[first]))}), because binary randomized "
            "response is the worst mechanism of its level.",
            f"Our bound is above the lower bound by {percent(above[first])} at k = {first} and by "
            f"{percent(above[last])} at k = {last:,}.",
        ]

    def summary(self, table: Table) -> Table:
        """Return epsilon at the ends and in the middle."""
        return at_some(table)


def _sizes(settings: Settings) -> tuple[int, ...]:
    return geometric(2, _LARGEST_K, min(settings.points, 40))


_TEXT = f"krr(k={{k}}, epsilon0={_LEVEL!r})"

HIERARCHY = Hierarchy(
    name="hierarchy",
    title=f"Generic and specific bounds: k-RR over k, ε0 = {_LEVEL:g}, n = {_USERS:,}",
    place="Figure 1",
    caption=(
        "The standard clone knows only the level, so it is the same for every mechanism; the "
        "blanket follows the mechanism, here k-RR with more and more values."
    ),
    paper="A sketch: the standard clone is a horizontal line, the blanket a curve below it.",
    differences=(
        "The paper's figure is a drawing without numbers; here k-RR is measured. Added is the "
        "generic bound of the stronger clone, which the paper could not derive and which is true.",
    ),
    curves=(
        Curve(CLONE, "standard_clone", _TEXT),
        Curve(GENERIC, "restored_generic", _TEXT),
        Curve(OURS, "blanket", _TEXT, group="blanket"),
        Curve(LOWER, "lower_bound", _TEXT, "lower", group="blanket"),
    ),
)
