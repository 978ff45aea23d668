"""The list of mechanisms is complete and its examples work."""

from __future__ import annotations

import json

import pytest
from command_line import ask

from shuffledp import __version__, parse
from shuffledp.mechanisms import COMPOSITIONS, MECHANISMS, parameters

KNOWN = {**MECHANISMS, **COMPOSITIONS}
ENTRIES = {entry["name"]: entry for entry in json.loads(ask("mechanisms", "--json"))["mechanisms"]}


def test_every_mechanism_is_listed_in_order():
    assert list(ENTRIES) == list(KNOWN)
    assert json.loads(ask("mechanisms", "--json"))["version"] == __version__


@pytest.mark.parametrize("name", KNOWN)
def test_fields(name):
    entry = ENTRIES[name]
    assert list(entry) == ["name", "parameters", "meaning", "example"]
    assert [p["name"] for p in entry["parameters"]] == list(parameters(KNOWN[name]))
    for parameter in entry["parameters"]:
        assert list(parameter) == ["name", "required", "default", "choices"]
        assert parameter["default"] is None or not parameter["required"]


def test_parameters_list_their_choices():
    choices = {p["name"]: p["choices"] for p in ENTRIES["laplace"]["parameters"]}
    assert choices == {"epsilon0": None, "domain": ["binary", "interval"], "grid": None}


@pytest.mark.parametrize("name", KNOWN)
def test_examples_are_canonical_texts(name):
    example = ENTRIES[name]["example"]
    assert type(parse(example)) is KNOWN[name]
    assert str(parse(example)) == example


@pytest.mark.parametrize("name", KNOWN)
def test_meanings_are_plain_words(name):
    meaning = ENTRIES[name]["meaning"]
    assert meaning
    assert not set(meaning) & set("`\\:$") - set(":")
    assert ":math:" not in meaning


def test_text_shows_the_same():
    text = ask("mechanisms")
    for entry in ENTRIES.values():
        assert f"{entry['meaning']}\n  Example: {entry['example']}\n" in text
    assert "krr(k, epsilon0)\n" in text
    assert "olh(epsilon0, buckets=None, domain_size=None)\n" in text
    assert "laplace(epsilon0, domain='binary', grid=None)\n" in text
    assert max(map(len, text.splitlines())) <= 100
