"""The claims of the paper, measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from reproduction import frequency
from reproduction.digits import RESOLUTION, percent, users
from reproduction.item import epsilons
from reproduction.measure import Span, Values, gap, saving, smallest
from reproduction.mixtures import RATES, lower_label, rate_label
from reproduction.panels import (
    BENNETT,
    BLH,
    CLONE,
    KRR10,
    LOWER,
    OURS,
    PANELS,
    PARTS,
    PREVIOUS,
    improvement,
    parts_label,
    steps,
)
from reproduction.settings import FEWEST, LEVELS
from reproduction.table import Table, number
from reproduction.variations import (
    ATTRIBUTES,
    DISTANCES,
    DOMAIN_SIZES,
    distance_label,
    domain_label,
)
from shuffledp.basics.rounding import round_up

Verdict = Literal["holds", "does not hold everywhere", "does not hold", "not measured"]

#: What counts as close, or as hard to tell apart: the paper gives no number.
CLOSE = 0.05

#: The finished items by name.
_Tables = Mapping[str, Table]
_Measured = tuple[list[str], Verdict]

_TITLES = {panel.name: panel.title for panel in PANELS}


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and what this run found.

    Attributes:
        name: a short name for programs.
        paper: the claim, in our words.
        found: what was measured, in sentences.
        verdict: whether the claim holds.
    """

    name: str
    paper: str
    found: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class _Check:
    name: str
    paper: str
    needs: tuple[str, ...]
    measure: Callable[[_Tables], _Measured]


def check_claims(tables: _Tables) -> list[Claim]:
    """Measure every claim for which all items are finished."""
    claims = []
    for check in _CHECKS:
        missing = [name for name in check.needs if name not in tables]
        if missing:
            found, verdict = [f"It needs {', '.join(missing)}."], _verdict(None)
        else:
            found, verdict = check.measure(tables)
        claims.append(Claim(check.name, check.paper, tuple(found), verdict))
    return claims


def overview(tables: _Tables) -> Table:
    """Return what is measured on each panel of figures 2 and 3."""
    columns = (
        "panel",
        "ours below the best earlier bound",
        "ours above the lower bound",
        *(f"{more} below {_name(fewer)}" for fewer, more in steps()),
    )
    rows = []
    for name, title in _TITLES.items():
        if name in tables:
            table = tables[name]
            spans = [improvement(table), gap(epsilons(table, OURS), epsilons(table, LOWER))]
            spans += [
                saving(epsilons(table, more), epsilons(table, fewer)) for fewer, more in steps()
            ]
            rows.append((title, *(Span.of(values).to_text() for values in spans)))
    return Table(columns, tuple(rows))


def _verdict(holds: bool | None, *, partly: bool = False) -> Verdict:
    if holds is None:
        return "not measured"
    if holds:
        return "holds"
    return "does not hold everywhere" if partly else "does not hold"


def _name(label: str) -> str:
    return "one report" if label == OURS else label


def _spans(tables: _Tables, measure: Callable[[Table], Values]) -> dict[str, Span]:
    return {name: Span.of(measure(tables[name])) for name in _TITLES}


def _at(name: str, n: int) -> str:
    return f"{_TITLES[name]}, {users(n)}"


def _least_improvement(tables: _Tables) -> _Measured:
    spans = _spans(tables, improvement)
    worst = min(spans, key=lambda name: spans[name].low)
    below = [name for name in spans if spans[name].low < 0.1]
    found = [
        f"At least {percent(spans[worst].low)} ({_at(worst, spans[worst].low_at)}), counted "
        "against the best of Hoeffding, Bennett and the standard clone at the same n.",
    ]
    found += [
        f"{_TITLES[name]}: only {spans[name].to_text()}. Even the lower bound is below the best "
        f"earlier bound by no more than {percent(_most_possible(tables[name]))} there, so no "
        "analysis could gain more."
        for name in below
    ]
    rest = [spans[name].low for name in spans if name not in below]
    if below and rest:
        found.append(f"All other panels: at least {percent(min(rest))}.")
    return found, _verdict(not below, partly=bool(rest))


def _most_possible(table: Table) -> float:
    """Return by which share any bound could at most be below the best earlier one."""
    earlier = smallest(epsilons(table, label) for label in PREVIOUS)
    return Span.of(saving(epsilons(table, LOWER), earlier)).high


def _largest_improvement(tables: _Tables) -> _Measured:
    spans = _spans(tables, improvement)
    best = max(spans, key=lambda name: spans[name].high)
    table, n = tables[best], spans[best].high_at
    earlier = smallest(epsilons(table, label) for label in PREVIOUS)
    bennett = _spans(
        tables, lambda own: saving(epsilons(own, OURS), epsilons(own, BENNETT)) or {0: 0.0}
    )
    strict = max(bennett, key=lambda name: bennett[name].high)
    there = best.endswith("large") and n <= 2 * FEWEST
    return [
        f"Up to {percent(spans[best].high)} ({_at(best, n)}), where the best earlier bound is "
        f"{round_up(earlier[n])} and ours {round_up(epsilons(table, OURS)[n])}.",
        f"Where Bennett's inequality has an answer, up to {percent(bennett[strict].high)} below it "
        f"({_at(strict, bennett[strict].high_at)}).",
    ], _verdict(spans[best].high >= 0.5 and there, partly=spans[best].high >= 0.5)


def _always_below(tables: _Tables) -> _Measured:
    total, below = 0, 0
    for name in _TITLES:
        savings = improvement(tables[name])
        total += len(savings)
        below += sum(share >= 0 for share in savings.values())
    return [f"Ours is the smallest at {below} of {total} points."], _verdict(below == total)


def _tight(tables: _Tables) -> _Measured:
    spans = _spans(tables, lambda t: gap(epsilons(t, OURS), epsilons(t, LOWER)))
    close = [name for name in spans if spans[name].high <= CLOSE]
    found = [
        f"Within {percent(CLOSE)} of the lower bound everywhere in {len(close)} of {len(spans)} "
        f"panels, the largest gap there being {percent(max(spans[n].high for n in close))}."
        if close
        else f"No panel stays within {percent(CLOSE)} of its lower bound."
    ]
    found += [
        f"{_TITLES[name]}: {spans[name].to_text()} above it." for name in spans if name not in close
    ]
    return found, _verdict(len(close) == len(spans), partly=bool(close))


def _more_attributes(tables: _Tables) -> _Measured:
    total, better = 0, 0
    exceptions = []
    for name, title in _TITLES.items():
        for fewer, more in steps():
            old, new = epsilons(tables[name], fewer), epsilons(tables[name], more)
            shares = saving(new, old)
            worse = [n for n, share in shares.items() if share < -RESOLUTION]
            total += len(shares)
            better += len(shares) - len(worse)
            if worse:
                values = " and ".join(
                    f"{round_up(new[n], 5)} against {round_up(old[n], 5)} at {users(n)}"
                    for n in sorted({min(worse), max(worse)})
                )
                exceptions.append(
                    f"{title}: the {more} is above {_name(fewer)} at {len(worse)} of "
                    f"{len(shares)} numbers of users: {values}."
                )
    found = [f"More attributes have the smaller epsilon in {better} of {total} comparisons."]
    return found + exceptions, _verdict(not exceptions, partly=better > 0)


def _joint_below_generic(tables: _Tables) -> _Measured:
    spans = {
        (name, parts): Span.of(saving(epsilons(table, parts_label(parts)), epsilons(table, CLONE)))
        for name, table in tables.items()
        if name in _TITLES
        for parts in PARTS
    }
    (name, parts), least = min(spans.items(), key=lambda item: item[1].low)
    return [
        f"Below the standard clone of the same total level by at least {percent(least.low)} "
        f"({parts_label(parts)}, {_at(name, least.low_at)}) and up to "
        f"{percent(max(span.high for span in spans.values()))}."
    ], _verdict(least.low > 0)


def _between(tables: _Tables) -> _Measured:
    total, between = 0, 0
    for size in LEVELS:
        table = tables[f"parallel-{size}"]
        parts = [epsilons(table, mechanism.title) for mechanism in (KRR10, BLH)]
        for n, epsilon in epsilons(table, OURS).items():
            total += 1
            between += min(p[n] for p in parts) <= epsilon <= max(p[n] for p in parts)
    found = [f"Between its parts at {between} of {total} points of both levels."]
    return found, _verdict(between == total, partly=between > 0)


def _domains_agree(tables: _Tables) -> _Measured:
    largest = {}
    for size in LEVELS:
        table = tables[f"rappor-domain-{size}"]
        limit = epsilons(table, domain_label(None))
        for d in DOMAIN_SIZES[:-1]:
            shares = saving(epsilons(table, domain_label(d)), limit)
            largest[size, d] = Span.of(shares).high
    worst = max(largest[key] for key in largest if key[1] != DOMAIN_SIZES[0])
    small = max(largest[size, DOMAIN_SIZES[0]] for size in LEVELS)
    return [
        f"From D = 5 on, all curves are within {percent(worst)} of the limit; D = 3 is within "
        f"{percent(small)}."
    ], _verdict(worst <= CLOSE)


def _sampling_is_tight(tables: _Tables) -> _Measured:
    gaps = [
        Span.of(gap(epsilons(table, rate_label(rate)), epsilons(table, lower_label(rate)))).high
        for table in (tables[f"poisson-{size}"] for size in LEVELS)
        for rate in RATES
    ]
    found = [f"At most {percent(max(gaps))} above the lower bound, at all rates and both levels."]
    return found, _verdict(max(gaps) <= CLOSE)


def _all_attributes_are_worst(tables: _Tables) -> _Measured:
    shares: list[float] = []
    for size in LEVELS:
        table = tables[f"hamming-{size}"]
        most = epsilons(table, distance_label(ATTRIBUTES))
        for d in DISTANCES[1:]:
            shares += saving(epsilons(table, distance_label(d)), most).values()
    return [
        f"Changing fewer attributes gives an epsilon smaller by {percent(min(shares))} to "
        f"{percent(max(shares))}. It is proved now, not only observed."
    ], _verdict(min(shares) >= 0)


def _larger_level(tables: _Tables) -> _Measured:
    table = tables["frequency"]
    keys = zip(table.column("analysis"), table.column("epsilon"), strict=True)
    levels = dict(zip(keys, map(number, table.column("epsilon0 (this run)")), strict=True))
    gains = [
        levels[frequency.OURS, t] / levels[frequency.BENNETT, t] - 1 for t in frequency.TARGETS
    ]
    return [
        f"Larger by {percent(min(gains))} to {percent(max(gains))} at the six targets."
    ], _verdict(min(gains) >= 0.1)


def _tables_are_right(tables: _Tables) -> _Measured:
    names = ("gparv", "decompositions", "decompositions-limit")
    cells = [cell for name in names for cell in tables[name].column("paper")]
    right = cells.count("agrees")
    found = [f"{right} of {len(cells)} entries of the three tables of formulas agree."]
    if right < len(cells):
        found.append("The others are the misprinted row of HR (table 2).")
    return found, _verdict(right == len(cells), partly=right > 0)


_ALL_PANELS = tuple(_TITLES)

_CHECKS = (
    _Check(
        "least improvement",
        "The new bound improves epsilon by at least 10% in all settings.",
        _ALL_PANELS,
        _least_improvement,
    ),
    _Check(
        "largest improvement",
        "It improves epsilon by up to 50% where the level is large and users are few.",
        _ALL_PANELS,
        _largest_improvement,
    ),
    _Check("best bound", "It is below all earlier bounds.", _ALL_PANELS, _always_below),
    _Check("tightness", "Upper and lower bounds are generally close.", _ALL_PANELS, _tight),
    _Check(
        "more attributes",
        "With the total level fixed, amplification improves with the number of attributes.",
        _ALL_PANELS,
        _more_attributes,
    ),
    _Check(
        "joint against generic",
        "Bounds for joint compositions are far below generic ones.",
        _ALL_PANELS,
        _joint_below_generic,
    ),
    _Check(
        "parallel between parts",
        "The curve of a parallel composition lies between those of its parts.",
        tuple(f"parallel-{size}" for size in LEVELS),
        _between,
    ),
    _Check(
        "domain size",
        "For RAPPOR the size of the domain hardly matters from D = 5 on.",
        tuple(f"rappor-domain-{size}" for size in LEVELS),
        _domains_agree,
    ),
    _Check(
        "subsampling",
        "With Poisson subsampling the lower bound closely matches the upper one.",
        tuple(f"poisson-{size}" for size in LEVELS),
        _sampling_is_tight,
    ),
    _Check(
        "worst distance",
        "Neighbours that differ in all attributes are the worst.",
        tuple(f"hamming-{size}" for size in LEVELS),
        _all_attributes_are_worst,
    ),
    _Check(
        "larger level",
        "For frequency estimation the new bound allows a level about 10% larger than Bennett's.",
        ("frequency",),
        _larger_level,
    ),
    _Check(
        "formulas",
        "The formulas in the tables of decompositions and of the GPARV are right.",
        ("gparv", "decompositions", "decompositions-limit"),
        _tables_are_right,
    ),
)
