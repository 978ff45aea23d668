"""The report: one HTML page that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from shuffledp._version import __version__
from shuffledp.markup import Markup, join, tag
from shuffledp.reproduction.claims import Claim, overview
from shuffledp.reproduction.item import Item
from shuffledp.reproduction.items import ITEMS
from shuffledp.reproduction.markup import paragraphs, to_html
from shuffledp.reproduction.settings import DELTA, FULL, Settings
from shuffledp.reproduction.speed import Speed
from shuffledp.reproduction.table import Table
from shuffledp.rounding import nearest

_TITLE = "Decomposition-based bounds for privacy amplification, computed again"

_ABOUT = (
    "This page computes every figure and table of Su, Cheng and Wang, “Decomposition-Based Optimal "
    "Bounds for Privacy Amplification via Shuffling” (arXiv 2504.07414) again, with the certified "
    "engine of shuffledp. Upper bounds are rounded up and lower bounds down. Whatever is called "
    "ours is the optimal decomposition bound as shuffledp computes it.",
    "n counts all users, the one whose data changes included. Neighbouring datasets replace the "
    "input of one user. The analyst sees the shuffled multiset of whole reports. ε0 is the "
    "replace-one LDP level of the local randomizer.",
)

_STYLE = """
:root { color-scheme: light; }
body { background: #fff; color: #1a1a1a; font: 16px/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 62rem; padding: 1.5rem; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { border-top: 1px solid #bbb; font-size: 1.3rem; margin-top: 2.5rem; padding-top: 1rem; }
h3 { font-size: 1.1rem; margin-top: 2rem; }
figure { margin: 1rem 0; }
figure img { height: auto; max-width: 100%; }
figcaption { color: #444; font-size: .92rem; }
.wide { margin: 1rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; }
th, td { border: 1px solid #ccc; padding: .3rem .55rem; text-align: left; vertical-align: top; }
th { background: #f2f2f2; }
td ul { margin: 0; padding-left: 1.1rem; }
td p { margin: 0; }
.number { font-variant-numeric: tabular-nums; text-align: right; }
.holds { color: #17622b; font-weight: 600; white-space: nowrap; }
.part { color: #8a5300; font-weight: 600; }
.fails { color: #a11212; font-weight: 600; }
.none { color: #555; }
.note { background: #fff6dd; border: 1px solid #e3c768; padding: .6rem .9rem; }
.source { color: #555; font-size: .85rem; }
a { color: #0b4f9e; }
"""

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
    body = (
        tag("h1", _TITLE),
        paragraphs(_ABOUT),
        _state(entries, settings, plotting_missing),
        _contents(entries),
        _claims(entries, claims),
        _speed(entries, settings),
        *_items(entries),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", _TITLE),
        tag("style", Markup(_STYLE)),
    )
    page = tag("html", head, tag("body", tag("main", *body)), lang="en")
    return f"<!DOCTYPE html>\n{page.text}\n"


def _state(entries: Sequence[Entry], settings: Settings, missing: str | None) -> Markup:
    users = settings.users
    text = (
        f"shuffledp {__version__}; delta = {nearest(DELTA, 1)}; {len(users)} numbers of users from "
        f"{users[0]:,} to {users[-1]:,} in geometric steps; {len(entries)} of {len(ITEMS)} items."
    )
    notes = []
    if settings.points < FULL:
        notes.append(f"A quick look: the paper's curves have {FULL} points, these {len(users)}.")
    absent = [name for name in ITEMS if name not in {entry.item.name for entry in entries}]
    if absent:
        notes.append(f"Not computed yet: {', '.join(absent)}. “shuffledp reproduce all” adds them.")
    if missing is not None:
        notes.append(f"Figures could not be drawn: {missing}. Their numbers are in the CSV files.")
    return join(tag("p", text), *(tag("p", note, class_="note") for note in notes))


def _contents(entries: Iterable[Entry]) -> Markup:
    links = [("claims", "The claims of the paper"), ("speed", "How long it takes")]
    links += [(e.item.name, f"{_capital(e.item.place)}: {e.item.title}") for e in entries]
    rows = (tag("li", tag("a", text, href=f"#{name}")) for name, text in links)
    return tag("nav", tag("h2", "Contents"), tag("ol", *rows), **{"aria-label": "contents"})


def _claims(entries: Sequence[Entry], claims: Iterable[Claim]) -> Markup:
    columns = ("the paper says", "this run measures", "the claim")
    head = tag("tr", *(tag("th", column, scope="col") for column in columns))
    rows = [
        tag(
            "tr",
            tag("td", claim.paper),
            tag("td", paragraphs(claim.found)),
            tag("td", claim.verdict, class_=_VERDICTS[claim.verdict]),
        )
        for claim in claims
    ]
    measured = overview({entry.item.name: entry.table for entry in entries})
    return tag(
        "section",
        tag("h2", "The claims of the paper", id="claims"),
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="wide"),
        *(
            (
                tag("p", "Figures 2 and 3 panel by panel, in shares of epsilon:"),
                to_html(measured),
            )
            if measured.rows
            else ()
        ),
    )


def _speed(entries: Iterable[Entry], settings: Settings) -> Markup:
    speed = Speed.of({entry.item.name: entry.seconds for entry in entries}, settings)
    title = tag("h2", "How long it takes", id="speed")
    if not speed.seconds:
        return tag("section", title, tag("p", "No panel of figures 2 and 3 is computed yet."))
    return tag("section", title, paragraphs(speed.findings()), to_html(speed.table()))


def _items(entries: Sequence[Entry]) -> Iterable[Markup]:
    for place, group in groupby(entries, key=lambda entry: entry.item.place):
        yield tag("section", tag("h2", _capital(place)), *(_item(entry) for entry in group))


def _item(entry: Entry) -> Markup:
    item = entry.item
    parts: list[Markup] = [tag("h3", item.title, id=item.name)]
    caption = tag("figcaption", item.caption)
    if entry.picture is not None:
        source = f"data:image/svg+xml;base64,{base64.b64encode(entry.picture).decode()}"
        alt = f"{item.title}. {item.caption} The numbers are in the table below."
        parts.append(tag("figure", tag("img", src=source, alt=alt), caption))
    else:
        parts.append(tag("p", item.caption))
    parts.append(_labelled("The paper", (item.paper,)))
    parts.append(_labelled("This run", tuple(item.findings(entry.table))))
    if item.differences:
        parts.append(_labelled("Differences", item.differences))
    parts.append(to_html(item.summary(entry.table)))
    parts.append(tag("p", f"All numbers: {item.name}.csv", class_="source"))
    return tag("article", *parts)


def _labelled(label: str, texts: tuple[str, ...]) -> Markup:
    if len(texts) == 1:
        return tag("p", tag("strong", f"{label}. "), texts[0])
    return join(tag("p", tag("strong", f"{label}.")), paragraphs(texts))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
