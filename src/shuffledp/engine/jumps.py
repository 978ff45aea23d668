r"""Rare large values: the sum is split by how many of them there are.

No tilt suits a law whose largest values are rare. Let B be the part of the law of one summand up to
a level and J the part above, of mass p. Both are measures of mass below 1, and so are their sums:

.. math:: E f(S)=\sum_{k\le K}\binom nk\,E f(B_1+\dots+B_{n-k}+J_1+\dots+J_k)+R,

where every term has a tilt of its own. As :math:`f(x)\le x_+` and the chance that some m of N
summands are large is at most :math:`\binom Nm p^m`,

.. math:: 0\le R\le n\Big(E[J]\binom{n-1}Kp^K+E[B_+]\binom{n-1}{K+1}p^{K+1}\Big).

The level is proposed in doubles, and any level is right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import arb

from shuffledp.basics.balls import total
from shuffledp.engine.sums import Atom, Block, Law, Sum


@dataclass(frozen=True)
class Jumps:
    """A sum of copies of one law, under :math:`x_+`, split at a level.

    >>> law = Law.of([(arb(-1), arb(0.875)), (arb(4), arb(0.125))])
    >>> jumps = Jumps.at(law, 3, 0.0)
    >>> [times for times, _ in jumps.terms(2)]  # of (B, B, B), (B, B, J) and (B, J, J)
    [1, 3, 3]
    """

    usual: Law
    large: Law
    times: int

    @classmethod
    def at(cls, law: Law, times: int, level: float) -> Jumps:
        """Split a law at a level."""
        usual: list[Atom] = []
        large: list[Atom] = []
        for atom in law.atoms:
            (large if atom.value > level else usual).append(atom)
        return cls(Law(tuple(usual)), Law(tuple(large)), times)

    def terms(self, most: int) -> Iterator[tuple[int, Sum]]:
        """Yield the sums with up to ``most`` large values, and in how many ways each occurs."""
        for k in range(min(most, self.times) + 1):
            parts = (self.usual, self.times - k), (self.large, k)
            blocks = [Block(law, times) for law, times in parts if times and law.atoms]
            if sum(block.times for block in blocks) == self.times:
                yield math.comb(self.times, k), Sum(tuple(blocks))

    def rest(self, most: int) -> arb:
        """Bound what sums with more large values than ``most`` add."""
        chance = total(atom.mass for atom in self.large.atoms)
        gains = (_positive(self.large.atoms), most), (_positive(self.usual.atoms), most + 1)
        others = self.times - 1
        return self.times * total(
            gain * arb.bin_uiui(others, m) * chance**m for gain, m in gains if m <= others
        )


def _positive(atoms: Sequence[Atom]) -> arb:
    return total(atom.value * atom.mass for atom in atoms if not atom.value <= 0)
