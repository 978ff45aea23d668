"""All figures and tables, in the order of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reproduction import mixtures, variations
from reproduction.beyond import BEYOND
from reproduction.decompositions import FINITE_TABLE, LIMIT_TABLE
from reproduction.frequency import FREQUENCY_TABLE
from reproduction.gparv import GPARV_TABLE
from reproduction.hierarchy import HIERARCHY
from reproduction.item import Item
from reproduction.laplace_cdf import LAPLACE_CDF
from reproduction.panels import PANELS
from reproduction.previous import PREVIOUS_TABLE


def _place(item: Item) -> tuple[str, str]:
    """Sort figures before tables before extras, each by number; the sort keeps ties in order."""
    kind, _, number = item.place.partition(" ")
    return kind, number


#: Every item by its name.
ITEMS: Mapping[str, Item] = MappingProxyType(
    {
        item.name: item
        for item in sorted(
            (
                HIERARCHY,
                *PANELS,
                *mixtures.FIGURES,
                *variations.FIGURES,
                LAPLACE_CDF,
                BEYOND,
                GPARV_TABLE,
                FINITE_TABLE,
                LIMIT_TABLE,
                FREQUENCY_TABLE,
                PREVIOUS_TABLE,
            ),
            key=_place,
        )
    }
)
