"""The words of the document that depend on what the analyst sees."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.sum_view import View


@dataclass(frozen=True)
class Seen:
    """How the document speaks of shuffled reports, or of a sum of reports.

    Attributes:
        result: what is published, and "is" or "are".
        results: the same of several rounds.
        short: the same in short.
        middle: who stands between the users and the analyst.
        work: what that one does.
        given: what the analyst gets.
        trusted: what that one is trusted to do.
        attack: who attacks, in a picture.
        failure: what holds if the one in the middle fails.
        again: what several rounds assume.
        trust: what is assumed of the one in the middle beyond what every answer assumes.
        definition: what the one in the middle is.
    """

    result: str
    results: str
    short: str
    middle: str
    work: str
    given: str
    trusted: str
    attack: str
    failure: str
    again: str
    trust: tuple[str, ...]
    definition: str


#: By the view of the report.
SEEN: dict[View, Seen] = {
    "multiset": Seen(
        result="the shuffled reports are",
        results="the shuffled reports",
        short="the reports",
        middle="shuffler",
        work="A shuffler mixes everybody's reports, and only the mixture is analysed.",
        given="everybody's reports, without order or sender",
        trusted="tell nobody who sent which report, and when, and mix the reports of all users",
        attack="best attack, shuffled",
        failure="If the shuffler fails, the randomizer still protects every single report: that is "
        "its local level.",
        again="Several rounds assume fresh noise and a fresh shuffle each time, and reports that "
        "cannot be linked across rounds.",
        trust=(),
        definition="Collects the reports, removes who sent them and when, and passes them on in "
        "random order.",
    ),
    "sum": Seen(
        result="the sum of the reports is",
        results="the sums of the reports",
        short="the sum",
        middle="aggregator",
        work="An aggregator adds up everybody's reports, and only the sum is analysed: the analyst "
        "sees no single report.",
        given="the sum of everybody's reports, nothing else",
        trusted="reveal nothing but the sum of the reports of all users",
        attack="best attack, sum",
        failure="If the aggregator passes on single reports without order or sender, they are as "
        "private as behind a shuffler; if it also tells who sent them, the randomizer still "
        "protects every single report: that is its local level.",
        again="Several rounds assume fresh noise each time, and that nothing but the sum of each "
        "round is seen.",
        trust=("the aggregator reveals the sum of all reports, once, and nothing else about them",),
        definition="Adds up the reports, perhaps by a protocol in which nobody sees a single one "
        "(secure aggregation), and passes on nothing but the sum.",
    ),
}
