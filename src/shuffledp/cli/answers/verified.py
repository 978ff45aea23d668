"""What a certificate that was checked has proved, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.accounting.crowd import Crowd
from shuffledp.basics.wording import counted, shorten

if TYPE_CHECKING:
    from shuffledp.certificates import Certificate


def verified(certificate: Certificate, *, of_page: bool) -> list[tuple[str, str]]:
    """Return labelled lines.

    Args:
        certificate: one that was verified.
        of_page: whether it was inside a document.
    """
    from shuffledp.certificates.words import bound_in_words

    where = "of the certificate in the document " if of_page else ""
    covers = counted(certificate.rounds, "round")
    if certificate.at_most is not None:
        covers += f", of which each user takes part in at most {certificate.times:,}"
    rows = [
        ("verified", f"every statement {where}is proved again"),
        ("mechanism", shorten(certificate.mechanism)),
        ("users", Crowd(certificate.n, certificate.corrupted).in_figures),
        ("covers", covers),
        ("guarantee", certificate.guarantee.statement),
        ("bound", bound_in_words(certificate.bound)),
    ]
    if certificate.lower_bound is not None:
        rows.append(("lower bound", certificate.lower_bound.statement))
    return rows
