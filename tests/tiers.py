"""What belongs to the heavy tier, and how many examples a tier draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from zlib import crc32

import pytest
from hypothesis import settings

#: Of the examples that a test of a property asks for, this share is drawn in the quick tier.
QUICK_PERCENT = 6

#: Of a test with more cases than these, the quick tier runs this many (`EVERY_CASE` overrules it).
MOST_CASES = 4

#: For tests of documented examples: ``@EVERY_CASE`` lets the quick tier run all of them.
EVERY_CASE = pytest.mark.heavy(keep=10**6)

_LEAST = 5
_SETTINGS = "_hypothesis_internal_use_settings"  # where hypothesis keeps what @settings says
_scaled: set[object] = set()


def examples(count: int) -> int:
    """Of ``count`` examples those that the present tier draws."""
    return min(count, max(_LEAST, count * settings.default.max_examples // 100))


def scale_examples(item: pytest.Item) -> None:
    """Let a test with ``@settings(max_examples=...)`` draw the share of the present tier."""
    function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    asked = getattr(function, _SETTINGS, None)
    if asked is None or asked == settings.default or function in _scaled:
        return
    _scaled.add(function)
    setattr(function, _SETTINGS, settings(asked, max_examples=examples(asked.max_examples)))


def heavy(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return what only the heavy tier runs: tests marked so, and most cases where there are many.

    Of a test with many cases the quick tier keeps `MOST_CASES`, or as many as
    ``@pytest.mark.heavy(keep=3)`` says: the same ones always, chosen by the hash of their names.
    """
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("heavy")
        keep = MOST_CASES if mark is None else mark.kwargs.get("keep", 0)
        cases[item.nodeid.partition("[")[0], keep].append(item)
    left_out = set()
    for (_, keep), same in cases.items():
        left_out |= set(sorted(same, key=lambda item: crc32(item.nodeid.encode()))[keep:])
    return left_out
