"""Ways to other accountants: privacy loss distributions and events of dp_accounting, and Rényi.

What dp_accounting computes from them is its own: floating point, without bounds on its errors.
"""

from __future__ import annotations

from typing import Any

from shuffledp.accounting.rounds.renyi import renyi_divergence
from shuffledp.outputs.pld.pld import to_pld

__all__ = ["ShuffledDpEvent", "ShuffledPLDAccountant", "renyi_divergence", "to_pld"]

#: These are subclasses of what dp_accounting has, so they need it when they are named.
_LAZY = ("ShuffledDpEvent", "ShuffledPLDAccountant")


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shuffledp.outputs.pld import events

    return getattr(events, name)
