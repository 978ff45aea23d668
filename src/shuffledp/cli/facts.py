"""What n, neighbours, the view and epsilon0 mean: said in every help text and every JSON answer."""

from __future__ import annotations

#: The assumptions behind every number.
ASSUMPTIONS = (
    "n counts all users, the one whose data changes included",
    "neighbouring datasets replace the input of one user",
    "the analyst sees the shuffled multiset of whole reports",
)

#: What the level in a mechanism's text means.
LEVEL = "epsilon0 is the replace-one LDP level of the local randomizer"

#: The end of every help text; \b keeps click from refilling the lines.
EPILOG = "\n".join(
    (
        "\b\nWhat the numbers mean:",
        *(f"  - {fact}" for fact in (*ASSUMPTIONS, LEVEL)),
        "  - guarantees are rounded up, lower bounds are rounded down",
        "\n\b\nExit codes:",
        "  0  answered",
        "  1  no answer exists or can be certified",
        "  2  the command line is wrong",
        "  70  shuffledp itself is wrong: please report it",
    )
)
