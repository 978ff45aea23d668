"""Draws from a finite law."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.bits import Bits


class Categorical:
    r"""A law on 0, 1, ..., m-1 whose probabilities are proportional to the given doubles, exactly.

    With the exact partial sums :math:`s_0\le s_1\le\dots` of the weights, outcome j is drawn if the
    random number U lies in :math:`[s_{j-1},s_j)/s_{m-1}`. The first 64 bits of U decide unless they
    are also the first 64 bits of a boundary; then more are drawn.

    Args:
        weights: doubles that are not negative, one of them positive.

    >>> law = Categorical([0.5, 0.0, 0.25, 0.25])
    >>> sorted(set(law.draw(Bits(None), 1000).tolist()))
    [0, 2, 3]
    """

    def __init__(self, weights: Iterable[float]) -> None:
        ratios = [float(weight).as_integer_ratio() for weight in weights]
        common = max(denominator for _, denominator in ratios)
        sums = list(accumulate(n * (common // denominator) for n, denominator in ratios))
        self._total = sums[-1]
        self._bounds = [s for s in sums if s < self._total]
        words = [divmod(s << 64, self._total) for s in self._bounds]
        self._first = np.array([word for word, _ in words], dtype=np.uint64)
        self._inexact = np.array([rest > 0 for _, rest in words], dtype=np.bool_)

    def draw(self, bits: Bits, size: int) -> NDArray[np.int64]:
        """Return independent draws."""
        words = bits.words(size)
        outcomes = np.searchsorted(self._first, words, side="right").astype(np.int64)
        if self._first.size:
            before = np.maximum(outcomes - 1, 0)
            open_ = (self._first[before] == words) & self._inexact[before]
            for i in np.flatnonzero(open_).tolist():
                outcomes[i] = self._settle(bits, int(words[i]))
        return outcomes

    def _settle(self, bits: Bits, number: int) -> int:
        """Draw more digits of U, which begins with 64-bit ``number``, until one outcome is left."""
        scale = 64
        while True:
            number = number << 64 | int(bits.words(1)[0])
            scale += 64
            # Boundaries at or below U, whatever digits follow, and those not above all of them.
            least = bisect_right(self._bounds, number * self._total >> scale)
            most = bisect_left(self._bounds, -(-(number + 1) * self._total >> scale))
            if least == most:
                return least
