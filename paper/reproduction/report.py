"""The report: one HTML page that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from reproduction.claims import Claim, overview
from reproduction.item import Item
from reproduction.items import ITEMS
from reproduction.settings import DELTA, FULL, Settings
from reproduction.speed import Speed
from reproduction.table import Cell, Table
from shuffledp._version import __version__
from shuffledp.basics.markup import render
from shuffledp.basics.rounding import nearest

_TITLE = "Decomposition-based bounds for privacy amplification, computed again"

_VERDICTS = {
    "holds": "holds",
    "does not hold everywhere": "part",
    "does not hold": "fails",
    "not measured": "none",
}


@dataclass(frozen=True)
class Entry:
    """A finished item: its numbers and, for a figure, its picture."""

    item: Item
    table: Table
    seconds: dict[str, float]
    picture: bytes | None


def write_report(
    entries: Sequence[Entry],
    claims: Sequence[Claim],
    settings: Settings,
    plotting_missing: str | None = None,
) -> str:
    """Return the whole page."""
    tables = {entry.item.name: entry.table for entry in entries}
    return render(
        "reproduction",
        "report.html",
        title=_TITLE,
        state=_state(entries, settings),
        notes=_notes(entries, settings, plotting_missing),
        entries=entries,
        groups=[(place, list(own)) for place, own in groupby(entries, lambda e: e.item.place)],
        claims=claims,
        verdicts=_VERDICTS,
        overview=overview(tables),
        speed=Speed.of({entry.item.name: entry.seconds for entry in entries}, settings),
        shown=_shown,
        capital=lambda text: text[:1].upper() + text[1:],
        base64=lambda content: base64.b64encode(content).decode(),
    )


def _state(entries: Sequence[Entry], settings: Settings) -> str:
    users = settings.users
    return (
        f"shuffledp {__version__}; delta = {nearest(DELTA, 1)}; {len(users)} numbers of users from "
        f"{users[0]:,} to {users[-1]:,} in geometric steps; {len(entries)} of {len(ITEMS)} items."
    )


def _notes(entries: Sequence[Entry], settings: Settings, missing: str | None) -> Iterator[str]:
    """Yield what is less than a full run."""
    if settings.points < FULL:
        points = len(settings.users)
        yield f"A quick look: the paper's curves have {FULL} points, these {points}."
    absent = [name for name in ITEMS if name not in {entry.item.name for entry in entries}]
    if absent:
        yield f"Not computed yet: {', '.join(absent)}. “python paper/reproduce.py all” adds them."
    if missing is not None:
        yield f"Figures could not be drawn: {missing}. Their numbers are in the CSV files."


def _shown(cell: Cell) -> str:
    if isinstance(cell, int | float):
        return f"{cell:,}" if isinstance(cell, int) else nearest(cell)
    return "no answer" if cell is None else cell
