"""How the groups of a chart are told apart, also in grey and by the colour-blind."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

# Okabe and Ito 2008 without the yellow, which is too pale for a line on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
_DASHES = ("-", "-.", ":")  # not "--": that is for lower bounds
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")


@dataclass(frozen=True)
class Style:
    """The look of one group: its upper line as below, its lower line dashed with open markers."""

    colour: str
    dashes: str
    marker: str


def styles(count: int) -> list[Style]:
    """Return as many styles as there are groups; the first 21 differ in colour or dashes.

    >>> [(style.colour, style.dashes) for style in styles(8)][::7]
    [('#0072B2', '-'), ('#0072B2', '-.')]
    """
    looks = [(colour, dashes) for dashes, colour in product(_DASHES, _COLOURS)]
    return [Style(*looks[i % len(looks)], marker=_MARKERS[i % len(_MARKERS)]) for i in range(count)]
