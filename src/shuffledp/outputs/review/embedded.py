"""The certificate inside a document: how a link saves it, and how it is read again."""

from __future__ import annotations

import base64
import binascii
from html.parser import HTMLParser

from shuffledp.certificates import Certificate, CertificateError

#: How the address of the link begins.
_DATA = "data:application/json;base64,"

#: Longer documents are not read.
MAX_CHARACTERS = 40_000_000


def address_of(certificate: Certificate) -> str:
    """Return the address of a link that saves a certificate."""
    return _DATA + base64.b64encode(certificate.to_json().encode()).decode("ascii")


def is_page(text: str) -> bool:
    """Whether a text is a page, and no certificate.

    >>> is_page("<!DOCTYPE html>"), is_page('{"format": 1}')
    (True, False)
    """
    return text.lstrip("\ufeff \t\r\n")[:1] == "<"


def certificate_in(page: str) -> Certificate:
    """Return the certificate that the link in a document saves.

    Raises:
        CertificateError: if there is not exactly one that can be read.
    """
    links = _Links()
    links.feed(page)
    if len(links.found) != 1:
        how_many = "no certificate" if not links.found else "several certificates"
        raise CertificateError(f"the document holds {how_many}")
    try:
        text = base64.b64decode(links.found[0].removeprefix(_DATA), validate=True).decode()
    except (binascii.Error, ValueError):
        raise CertificateError("the link to the certificate is damaged") from None
    return Certificate.from_json(text)


class _Links(HTMLParser):
    """Addresses that save JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href")
        if tag == "a" and address is not None and address.startswith(_DATA):
            self.found.append(address)
