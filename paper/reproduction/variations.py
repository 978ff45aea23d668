"""Figures 5 and 7: the size of RAPPOR's domain, and how many attributes change."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.curve import Curve
from reproduction.item import CurveFigure, epsilons
from reproduction.measure import Span, gap, saving
from reproduction.panels import CLONE, KRR10, LOWER, RAPPOR
from reproduction.settings import LEVEL_UNKNOWN, LEVELS
from reproduction.table import Table

#: Domain sizes; None is the limit.
DOMAIN_SIZES = (3, 5, 10, 20, None)

#: Number of attributes, and of those in which neighbours differ.
ATTRIBUTES = 4
DISTANCES = (4, 3, 2, 1)


def domain_label(size: int | None) -> str:
    """Return the label of one domain size."""
    return "D = ∞" if size is None else f"D = {size}"


@dataclass(frozen=True, kw_only=True)
class DomainFigure(CurveFigure):
    """RAPPOR with several domain sizes."""

    def findings(self, table: Table) -> list[str]:
        """Say how far each finite domain is below the limit."""
        limit = epsilons(table, domain_label(None))
        found = [
            f"{domain_label(size)} is below the limit by "
            f"{Span.of(saving(epsilons(table, domain_label(size)), limit)).to_text()}."
            for size in DOMAIN_SIZES
            if size is not None
        ]
        lower = Span.of(gap(limit, epsilons(table, LOWER))).to_text()
        return [*found, f"The limit is above the lower bound by {lower}."]


def domain_figure(size: str) -> DomainFigure:
    """Return the figure of RAPPOR's domain sizes at one level."""
    level = LEVELS[size]
    limit = RAPPOR.at(level)
    texts = {
        d: limit if d is None else f"rappor(epsilon0={level!r}, domain_size={d})"
        for d in DOMAIN_SIZES
    }
    return DomainFigure(
        name=f"rappor-domain-{size}",
        title=f"RAPPOR by domain size D, ε0 = {level:g}",
        place="Figure 5",
        caption=(
            "Our bound for RAPPOR on domains of different size, the standard clone, and the lower "
            "bound, which is the same for all sizes above 2."
        ),
        paper="From D = 5 on the curves can hardly be told apart.",
        differences=(
            LEVEL_UNKNOWN,
            "The limit is not an approximation here: the bound grows with D, so the limit is a "
            "valid guarantee for every D.",
        ),
        curves=(
            Curve(CLONE, "standard_clone", limit),
            *(Curve(domain_label(d), "blanket", text) for d, text in texts.items()),
            Curve(LOWER, "lower_bound", limit, "lower", group=domain_label(None)),
        ),
    )


def distance_label(distance: int) -> str:
    """Return the label of one Hamming distance."""
    return f"d = {distance}"


@dataclass(frozen=True, kw_only=True)
class HammingFigure(CurveFigure):
    """A joint report whose neighbours differ in some of the attributes."""

    def findings(self, table: Table) -> list[str]:
        """Say how far smaller distances are below the largest one."""
        everything = epsilons(table, distance_label(ATTRIBUTES))
        return [
            f"{distance_label(d)} is below {distance_label(ATTRIBUTES)} by "
            f"{Span.of(saving(epsilons(table, distance_label(d)), everything)).to_text()}."
            for d in DISTANCES
            if d != ATTRIBUTES
        ]


def hamming_figure(size: str) -> HammingFigure:
    """Return the figure of Hamming distances at one level."""
    level = LEVELS[size]
    parts = ", ".join([KRR10.at(level / ATTRIBUTES)] * ATTRIBUTES)
    return HammingFigure(
        name=f"hamming-{size}",
        title=f"4-joint 10-RR by Hamming distance d, total ε0 = {level:g}",
        place="Figure 7",
        caption=(
            f"Four reports of 10-RR, each at a quarter of ε0 = {level:g}, shuffled as one; the "
            "user whose data changes does so in exactly d of the four attributes."
        ),
        paper="The bound is largest when all attributes change, as observed; a proof is left open.",
        differences=(
            LEVEL_UNKNOWN,
            "That changing every attribute is the worst case is proved here for mechanisms that "
            "treat all inputs alike (docs/compositions.md), so one evaluation is enough.",
        ),
        curves=tuple(
            Curve(distance_label(d), "blanket", f"joint({parts}, exactly={d})") for d in DISTANCES
        ),
    )


FIGURES = (
    *(domain_figure(size) for size in LEVELS),
    *(hamming_figure(size) for size in LEVELS),
)
