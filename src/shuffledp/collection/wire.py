"""Reports on the wire: JSON and bytes that any language can write and read.

A report in bytes is one byte with the version, eight bytes that identify the mechanism, and the
bytes of the report, low byte first, as many as ``report_dtype`` says. In JSON it is an object with
``v`` (the version), ``m`` (the same eight bytes in hexadecimal) and ``r``, each once: an integer,
where a report is one, else its bytes in hexadecimal. The eight bytes are the first of the SHA-256
of the text of the mechanism in UTF-8. ``tests/data/wire_vectors.json`` holds examples.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.errors import check_several
from shuffledp.collection.tallies import tally_for
from shuffledp.mechanisms import Joint, LocalRandomizer, Subsample, as_randomizer
from shuffledp.mechanisms.composed.mixture import Mixture
from shuffledp.mechanisms.composed.parts import without_paths
from shuffledp.mechanisms.sampling.layout import as_bytes

_VERSION = 1
_HEAD = 9  # bytes before the report


def mechanism_id(randomizer: LocalRandomizer | str) -> str:
    """Return the sixteen hexadecimal digits that identify a mechanism.

    >>> mechanism_id("krr(k=10, epsilon0=2)")
    'db838811ac08b607'
    """
    text = str(without_paths(as_randomizer(randomizer)))
    return hashlib.sha256(text.encode()).hexdigest()[: 2 * (_HEAD - 1)]


def encode_bytes(randomizer: LocalRandomizer | str, reports: NDArray[Any]) -> list[bytes]:
    """Return each report as bytes.

    >>> from shuffledp import KRR
    >>> encode_bytes("krr(k=10, epsilon0=2)", np.array([7], dtype=np.uint8))[0].hex()
    '01db838811ac08b60707'
    """
    made = as_randomizer(randomizer)
    head = bytes([_VERSION]) + bytes.fromhex(mechanism_id(made))
    return [head + row.tobytes() for row in as_bytes(_checked(made, reports))]


def encode_json(randomizer: LocalRandomizer | str, reports: NDArray[Any]) -> list[str]:
    """Return each report as a JSON object.

    >>> encode_json("krr(k=10, epsilon0=2)", np.array([7], dtype=np.uint8))
    ['{"v":1,"m":"db838811ac08b607","r":7}']
    """
    made = as_randomizer(randomizer)
    checked, name = _checked(made, reports), mechanism_id(made)
    contents: Iterable[object] = checked.tolist()
    if not _is_integer(made):
        contents = (row.tobytes().hex() for row in as_bytes(checked))
    return [
        json.dumps({"v": _VERSION, "m": name, "r": content}, separators=(",", ":"))
        for content in contents
    ]


def decode_bytes(randomizer: LocalRandomizer | str, messages: Iterable[bytes]) -> NDArray[Any]:
    """Return the reports that messages of :func:`encode_bytes` hold.

    Raises:
        ValueError: if one is of another version, mechanism or length, or cannot be a report; the
            message says which one.
    """
    made = as_randomizer(randomizer)
    head = bytes([_VERSION]) + bytes.fromhex(mechanism_id(made))
    size, rows = made.report_dtype.itemsize, []
    for place, message in enumerate(check_several("messages", messages, "bytes")):
        if not isinstance(message, bytes | bytearray | memoryview):
            raise TypeError(f"messages must be bytes, got {type(message).__name__} at {place}")
        raw = bytes(message)
        if raw[:1] != head[:1]:
            raise ValueError(f"message {place} must begin with the version {_VERSION}")
        if raw[:_HEAD] != head:
            raise ValueError(f"message {place} must be of {made}, got another mechanism")
        if len(raw) != _HEAD + size:
            raise ValueError(f"message {place} must have {_HEAD + size} bytes, got {len(raw)}")
        rows.append(raw[_HEAD:])
    return _checked(made, np.frombuffer(b"".join(rows), dtype=made.report_dtype).copy())


def decode_json(randomizer: LocalRandomizer | str, messages: Iterable[str]) -> NDArray[Any]:
    """Return the reports that messages of :func:`encode_json` hold.

    Raises:
        ValueError: if one is no such object, of another version or mechanism, or cannot be a
            report; the message says which one.
    """
    made = as_randomizer(randomizer)
    name, contents = mechanism_id(made), []
    for place, message in enumerate(check_several("messages", messages, "texts")):
        if not isinstance(message, str):
            raise TypeError(f"messages must be texts, got {type(message).__name__} at {place}")
        try:
            fields = json.loads(message, object_pairs_hook=_each_once)
        except (ValueError, RecursionError):
            raise ValueError(f"message {place} must be a JSON object") from None
        if not isinstance(fields, dict) or set(fields) != {"v", "m", "r"}:
            raise ValueError(f"message {place} must be a JSON object with v, m and r")
        if type(fields["v"]) is not int or fields["v"] != _VERSION:
            raise ValueError(f"message {place} must have the version {_VERSION}")
        if fields["m"] != name:
            raise ValueError(f"message {place} must be of {made}, got another mechanism")
        contents.append(fields["r"])
    return _checked(made, _from_json(made, contents))


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse an object that names a field twice: readers differ in which one they take."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields


def _from_json(made: LocalRandomizer, contents: Sequence[object]) -> NDArray[Any]:
    dtype = made.report_dtype
    if _is_integer(made):
        for place, content in enumerate(contents):
            if not _fits(content, dtype):
                raise ValueError(f"message {place} must hold an integer of type {dtype}")
        return np.array(contents, dtype=dtype)
    rows = []
    for place, content in enumerate(contents):
        digits = content if isinstance(content, str) else ""
        plain = len(digits) == 2 * dtype.itemsize and set(digits) <= set("0123456789abcdef")
        if not plain:
            raise ValueError(
                f"message {place} must hold {2 * dtype.itemsize} hexadecimal digits in lower case"
            )
        rows.append(bytes.fromhex(digits))
    return np.frombuffer(b"".join(rows), dtype=dtype).copy()


def _fits(content: object, dtype: np.dtype[Any]) -> bool:
    if isinstance(content, bool) or not isinstance(content, int):
        return False
    limits = np.iinfo(dtype)
    return limits.min <= content <= limits.max


def _is_integer(randomizer: LocalRandomizer) -> bool:
    return randomizer.report_dtype.kind in "iu"


def _checked(randomizer: LocalRandomizer, reports: NDArray[Any]) -> NDArray[Any]:
    """Return reports that the mechanism can have made."""
    checked = randomizer.check_reports(reports)
    check_well_formed(randomizer, checked)
    return checked


@singledispatch
def check_well_formed(randomizer: LocalRandomizer, reports: NDArray[Any]) -> None:
    """Refuse reports of the right type that the mechanism never makes.

    Raises:
        ValueError: if there is one.
    """
    tally_for(randomizer, _candidates(randomizer)).count(reports)


def _candidates(randomizer: LocalRandomizer) -> list[int] | None:
    """Return one value where a domain is not known, or too large to list."""
    frequencies = randomizer.estimates == "frequencies"
    return [0] if frequencies and not randomizer.input_domain.size <= 1 << 16 else None


@check_well_formed.register
def _joint(randomizer: Joint, reports: NDArray[Any]) -> None:
    for i, part in enumerate(randomizer.parts):
        check_well_formed(part, reports[f"part{i}"])


@check_well_formed.register
def _mixture(randomizer: Mixture, reports: NDArray[Any]) -> None:
    own = zip(randomizer.parts, randomizer.reports_of(reports), strict=True)
    for i, (part, mine) in enumerate(own):
        check_well_formed(part, mine)
        chosen = reports["part"] == i
        rest = as_bytes(reports["report"])[:, part.report_dtype.itemsize :]
        _refuse(randomizer, chosen & rest.any(axis=1), "zeros after a short report")


@check_well_formed.register
def _subsample(randomizer: Subsample, reports: NDArray[Any]) -> None:
    flags = as_bytes(reports["present"])[:, 0]
    _refuse(randomizer, flags > 1, "0 or 1 for whether a user takes part")
    present = reports["present"]
    check_well_formed(randomizer.part, reports["report"][present])
    absent = ~present & as_bytes(reports["report"]).any(axis=1)
    _refuse(randomizer, absent, "zeros where a user does not take part")


def _refuse(randomizer: LocalRandomizer, wrong: NDArray[np.bool_], what: str) -> None:
    if wrong.any():
        raise ValueError(
            f"reports of {randomizer} must hold {what}, got others at {int(np.argmax(wrong))}"
        )
