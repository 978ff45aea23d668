"""What belongs to the heavy tier, and how many examples a tier draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from zlib import crc32

import pytest
from hypothesis import settings

#: Of the examples that a test of a property asks for, this share is drawn in the quick tier.
QUICK_PERCENT = 20

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
    """The tests marked ``heavy``, without those cases of them that the mark keeps.

    Of a test with many cases ``@pytest.mark.heavy(keep=3)`` keeps three in the quick tier, the same
    ones always, chosen by the hash of their names.
    """
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("heavy"):
            cases[item.nodeid.partition("[")[0]].append(item)
    left_out = set()
    for same in cases.values():
        keep = same[0].get_closest_marker("heavy").kwargs.get("keep", 0)
        left_out |= set(sorted(same, key=lambda item: crc32(item.nodeid.encode()))[keep:])
    return left_out
