"""Words: texts that fit, counted nouns, guesses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.basics.wording import closest, counted, did_you_mean, shorten


@given(st.text(max_size=300), st.integers(40, 120))
def test_what_is_cut_off_is_counted(text, limit):
    short = shorten(text, limit)
    if len(text) <= limit:
        assert short == text
        return
    assert len(short) <= limit
    form = r"(.*)\.\.\. \((\d+) more characters?\)"
    kept, missing = re.fullmatch(form, short, re.DOTALL).groups()
    assert text.startswith(kept)
    assert len(kept) + int(missing) == len(text)


def test_tiny_limits_still_say_how_much_is_missing():
    assert shorten("abcdef", 3) == "... (6 more characters)"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 users"), (1, "1 user"), (2, "2 users"), (12_345, "12,345 users")]
)
def test_counted(count, text):
    assert counted(count, "user") == text


def test_closest_ignores_case_and_returns_the_name_itself():
    assert closest("--DELTA", ["--delta", "--rtol"]) == ["--delta"]
    assert closest("krr", ["KRR", "oue"]) == ["KRR"]
    assert closest("zzz", ["krr"]) == []


def test_did_you_mean():
    assert did_you_mean(["a"]) == "; did you mean a?"
    assert did_you_mean([]) == ""
