"""What a document is called and who answers for it."""

from __future__ import annotations

from dataclasses import dataclass

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
