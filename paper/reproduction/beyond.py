"""Beyond the paper: its bound, the best bound, and what an attack attains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reproduction.curve import Curve
from reproduction.item import CurveFigure, epsilons
from reproduction.measure import Span, gap
from reproduction.panels import BLH, LAPLACE, Mechanism
from reproduction.settings import LEVELS
from reproduction.table import Table

PAPER, BEST, ATTACK = "paper's bound", "best bound", "attack"

_BOUNDS: tuple[tuple[str, str, Literal["upper", "lower"]], ...] = (
    (PAPER, "blanket", "upper"),
    (BEST, "guarantee", "upper"),
    (ATTACK, "lower_bound", "lower"),
)


def label(bound: str, mechanism: Mechanism) -> str:
    """Return the label of one bound of one mechanism."""
    return f"{mechanism.title}, {bound}"


@dataclass(frozen=True, kw_only=True)
class BeyondFigure(CurveFigure):
    """Three bounds of mechanisms for which a decomposition cannot be tight."""

    mechanisms: tuple[Mechanism, ...]

    def findings(self, table: Table) -> list[str]:
        """Say how far both bounds are above the attack."""
        found = []
        for mechanism in self.mechanisms:
            attack = epsilons(table, label(ATTACK, mechanism))
            paper, best = (
                Span.of(gap(epsilons(table, label(bound, mechanism)), attack)).to_text()
                for bound in (PAPER, BEST)
            )
            found.append(
                f"{mechanism.title}: the paper's bound is above what an attack attains by {paper}, "
                f"the best bound by {best}."
            )
        return found


def beyond_figure(mechanisms: tuple[Mechanism, ...], level: float) -> BeyondFigure:
    """Return the figure of some mechanisms at one level."""
    return BeyondFigure(
        name="beyond",
        title=f"The paper's bound, the best bound and an attack, ε0 = {level:g}",
        place="Figure of ours",
        caption=(
            "The optimal decomposition bound, the best bound of this library, and what concrete "
            "neighbouring datasets reveal; no analysis can prove less than that."
        ),
        paper=(
            "The paper leaves open how far the optimal decomposition bound is from the truth where "
            "it does not meet its lower bound."
        ),
        differences=("Not in the paper; docs/beyond.md has the theory.",),
        mechanisms=mechanisms,
        curves=tuple(
            Curve(label(name, mechanism), bound, mechanism.at(level), kind, mechanism.key)
            for mechanism in mechanisms
            for name, bound, kind in _BOUNDS
        ),
    )


BEYOND = beyond_figure((BLH, LAPLACE), LEVELS["large"])
