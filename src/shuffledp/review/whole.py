"""What the reports of a document are a part of."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.rounding import plain, round_up
from shuffledp.wording import counted


@dataclass(frozen=True)
class Whole:
    """All shuffles of a study, of which the document is about one.

    Attributes:
        shuffles: how many there are.
        epsilon: the certified epsilon of all of them together.
        delta: at this delta.

    >>> str(Whole(3, 0.5123, 1e-6))[:79]
    'This is one of 3 shuffles of a study. All of them together are (0.5123, 1e-6)-d'
    """

    shuffles: int
    epsilon: float
    delta: float

    def __str__(self) -> str:
        """Return a sentence for the document."""
        pair = f"({round_up(self.epsilon)}, {plain(self.delta)})"
        return (
            f"This is one of {counted(self.shuffles, 'shuffle')} of a study. All of them together "
            f"are {pair}-differentially private, which is the guarantee to quote about the study; "
            "the rest of this document is about one shuffle alone."
        )
