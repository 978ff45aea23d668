"""Reports on the wire: what is encoded is decoded, what is malformed is refused."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from cases import COMPOSED, SINGLE

from shuffledp import parse
from shuffledp.collection.wire import (
    decode_bytes,
    decode_json,
    encode_bytes,
    encode_json,
    mechanism_id,
)

CASES = [*SINGLE, *COMPOSED]
VECTORS = json.loads(
    (Path(__file__).parent.parent / "data" / "wire_vectors.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_round_trips(case):
    reports = case.randomizer.randomize(case.values, np.random.default_rng(2))[:40]
    for encode, decode in ((encode_bytes, decode_bytes), (encode_json, decode_json)):
        messages = encode(case.randomizer, reports)
        assert len(messages) == 40
        assert (decode(str(case.randomizer), messages) == reports).all()
        assert decode(case.randomizer, []).size == 0


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["mechanism"])
def test_vectors(vector):
    """Other languages are checked against this file; it changes with the version only."""
    mechanism = parse(vector["mechanism"])
    assert str(mechanism) == vector["mechanism"]
    assert mechanism_id(mechanism) == vector["id"]
    raw = [bytes.fromhex(text) for text in vector["bytes"]]
    reports = decode_bytes(mechanism, raw)
    assert encode_bytes(mechanism, reports) == raw
    assert encode_json(mechanism, reports) == vector["json"]
    assert (decode_json(mechanism, vector["json"]) == reports).all()


KRR10 = "krr(k=10, epsilon0=2)"
ID = mechanism_id(KRR10)


def wire(text):
    return text.replace("ID", ID)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"", "begin with the version 1"),
        (bytes.fromhex("02" + ID + "07"), "begin with the version 1"),
        (bytes.fromhex("01" + ID[:-2] + "0007"), "got another mechanism"),
        (bytes.fromhex("01" + ID), "must have 10 bytes, got 9"),
        (bytes.fromhex("01" + ID + "0700"), "must have 10 bytes, got 11"),
        (bytes.fromhex("01" + ID + "0a"), "reports must be below 10"),
    ],
)
def test_malformed_bytes(message, why):
    with pytest.raises(ValueError, match=why):
        decode_bytes(KRR10, [bytes.fromhex("01" + ID + "07"), message])
    with pytest.raises(TypeError, match="messages must be bytes, got str at 0"):
        decode_bytes(KRR10, ["01"])


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "7",
        "{" * 10**5,
        wire('{"v":1,"m":"ID"}'),
        wire('{"v":1,"m":"ID","r":7,"x":0}'),
        wire('{"v":1,"m":"ID","r":7,"r":7}'),
        wire('{"v":2,"m":"ID","r":7}'),
        wire('{"v":true,"m":"ID","r":7}'),
        '{"v":1,"m":"0000000000000000","r":7}',
        *(
            wire('{"v":1,"m":"ID","r":') + content + "}"
            for content in ("10", "-1", "256", "7.0", '"7"', "true", "null", "1e400", "NaN", "[7]")
        ),
    ],
)
def test_malformed_json(message):
    with pytest.raises(ValueError, match=r"message 0 must|reports must be below 10"):
        decode_json(KRR10, [message])
    with pytest.raises(TypeError, match="messages must be texts, got bytes at 0"):
        decode_json(KRR10, [message.encode()])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "0.5", "1.0", str(2**52), str(-(10**400))])
def test_noise_is_an_integer_that_can_be_added_up(number):
    mechanism = "laplace(epsilon0=1)"
    text = f'{{"v":1,"m":"{mechanism_id(mechanism)}","r":{number}}}'
    with pytest.raises(ValueError, match=r"message 0 must hold an integer of|must be below 2"):
        decode_json(mechanism, [text])


@pytest.mark.parametrize("number", [1.0, -0.3, 1e-300, math.inf, math.nan])
def test_noise_in_floating_point_numbers_is_refused(number):
    """Whatever a client draws in doubles, with digits that tell its input, is no report."""
    mechanism = "gaussian(sigma=1)"
    head = bytes.fromhex("01" + mechanism_id(mechanism))
    with pytest.raises(ValueError, match="must be below 2"):
        decode_bytes(mechanism, [head + struct.pack("<d", number)])


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["mechanism"])
def test_damaged_bytes_are_refused_or_other_reports(vector):
    """There is one message for a report: whatever is taken is what would have been sent."""
    mechanism, chance = parse(vector["mechanism"]), random.Random(5)
    for text in vector["bytes"] * 20:
        message = bytearray.fromhex(text)
        for _ in range(chance.choice((1, 2, 4))):
            place = chance.randrange(len(message))
            match chance.randrange(8):
                case 0:
                    message.insert(place, chance.randrange(256))
                case 1:
                    del message[place]
                case _:
                    message[max(place, min(9, len(message) - 1))] = chance.randrange(256)
        try:
            reports = decode_bytes(mechanism, [bytes(message)])
        except ValueError:
            continue
        assert encode_bytes(mechanism, reports) == [bytes(message)]
        again = decode_json(mechanism, encode_json(mechanism, reports))
        assert again.tobytes() == reports.tobytes()


@pytest.mark.parametrize(
    ("mechanism", "digits"),
    [
        ("oue(epsilon0=1, domain_size=10)", ["0004", "00", "zzzz", "000000", "AB00"]),
        ("subset(epsilon0=1, domain_size=10, size=2)", ["0000", "0700", "0104", "0180"]),
        ("subset(epsilon0=1, domain_size=40, size=2)", ["0101", "0501", "0128"]),
        ("blh(epsilon0=1, domain_size=5)", ["ff" * 9]),
        ("parallel(0.5*krr(k=3, epsilon0=1), 0.5*krr(k=3, epsilon0=2))", ["0200", "0003"]),
        ("one_of(0.5*krr(k=3, epsilon0=1), 0.5*krr(k=300, epsilon0=1))", ["000001", "012c01"]),
        ("subsample(krr(k=3, epsilon0=1), rate=0.5)", ["0201", "0001", "0103"]),
        ("joint(krr(k=3, epsilon0=1), subset(1, domain_size=10, size=2))", ["000700", "030300"]),
    ],
)
def test_reports_that_are_never_made(mechanism, digits):
    for report in digits:
        text = json.dumps({"v": 1, "m": mechanism_id(mechanism), "r": report})
        with pytest.raises(ValueError, match=r"message 0|report"):
            decode_json(mechanism, [text])


def test_only_reports_are_encoded():
    with pytest.raises(ValueError, match="reports must be below 10"):
        encode_bytes(KRR10, np.array([10], dtype=np.uint8))
    with pytest.raises(TypeError, match="must be of type uint8"):
        encode_json(KRR10, np.array([1]))
