"""Figures 2 and 3: one mechanism each, against earlier analyses, and split into attributes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from reproduction.curve import SECOND_INPUT, Curve
from reproduction.digits import RESOLUTION, users
from reproduction.item import CurveFigure, epsilons
from reproduction.measure import Span, Values, gap, saving, smallest
from reproduction.settings import LEVELS
from reproduction.table import Table

HOEFFDING, BENNETT, CLONE = "Hoeffding", "Bennett", "standard clone"
OURS, LOWER = "ours", "lower bound"
POOR_LOWER = "lower bound, others hold 1"

#: The earlier bounds the paper compares with, and their names among all baselines.
PREVIOUS = {HOEFFDING: "blanket_hoeffding", BENNETT: "blanket_bennett", CLONE: "standard_clone"}

#: Into how many attributes the level is split.
PARTS = (2, 4)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism of the paper's experiments.

    Attributes:
        key: its name in the names of items.
        title: its name for people.
        text: its text form, the level left open.
        place: the figure that shows it.
    """

    key: str
    title: str
    text: str
    place: str

    def at(self, level: float) -> str:
        """Return the text with its level."""
        return self.text.format(level=level)

    def split(self, level: float, parts: int) -> str:
        """Return the joint composition of equal parts whose levels add up to ``level``."""
        return f"joint({', '.join([self.at(level / parts)] * parts)})"


KRR10 = Mechanism("krr", "10-RR", "krr(k=10, epsilon0={level!r})", "Figure 2")
BLH = Mechanism("blh", "BLH", "blh(epsilon0={level!r})", "Figure 2")
RAPPOR = Mechanism("rappor", "RAPPOR", "rappor(epsilon0={level!r})", "Figure 2")
OUE = Mechanism("oue", "OUE", "oue(epsilon0={level!r})", "Figure 3")
LAPLACE = Mechanism("laplace", "Laplace", "laplace(epsilon0={level!r})", "Figure 3")

MECHANISMS = (KRR10, BLH, RAPPOR, OUE, LAPLACE)

_NO_ANSWER = (
    "Where an inequality proves nothing better than the level without a shuffler, this run leaves "
    "the curve out."
)
_LAPLACE_LOWER = (
    "The paper's lower bound for Laplace lets all others hold the input 1, the second one of the "
    "pair. That is a valid choice but a poor one: letting them hold 0, which is the same as "
    "reversing the divergence, reveals more. Both are shown; the paper's choice overstates how far "
    "the upper bound may be from the truth."
)


def previous_curves(mechanism: str) -> tuple[Curve, ...]:
    """Return the three earlier bounds of a mechanism."""
    return tuple(Curve(label, bound, mechanism) for label, bound in PREVIOUS.items())


def parts_label(parts: int) -> str:
    """Return the paper's name of a joint composition."""
    return f"{parts}-joint"


@dataclass(frozen=True, kw_only=True)
class Panel(CurveFigure):
    """Amplification of one mechanism at one level."""

    def findings(self, table: Table) -> list[str]:
        """Compare with earlier bounds, with the lower bound, and one report with several parts."""
        ours = epsilons(table, OURS)
        found = [
            "Our epsilon is below the best of Hoeffding, Bennett and the standard clone by "
            f"{Span.of(improvement(table)).to_text()} of it.",
            "It is above the lower bound by "
            f"{Span.of(gap(ours, epsilons(table, LOWER))).to_text()}.",
        ]
        poor = epsilons(table, POOR_LOWER)
        if poor:
            found.append(
                "Above the lower bound of the paper's datasets it is by "
                f"{Span.of(gap(ours, poor)).to_text()}."
            )
        found += [_compare_parts(table, label, fewer) for fewer, label in steps()]
        found += [note for label in PREVIOUS if (note := _missing(table, label))]
        return found


def improvement(table: Table) -> dict[int, float]:
    """Return by which share our bound is below the best of the three earlier ones."""
    best = smallest(epsilons(table, label) for label in PREVIOUS)
    return saving(epsilons(table, OURS), best)


def steps() -> list[tuple[str, str]]:
    """Return the labels to compare: fewer attributes and more."""
    labels = [OURS, *map(parts_label, PARTS)]
    return list(pairwise(labels))


def _compare_parts(table: Table, label: str, fewer: str) -> str:
    shares = saving(epsilons(table, label), epsilons(table, fewer))
    name = "one report" if fewer == OURS else f"the {fewer}"
    worse = [n for n, share in shares.items() if share < -RESOLUTION]
    if not worse:
        return f"The {label} is below {name} by {Span.of(shares).to_text()}."
    return (
        f"The {label} is not always below {name}: at {len(worse)} of {len(shares)} numbers of "
        f"users, from {users(min(worse))} on, it is above it. Savings: {Span.of(shares).to_text()}."
    )


def _missing(table: Table, label: str) -> str | None:
    answered: Values = epsilons(table, label)
    asked = epsilons(table, OURS)
    missing = [n for n in asked if n not in answered]
    if not missing:
        return None
    if len(missing) == len(asked):
        return f"{label} has no answer anywhere."
    return (
        f"{label} has no answer at {len(missing)} of {len(asked)} numbers of users, "
        f"up to {users(max(missing))}."
    )


def panel(mechanism: Mechanism, size: str) -> Panel:
    """Return the figure of one mechanism at the low or the large level."""
    level = LEVELS[size]
    text = mechanism.at(level)
    curves = [
        *previous_curves(text),
        Curve(OURS, "blanket", text, group="one report"),
        Curve(LOWER, "lower_bound", text, "lower", group="one report"),
    ]
    if mechanism is LAPLACE:
        curves.append(Curve(POOR_LOWER, SECOND_INPUT, text, "lower"))
    curves += [
        Curve(parts_label(parts), "blanket", mechanism.split(level, parts)) for parts in PARTS
    ]
    return Panel(
        name=f"{mechanism.key}-{size}",
        title=f"{mechanism.title}, ε0 = {level:g}",
        place=mechanism.place,
        caption=(
            f"{mechanism.title} at the {size} level ε0 = {level:g}: three earlier bounds, ours, "
            "the lower bound, and the joint composition of 2 and of 4 equal reports whose levels "
            "add up to ε0."
        ),
        paper=(
            "The new bound lies below all earlier ones, close to the lower bound, and sinks as the "
            "level is split among more attributes."
        ),
        differences=(
            *((_NO_ANSWER,) if size == "large" else ()),
            *((_LAPLACE_LOWER,) if mechanism is LAPLACE else ()),
        ),
        curves=tuple(curves),
    )


PANELS = tuple(panel(mechanism, size) for mechanism in MECHANISMS for size in LEVELS)
