"""What only the owner of a collection knows: its name, who answers for it, what happens to it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Self

from shuffledp.basics.rounding import plain, round_up
from shuffledp.basics.wording import closest, counted, did_you_mean

#: Characters of a line, and of an answer.
_LINE, _ANSWER = 200, 1000

#: The lines above the document, and what each of them says.
LINES: Mapping[str, str] = MappingProxyType(
    {
        "title": "What the document is called.",
        "organisation": "Who collects the data.",
        "author": "Who wrote the document.",
        "contact": "Whom to ask.",
        "date": "Of which day the document is.",
        "version": "Which version of the collection it is about.",
    }
)

#: What only the owner of the collection can answer.
ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        "schedule": "When data are collected, and how often.",
        "published": "What is released besides the reports, and how it is protected.",
        "implementation": "What draws the noise on the devices, and from which random numbers.",
        "retention": "How long data, reports and results are kept.",
        "access": "Who has access to data, reports and results.",
    }
)


@dataclass(frozen=True, kw_only=True)
class Cover:
    """What the owner of the collection says, all of it free text.

    The document marks what is left out.

    Attributes:
        title: what the document is called.
        organisation: who collects the data.
        author: who wrote the document.
        contact: whom to ask.
        date: of which day the document is.
        version: which version of the collection it is about.
        schedule: when data are collected.
        published: what is released besides the reports.
        implementation: what draws the noise on the devices.
        retention: how long data are kept.
        access: who has access.

    Raises:
        TypeError: if one is no text.
        ValueError: if one is empty, or too long.
    """

    title: str = "Privacy of a collection"
    organisation: str | None = None
    author: str | None = None
    contact: str | None = None
    date: str | None = None
    version: str | None = None
    schedule: str | None = None
    published: str | None = None
    implementation: str | None = None
    retention: str | None = None
    access: str | None = None

    def __post_init__(self) -> None:
        """Check the texts."""
        for field in fields(self):
            name, text = field.name, getattr(self, field.name)
            if text is None and name != "title":
                continue
            if not isinstance(text, str):
                raise TypeError(f"{name} must be a text, got {text!r}")
            most = _LINE if name in LINES else _ANSWER
            if not text.strip() or len(text) > most:
                raise ValueError(f"{name} must have 1 to {most} characters, got {len(text)}")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the cover that a TOML file says.

        Raises:
            ValueError: if the file cannot be read, or holds something else.
        """
        try:
            found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            known = [field.name for field in fields(cls)]
            for name in found:
                if name not in known:
                    meant = did_you_mean(closest(name, known))
                    raise ValueError(f"a cover has {', '.join(known)}, got {name!r}{meant}")
            # TOML has dates of its own.
            return cls(**{k: str(v) if k == "date" else v for k, v in found.items()})
        except (OSError, ValueError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"cannot read the cover {str(path)!r}: {why}") from None


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
            "the rest of this document is about this shuffle alone."
        )
