"""The words of the document, explained at its end."""

from __future__ import annotations

from shuffledp.randomizers import Relation
from shuffledp.review.seen import Seen


def definitions(seen: Seen, relation: Relation, basis: str) -> tuple[tuple[str, str], ...]:
    """Return each term with its meaning, in the order in which a reader meets them.

    Args:
        seen: what the analyst sees.
        relation: how neighbouring datasets differ.
        basis: what the guarantee is, "proved" if nothing was taken on trust.
    """
    privacy = (
        f"{whatever(relation)}, every event that can be seen becomes at most e^epsilon times as "
        "likely, plus delta. It holds whatever else is known."
    )
    guarantee = (
        f"The guarantee is {basis} and rounded up. The lower bound is what two concrete datasets "
        "already reveal, rounded down: no analysis, however clever, can promise less."
    )
    advantage = (
        f"An attacker knows everything but which of {two_values(relation)} one person holds, and "
        "says which. The advantage is the rate of true alarms minus that of false alarms, at most."
    )
    return (
        ("(epsilon, delta)-differential privacy", privacy),
        _RANDOMIZER,
        (seen.middle, seen.definition),
        ("guarantee, lower bound", guarantee),
        ("advantage", advantage),
        _ALARM,
    )


def whatever(relation: Relation) -> str:
    """Return the condition of a promise to one person.

    >>> whatever(Relation())
    "Whatever one person's data are replaced by"
    >>> whatever(Relation.of((Relation(), Relation()), 1, 1))
    "If one person's data change in at most 1 of 2 attributes, to whatever"
    """
    if relation.replaces_input:
        return "Whatever one person's data are replaced by"
    return f"If one person's data change in {relation.extent}, to whatever"


def two_values(relation: Relation) -> str:
    """Return what an attacker may be in doubt about.

    >>> two_values(Relation())
    'two values'
    """
    if relation.replaces_input:
        return "two values"
    return f"two values that differ in {relation.extent}"


_RANDOMIZER = (
    "randomizer, epsilon0",
    "What runs on a person's own device and makes a report out of their data, by chance. "
    "epsilon0 says how much one report reveals to whoever knows its sender.",
)

_ALARM = (
    "false alarm, missed",
    "An attacker claims that a person holds a certain value. A false alarm is a claim that is "
    "wrong; missed is a case where the value is there and nothing is claimed.",
)
