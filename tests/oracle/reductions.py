"""Whether the pairs and types that a mechanism lists stand for all, by the laws of its channel.

A slot in which others hold v is the law of (R(x)/R(v), R(x')/R(v)) under R(v), the victim's that of
(R(x)/c, R(x')/c) under the infimum c. One law stands for another if it is above it in convex order,
whatever multiple of the second ratio is subtracted from the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle.channel import Channel, Value
from oracle.number import ONE

FloatArray = NDArray[np.float64]

#: What is subtracted: multiples of the second ratio.
_FACTORS = (0.2, 0.9, 1.0, 1.1, 2.0, 7.0)

#: How many thresholds are tried for each of them.
_THRESHOLDS = 15

#: Relative rounding of sums of a few doubles.
_ROUNDING = 1e-11

#: A pair of inputs.
Two = tuple[Value, Value]


@dataclass(frozen=True)
class Listed:
    """What is said to stand for all.

    Attributes:
        pairs: for the blanket.
        others: for the swap bound, pairs and for each what others may hold; empty if not known.
    """

    pairs: Sequence[Two]
    others: Mapping[Two, Sequence[Value]]


def missed(channel: Channel, listed: Listed) -> list[str]:
    """Return what no listed case stands for, in words.

    In the swap bound, where the blanket of a pair counts too if it is smaller, one pair must stand
    for another in both respects.
    """
    laws = np.array([[p / ONE for p in law] for law in channel.laws])
    number = {value: i for i, value in enumerate(channel.inputs)}
    pairs = [(channel.inputs[i], channel.inputs[j]) for i, j in channel.pairs()]
    if not pairs or channel.level() is None:
        return []  # where outputs give inputs away, ratios are infinite
    calls = _Calls(laws)
    own = {pair: calls.of(number[pair[0]], number[pair[1]], None) for pair in pairs}
    seen = {
        (pair, v): calls.of(number[pair[0]], number[pair[1]], number[v])
        for pair in {*pairs, *listed.others}
        for v in channel.inputs
    }
    found = []
    for pair in pairs:
        if not any(_is_below(own[pair], own[p]) for p in listed.pairs):
            found.append(f"no listed pair is as bad as {pair}")
        gaps = [
            [
                v
                for v in channel.inputs
                if not any(_is_below(seen[pair, v], seen[p, w]) for w in others)
            ]
            for p, others in listed.others.items()
            if _is_below(own[pair], own[p])
        ]
        if listed.others and (not gaps or all(gaps)):
            found.append(
                f"from {pair}, others who hold {min(gaps, key=len, default=[])} look like nobody"
            )
    return found


class _Calls:
    """E[(a - factor b - t)_+] of ratios a and b, for a grid of factors and thresholds t."""

    def __init__(self, laws: FloatArray) -> None:
        self.laws = laws
        self.infimum = laws.min(axis=0)
        top = float((laws.max(axis=0) / self.infimum).max())
        steps = np.linspace(0.0, 1.0, _THRESHOLDS)
        self.thresholds = {f: -f * top + (1 + f) * top * steps**2 for f in _FACTORS}

    def of(self, first: int, second: int, holder: int | None) -> FloatArray:
        common = self.infimum if holder is None else self.laws[holder]
        a, b = self.laws[first] / common, self.laws[second] / common
        calls = []
        for factor, thresholds in self.thresholds.items():
            gains = np.maximum((a - factor * b)[:, None] - thresholds, 0.0)
            # What is left of the infimum is at 0.
            rest = (1 - common.sum()) * np.maximum(-thresholds, 0.0) if holder is None else 0.0
            calls.append(common @ gains + rest)
        return np.concatenate(calls)


def _is_below(one: FloatArray, other: FloatArray) -> bool:
    return bool((one <= other * (1 + _ROUNDING) + _ROUNDING).all())
