"""How a setting is written: as one line, and as TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

#: The last word of a text form, such as view=sum; mechanisms end in a bracket.
_WORD = re.compile(r"(?:^|\s)(?P<name>[a-z_]+)=(?P<value>[^\s(){}\[\],]+)\s*$")

#: How many users run what.
_GROUP = re.compile(r"(?P<n>[0-9]+)\s*\*\s*(?P<mechanism>[a-z].*)", re.DOTALL)

#: Where one group ends and the next begins.
_GROUPS = re.compile(r"\s*\+\s*(?=[0-9]+\s*\*)")


def to_text(fields: Mapping[str, Any]) -> str:
    """Return the line of a setting's fields.

    >>> to_text({"mechanism": "krr(k=3, epsilon0=1.0)", "n": 100, "rounds": 7})
    'krr(k=3, epsilon0=1.0) n=100 rounds=7'
    """
    words = dict(fields)
    groups = [f"{group['n']}*{group['mechanism']}" for group in words.pop("groups", [])]
    first = [" + ".join(groups)] if groups else []
    first += [words.pop("mechanism")] if "mechanism" in words else []
    return " ".join([*first, *(f"{name}={value}" for name, value in words.items())]) or "open"


def from_text(text: str) -> dict[str, Any]:
    """Return the fields that a line says; whether they are allowed is seen later.

    >>> from_text("krr(k=3, epsilon0=1.0) n=100 corrupted=5%")
    {'n': 100, 'corrupted': '5%', 'mechanism': 'krr(k=3, epsilon0=1.0)'}
    """
    head, words = text.strip(), []
    while found := _WORD.search(head):
        words.append((found["name"], found["value"]))
        head = head[: found.start()].strip()
    values: dict[str, Any] = {}
    for name, value in reversed(words):
        if name in values:
            raise ValueError(f"a setting says {name} once, got {text!r}")
        values[name] = int(value) if value.isascii() and value.isdecimal() else value
    if _GROUP.match(head):
        values["groups"] = [_split_group(part, text) for part in _GROUPS.split(head)]
    elif head not in ("", "open"):
        values["mechanism"] = head
    return values


def to_toml(fields: Mapping[str, Any]) -> str:
    """Return the TOML of a setting's fields: groups become tables, at the end."""
    lines = [_toml({name: value}) for name, value in fields.items() if name != "groups"]
    tables = [f"\n[[groups]]\n{_toml(group)}" for group in fields.get("groups", [])]
    return "".join([*lines, *tables])


def _split_group(part: str, text: str) -> dict[str, Any]:
    found = _GROUP.fullmatch(part.strip())
    if found is None:
        raise ValueError(f"groups must be written as 500*krr(k=4, epsilon0=1) + ..., got {text!r}")
    return {"mechanism": found["mechanism"], "n": int(found["n"])}


def plain_share(share: Fraction) -> float | str:
    """Return a share as a short decimal, or as a fraction where that is another number."""
    short = float(share)
    return short if Fraction(repr(short)) == share else str(share)


def read_share(name: str, text: str) -> int | Fraction:
    """Return 500, 0.05, 5% or 1/20 as a number."""
    try:
        percent = text.endswith("%")
        share = Fraction(text.removesuffix("%")) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f"{name} must be a number such as 500, or a share such as 0.05, 5% or 1/20, got "
            f"{text!r}"
        ) from None
    if share >= 1 and (percent or "." in text or share.denominator != 1):
        raise ValueError(f"{name} must be a whole number, or a share below 1, got {text!r}")
    return int(share) if share.denominator == 1 else share


def _toml(values: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_toml_value(value)}\n" for name, value in values.items())


def _toml_value(value: str | float) -> str:
    """Return a number, or a text in quotes: texts of mechanisms have no control characters."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)
