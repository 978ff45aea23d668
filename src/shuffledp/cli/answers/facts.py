"""The end of every help text: what the numbers mean, and the exit codes."""

from __future__ import annotations

from shuffledp.accounting.assumptions import ASSUMPTIONS, LEVEL

#: What goes without saying in answers about other mechanisms.
_LIMITED = "with at_most or exactly they change less, and answers say what"

#: It is the same for all commands; \b keeps click from refilling the lines.
EPILOG = "\n".join(
    (
        "\b\nWhat the numbers mean:",
        *(f"  - {fact}" for fact in (*ASSUMPTIONS[:2], _LIMITED, ASSUMPTIONS[2], LEVEL)),
        "  - guarantees are rounded up, lower bounds are rounded down",
        "\n\b\nExit codes:",
        "  0  answered",
        "  1  no answer exists or can be certified",
        "  2  the command line is wrong",
        "  70  shuffledp itself is wrong",
    )
)
