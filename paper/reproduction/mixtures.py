"""Figures 4 and 6: parallel composition and Poisson subsampling."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.curve import Curve
from reproduction.item import CurveFigure, epsilons
from reproduction.measure import Span, Values, gap
from reproduction.panels import (
    BLH,
    KRR10,
    LOWER,
    OURS,
    improvement,
    previous_curves,
)
from reproduction.settings import LEVEL_UNKNOWN, LEVELS
from reproduction.table import Table
from shuffledp.basics.rounding import nearest

#: Shares of users who take part.
RATES = (1.0, 0.8, 0.5, 0.3, 0.1)


@dataclass(frozen=True, kw_only=True)
class ParallelFigure(CurveFigure):
    """Half of the users run one mechanism, half another."""

    def findings(self, table: Table) -> list[str]:
        """Say whether the mixture lies between its parts, and how tight it is."""
        mixture = epsilons(table, OURS)
        parts = [epsilons(table, m.title) for m in (KRR10, BLH)]
        between = [
            n
            for n, e in mixture.items()
            if min(p[n] for p in parts) <= e <= max(p[n] for p in parts)
        ]
        return [
            f"The mixture lies between its parts at {len(between)} of {len(mixture)} numbers of "
            f"users: its epsilon is {_times(mixture, parts[0])} that of 10-RR and "
            f"{_times(mixture, parts[1])} that of BLH.",
            "It is below the best of Hoeffding, Bennett and the standard clone by "
            f"{Span.of(improvement(table)).to_text()}.",
            "It is above its lower bound by "
            f"{Span.of(gap(mixture, epsilons(table, LOWER))).to_text()}.",
        ]


def _times(values: Values, reference: Values) -> str:
    """Return by which factors some values exceed others."""
    ratios = [value / reference[n] for n, value in values.items()]
    return f"{nearest(min(ratios), 3)} to {nearest(max(ratios), 3)} times"


def parallel_figure(size: str) -> ParallelFigure:
    """Return the figure of the mixture of 10-RR and BLH at one level."""
    level = LEVELS[size]
    first, second = KRR10.at(level), BLH.at(level)
    mixture = f"parallel(0.5*{first}, 0.5*{second})"
    return ParallelFigure(
        name=f"parallel-{size}",
        title=f"½ 10-RR + ½ BLH, ε0 = {level:g}",
        place="Figure 4",
        caption=(
            "Every user tosses a coin and runs 10-RR or BLH, both at the full level "
            f"ε0 = {level:g}; the report says which. Beside the mixture: the two mechanisms by "
            "themselves, and earlier bounds of the mixture."
        ),
        paper="The curve of the mixture lies between those of its parts.",
        curves=(
            *previous_curves(mixture),
            Curve(KRR10.title, "blanket", first),
            Curve(BLH.title, "blanket", second),
            Curve(OURS, "blanket", mixture, group="mixture"),
            Curve(LOWER, "lower_bound", mixture, "lower", group="mixture"),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class PoissonFigure(CurveFigure):
    """Every user takes part with some probability."""

    def findings(self, table: Table) -> list[str]:
        """Compare the rates, and each with its lower bound."""
        everybody = epsilons(table, rate_label(1.0))
        found = []
        for rate in RATES:
            upper = epsilons(table, rate_label(rate))
            tight = Span.of(gap(upper, epsilons(table, lower_label(rate)))).to_text()
            found.append(
                f"Rate {rate:g}: epsilon is {_times(upper, everybody)} that without sampling, and "
                f"above its lower bound by {tight}."
            )
        return found


def rate_label(rate: float) -> str:
    """Return the label of the upper bound at one rate."""
    return f"rate {rate:g}"


def lower_label(rate: float) -> str:
    """Return the label of the lower bound at one rate."""
    return f"{LOWER}, {rate_label(rate)}"


def poisson_figure(size: str) -> PoissonFigure:
    """Return the figure of subsampled 10-RR at one level."""
    level = LEVELS[size]
    texts = {rate: f"subsample({KRR10.at(level)}, rate={rate!r})" for rate in RATES}
    upper = [Curve(rate_label(rate), "blanket", text) for rate, text in texts.items()]
    lower = [Curve(lower_label(rate), "lower_bound", text, "lower") for rate, text in texts.items()]
    return PoissonFigure(
        name=f"poisson-{size}",
        title=f"10-RR with Poisson subsampling, ε0 = {level:g}",
        place="Figure 6",
        caption=(
            "Every user runs 10-RR with the given probability and says openly if not; n counts "
            "all. The lower bounds are in the data file; drawn, they would hide under the curves."
        ),
        paper="The lower bound, not drawn, is said to match the upper one closely.",
        differences=(LEVEL_UNKNOWN,),
        curves=(*upper, *lower),
        hidden=frozenset(curve.label for curve in lower),
    )


FIGURES = (
    *(parallel_figure(size) for size in LEVELS),
    *(poisson_figure(size) for size in LEVELS),
)
