"""What a document is called, who answers for it, and what it is a part of."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.basics.rounding import plain, round_up
from shuffledp.basics.wording import counted

_MAX_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class Cover:
    """The lines above the document, all of them free text.

    Attributes:
        title: what the document is called.
        organisation: who collects the data, if that is to be said.
        contact: whom to ask, if that is to be said.

    Raises:
        TypeError: if one is no text.
        ValueError: if one is empty, or longer than a line.
    """

    title: str = "Privacy of a collection"
    organisation: str | None = None
    contact: str | None = None

    def __post_init__(self) -> None:
        """Check the texts."""
        for name in ("title", "organisation", "contact"):
            text: object = getattr(self, name)
            if text is None and name != "title":
                continue
            if not isinstance(text, str):
                raise TypeError(f"{name} must be a text, got {text!r}")
            if not text.strip() or len(text) > _MAX_LENGTH:
                raise ValueError(
                    f"{name} must have 1 to {_MAX_LENGTH} characters, got {len(text.strip())}"
                )


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
