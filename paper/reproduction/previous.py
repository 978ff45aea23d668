"""Beyond the paper: bounds it did not compare with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproduction.curve import OnDone, question
from reproduction.digits import percent
from reproduction.item import Item, Result
from reproduction.panels import MECHANISMS, OURS, PREVIOUS
from reproduction.settings import DELTA, LEVELS, Settings
from reproduction.table import Cell, Table
from shuffledp.basics.rounding import round_up
from shuffledp.comparison import sweep

GENERIC, STRONGER = "generic, restored", "stronger clone, corrected"

_BOUNDS = {OURS: "blanket", **PREVIOUS, GENERIC: "restored_generic", STRONGER: "stronger_clone"}
_USERS = (10**3, 10**4, 10**5)
#: Mechanism, level and number of users.
_Key = tuple[Cell, ...]

_SAME = 3e-4  # two enclosures of relative width 1e-4 of the same number


@dataclass(frozen=True, kw_only=True)
class PreviousTable(Item):
    """Epsilon by all analyses at a few settings."""

    def identity(self, settings: Settings) -> dict[str, object]:
        """Return the settings and the bounds."""
        return {"delta": DELTA, "n": list(_USERS), "bounds": list(_BOUNDS.values())}

    def size(self, settings: Settings) -> int:
        """Return the number of settings."""
        return len(MECHANISMS) * len(LEVELS) * len(_USERS)

    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Evaluate every bound of every mechanism."""
        keys = [(m, level, n) for m in MECHANISMS for level in LEVELS.values() for n in _USERS]
        bounds = list(_BOUNDS.values())
        answers = sweep(
            {(m, level, n): [question(bounds, m.at(level), n)] for m, level, n in keys},
            on_done=on_done,
        )
        rows: list[tuple[Cell, ...]] = [
            (m.title, level, n, *(value.number for value in values))
            for (m, level, n), (values,) in answers.items()
        ]
        return Result(Table(("mechanism", "epsilon0", "n", *_BOUNDS), tuple(rows)))

    def findings(self, table: Table) -> list[str]:
        """Say by how much our bound improves on each of the two."""
        found = []
        for bound in (GENERIC, STRONGER):
            savings: dict[_Key, float] = {}
            for row in table.rows:
                cells = dict(zip(table.columns, row, strict=True))
                ours, other = cells[OURS], cells[bound]
                if isinstance(ours, float) and isinstance(other, float):
                    savings[row[:3]] = 1 - ours / other
            least, most = (
                min(savings, key=savings.__getitem__),
                max(savings, key=savings.__getitem__),
            )
            same = [key for key, share in savings.items() if share < _SAME]
            text = (
                f'Our bound is below that of "{bound}" by {percent(savings[least])} '
                f"({_setting(least)}) to {percent(savings[most])} ({_setting(most)}), where that "
                "has an answer."
            )
            if same:
                text += (
                    f" The two agree within their certified width at {len(same)} of "
                    f"{len(savings)} settings{_all_of(savings, same)}."
                )
            found.append(text)
        return found

    def summary(self, table: Table) -> Table:
        """Return the bounds rounded up."""
        rows = []
        for row in table.rows:
            bounds = (round_up(x) if isinstance(x, float) else "no answer" for x in row[3:])
            rows.append((*row[:3], *bounds))
        return Table(table.columns, tuple(rows))


def _all_of(settings: Iterable[_Key], same: Sequence[_Key]) -> str:
    """Name the mechanisms all settings of which are among ``same``."""
    others = {key[0] for key in settings if key not in same}
    names = [str(name) for name in dict.fromkeys(key[0] for key in same) if name not in others]
    return f", among them all of {', '.join(names)}" if names else ""


def _setting(key: tuple[Cell, ...]) -> str:
    name, level, n = key
    return f"{name}, ε0 = {level:g}, n = {n:,}"


PREVIOUS_TABLE = PreviousTable(
    name="previous",
    title="Two more earlier bounds",
    place="beyond the paper",
    caption=(
        "Epsilon at delta = 1e-6 by the analyses of figures 2 and 3 and by two more: the generic "
        "bound of the stronger clone, which holds by another proof than the one withdrawn, and "
        "the stronger clone for specific mechanisms with a corrected reduction."
    ),
    paper="Not compared: the paper calls the corrected stronger clone weak and hard to compute.",
)
