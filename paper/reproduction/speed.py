"""How long a curve takes, against what the paper reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reproduction.panels import CLONE, LOWER, OURS, PANELS, PARTS, parts_label
from reproduction.settings import FULL, Settings
from reproduction.table import Table
from shuffledp.basics.rounding import nearest

#: Seconds per curve of 100 points in the paper: its own algorithm, and the standard clone's.
PAPER_SECONDS, PAPER_CLONE_SECONDS = 30.0, 300.0

_TIMED = (OURS, *map(parts_label, PARTS), LOWER, CLONE)


@dataclass(frozen=True)
class Speed:
    """Processor seconds per full curve of 100 points, by panel and curve.

    Attributes:
        seconds: what was measured, scaled up where fewer points were computed.
        points: how many points were computed.
    """

    seconds: Mapping[str, Mapping[str, float]]
    points: int

    @classmethod
    def of(cls, seconds: Mapping[str, Mapping[str, float]], settings: Settings) -> Speed:
        """Collect the panels of figures 2 and 3 among the finished items."""
        scale = FULL / len(settings.users)
        return cls(
            {
                panel.title: {label: scale * t for label, t in seconds[panel.name].items()}
                for panel in PANELS
                if panel.name in seconds
            },
            len(settings.users),
        )

    def table(self) -> Table:
        """Return one row per panel."""
        rows = [
            (title, *(_show(own.get(label)) for label in _TIMED))
            for title, own in self.seconds.items()
        ]
        return Table(("seconds per curve", *_TIMED), tuple(rows))

    def findings(self) -> list[str]:
        """Compare with the paper's seconds."""
        if not self.seconds:
            return []
        ours = [own[OURS] for own in self.seconds.values()]
        clone = [own[CLONE] for own in self.seconds.values()]
        slowest, title, label = max(
            (own[label], title, label)
            for title, own in self.seconds.items()
            for label in (OURS, *map(parts_label, PARTS))
        )
        found = [
            f"A curve of ours for one report takes {nearest(min(ours), 2)} to "
            f"{nearest(max(ours), 2)} s of processor time: the paper's about "
            f"{PAPER_SECONDS:g} s are {nearest(PAPER_SECONDS / max(ours), 2)} to "
            f"{nearest(PAPER_SECONDS / min(ours), 2)} times as long, with a program for "
            "graphics processors.",
            f"The slowest of our curves, {title}, {label}, takes {nearest(slowest, 2)} s, "
            f"{nearest(slowest / PAPER_SECONDS, 2)} times the paper's {PAPER_SECONDS:g} s.",
            f"The standard clone, evaluated by the same engine, takes {nearest(min(clone), 2)} to "
            f"{nearest(max(clone), 2)} s; the paper reports about "
            f"{PAPER_CLONE_SECONDS / 60:g} minutes for its authors' program.",
        ]
        if self.points != FULL:
            found.append(
                f"Measured on {self.points} points and scaled to {FULL}; a full run measures it "
                "directly."
            )
        return found


def _show(seconds: float | None) -> str:
    return "not computed" if seconds is None else nearest(seconds, 2)
