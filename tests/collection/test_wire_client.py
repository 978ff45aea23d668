"""What docs/wire.md says is what is sent: a reader that knows only that page agrees."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from wire_client import Reader, hashed, members, signed, walsh

from shuffledp import parse
from shuffledp.collection.wire import encode_bytes, encode_json

#: How a report is read, and for how many values.
SUPPORT = {
    "krr(k=10, epsilon0=1.0)": (lambda r: one(r.integer(10), 10), 10),
    "krr(k=300, epsilon0=1.0)": (lambda r: one(r.integer(300), 300), 300),
    "hadamard(epsilon0=1.0, domain_size=7)": (lambda r: walsh(r, 7), 7),
    "hadamard(epsilon0=1.0, domain_size=300)": (lambda r: walsh(r, 300), 300),
    "rappor(epsilon0=1.0, domain_size=11)": (lambda r: r.bits(11), 11),
    "oue(epsilon0=1.0, domain_size=16)": (lambda r: r.bits(16), 16),
    "unary(p=0.7, q=0.2, domain_size=9)": (lambda r: r.bits(9), 9),
    "subset(epsilon0=1.0, domain_size=10, size=3)": (lambda r: members(r, 10, 3), 10),
    "subset(epsilon0=1.0, domain_size=400, size=2)": (lambda r: members(r, 400, 2), 400),
    "blh(epsilon0=1.0, domain_size=50)": (lambda r: hashed(r, 2, 50, range(50)), 50),
    "olh(epsilon0=1.0, domain_size=50)": (lambda r: hashed(r, 4, 50, range(50)), 50),
    "olh(epsilon0=1.0, buckets=5, domain_size=60)": (lambda r: hashed(r, 5, 60, range(60)), 60),
    "olh(epsilon0=1.0, buckets=7, domain_size=500)": (lambda r: hashed(r, 7, 500, range(90)), 90),
    "olh(epsilon0=1.0, buckets=40, domain_size=500)": (
        lambda r: hashed(r, 40, 500, range(90)),
        90,
    ),
    "olh(epsilon0=1.0, buckets=7)": (lambda r: hashed(r, 7, None, range(90)), 90),
}


def one(value, size):
    return [x == value for x in range(size)]


@pytest.mark.parametrize("text", SUPPORT)
def test_reports_support_what_the_page_says(text):
    mechanism, (read, size) = parse(text), SUPPORT[text]
    assert str(mechanism) == text
    reports = mechanism.randomize(np.arange(40) % min(size, 7), np.random.default_rng(3))
    wanted = np.array([mechanism.supports(reports, x) for x in range(size)]).T
    raw = encode_bytes(mechanism, reports)
    for message, own, shown in zip(raw, wanted, encode_json(mechanism, reports), strict=True):
        reader = Reader(message)
        assert reader.take(1) == b"\x01"
        assert reader.take(8) == hashlib.sha256(text.encode()).digest()[:8]
        content = json.loads(shown)["r"]
        if isinstance(content, str):
            assert bytes.fromhex(content) == reader.raw
        else:
            assert content == int.from_bytes(reader.raw, "little")
        assert [bool(bit) for bit in read(reader)] == own.tolist()
        assert reader.raw == b""


def test_numbers_and_compositions():
    rng = np.random.default_rng(2)

    def sent(text, values):
        mechanism = parse(text)
        reports = mechanism.randomize(values, rng)
        messages = encode_bytes(mechanism, reports)
        return zip(reports, (Reader(message[9:]) for message in messages), strict=True)

    for report, reader in sent("discrete_laplace(epsilon0=0.1, bound=4)", [0, 4] * 9):
        assert signed(reader) == report
    for report, reader in sent("laplace(epsilon0=1)", [0.0, 1.0] * 9):
        assert signed(reader) == report
    both = [np.arange(20) % 2, np.arange(20) % 300]
    for report, reader in sent("joint(krr(k=2, epsilon0=1), krr(k=300, epsilon0=1))", tuple(both)):
        assert (reader.integer(2), reader.integer(300)) == tuple(report.tolist())
    text = "one_of(0.5*krr(k=2, epsilon0=1), 0.5*krr(k=300, epsilon0=1))"
    for report, reader in sent(text, tuple(both)):
        part = reader.integer(2)
        assert part == report["part"]
        reader.integer((2, 300)[part])
        assert not any(reader.raw)
    for report, reader in sent("subsample(krr(k=3, epsilon0=1), rate=0.5)", [0, 1] * 9):
        present = reader.integer(2)
        assert present == report["present"]
        assert reader.integer(3 if present else 1) == report["report"]
        assert reader.raw == b""
