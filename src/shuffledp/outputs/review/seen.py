"""The words of the document that depend on what the analyst sees."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.sum_view import View


@dataclass(frozen=True)
class Seen:
    """How the document speaks of shuffled reports, or of a sum of reports.

    Attributes:
        result: what is published, and "is" or "are".
        shows: the same in short, and that it shows something.
        short: the same in short.
        middle: who stands between the users and the analyst.
        work: what that one does.
        given: what the analyst gets.
        attack: who attacks, in a picture.
        failure: what holds if the one in the middle fails.
        again: what several rounds assume.
        trust: what is assumed of the one in the middle beyond what every answer assumes.
        definition: what the one in the middle is.
    """

    result: str
    shows: str
    short: str
    middle: str
    work: str
    given: str
    attack: str
    failure: str
    again: str
    trust: tuple[str, ...]
    definition: str


#: By the view of the report.
SEEN: dict[View, Seen] = {
    "multiset": Seen(
        result="the shuffled reports are",
        shows="the reports show",
        short="the reports",
        middle="shuffler",
        work="A shuffler mixes the reports of all, and only the mixture is analysed.",
        given="the reports of all, without order or sender",
        attack="best attack, shuffled",
        failure="If the shuffler fails, the randomizer still protects every report by itself: that "
        "is its local level.",
        again="Several rounds assume fresh noise and a fresh shuffle each time, and reports that "
        "cannot be linked across rounds.",
        trust=(),
        definition="Collects the reports, removes who sent them and when, and passes them on in "
        "random order.",
    ),
    "sum": Seen(
        result="the sum of the reports is",
        shows="the sum shows",
        short="the sum",
        middle="aggregator",
        work="An aggregator adds up the reports of all, and only the sum is analysed: the analyst "
        "sees no single report.",
        given="the sum of the reports of all, nothing else",
        attack="best attack, sum",
        failure="If the aggregator passes on the single reports without order and sender, they are "
        "as private as behind a shuffler; if it tells who sent them as well, the randomizer still "
        "protects every report by itself: that is its local level.",
        again="Several rounds assume fresh noise each time, and that of each round only the sum is "
        "seen.",
        trust=("the aggregator reveals the sum of all reports, once, and nothing else about them",),
        definition="Adds up the reports, perhaps by a protocol in which nobody sees a single one "
        "(secure aggregation), and passes on nothing but the sum.",
    ),
}
