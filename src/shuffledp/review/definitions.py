"""The words of the document, explained at its end."""

from __future__ import annotations

from shuffledp.review.seen import Seen


def definitions(seen: Seen) -> tuple[tuple[str, str], ...]:
    """Return each term with its meaning, in the order in which a reader meets them."""
    return (*_FIRST, (seen.middle, seen.definition), *_LAST)


_FIRST = (
    (
        "(epsilon, delta)-differential privacy",
        "Whatever one person's data are replaced by, every event that can be seen becomes "
        "at most e^epsilon times as likely, plus delta. It holds whatever else is known.",
    ),
    (
        "randomizer, epsilon0",
        "What runs on a person's own device and makes a report out of their data, by chance. "
        "epsilon0 says how much one report reveals to whoever knows its sender.",
    ),
)

_LAST = (
    (
        "guarantee, lower bound",
        "The guarantee is proved and rounded up. The lower bound is what two concrete datasets "
        "already reveal, rounded down: no analysis, however clever, can promise less.",
    ),
    (
        "advantage",
        "An attacker knows everything but which of two values one person holds, and says which. "
        "The advantage is the rate of true alarms minus that of false alarms, at most.",
    ),
    (
        "false alarm, missed",
        "An attacker claims that a person holds a certain value. A false alarm is a claim that is "
        "wrong; missed is a case where the value is there and nothing is claimed.",
    ),
)
