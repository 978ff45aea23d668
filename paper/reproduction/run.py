"""A run: compute what is missing, draw, write the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.claims import Claim, check_claims
from reproduction.curve import OnDone
from reproduction.folder import Folder
from reproduction.item import Item, Result
from reproduction.items import ITEMS
from reproduction.report import Entry, write_report
from reproduction.settings import Settings
from shuffledp.basics.extras import MissingExtraError


@dataclass(frozen=True)
class Outcome:
    """What a run did.

    Attributes:
        computed: names of the items computed now.
        reused: names of the items that had been finished before.
        claims: the paper's claims as far as the finished items decide them.
        report: the file of the report.
        plotting_missing: what to install for pictures, if they could not be drawn.
    """

    computed: tuple[str, ...]
    reused: tuple[str, ...]
    claims: tuple[Claim, ...]
    report: Path
    plotting_missing: str | None


def reproduce(
    names: Sequence[str],
    folder: Path,
    settings: Settings | None = None,
    on_done: OnDone | None = None,
) -> Outcome:
    """Compute figures and tables of the paper into a folder, and report on all that are there.

    Items that the folder already holds with the same settings are not computed again, so an
    interrupted run continues where it stopped. Points are computed in other processes, which import
    the main module: a script calls this under ``if __name__ == "__main__":``.

    Args:
        names: names of :data:`reproduction.ITEMS`.
        folder: where to write; it is created.
        settings: the grid, by default the paper's.
        on_done: called with the numbers of finished and of all points.

    Raises:
        ValueError: if a name is unknown.
        OSError: if the folder cannot be written; both are found out first.
    """
    for name in names:
        if name not in ITEMS:
            raise ValueError(f"names must be among {', '.join(ITEMS)}, got {name!r}")
    settings = settings or Settings()
    place = Folder(folder)
    place.prepare()
    computed, reused, missing = [], [], None
    items = [ITEMS[name] for name in names]
    total, done = sum(item.size(settings) for item in items), 0
    for item in items:
        result = place.load(item, settings)
        if result is None:
            result = item.compute(settings, _shifted(on_done, done, total))
            place.save(item, settings, result)
            computed.append(item.name)
        else:
            reused.append(item.name)
        done += item.size(settings)
        missing = _draw(place, item, result) or missing
    finished = {
        name: result
        for name, item in ITEMS.items()
        if (result := place.load(item, settings)) is not None
    }
    claims = check_claims({name: result.table for name, result in finished.items()})
    entries = [
        Entry(ITEMS[name], result.table, result.seconds, place.picture_bytes(ITEMS[name]))
        for name, result in finished.items()
    ]
    report = place.write_report(write_report(entries, claims, settings, missing))
    return Outcome(tuple(computed), tuple(reused), tuple(claims), report, missing)


def _draw(place: Folder, item: Item, result: Result) -> str | None:
    """Draw the picture; return what to install if that cannot be done."""
    try:
        place.draw(item, result)
    except MissingExtraError as error:
        return str(error)
    return None


def _shifted(on_done: OnDone | None, before: int, total: int) -> OnDone | None:
    """Count the points of one item after those of the items before it."""
    if on_done is None:
        return None
    return lambda done, _: on_done(before + done, total)
