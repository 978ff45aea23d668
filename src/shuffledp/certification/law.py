r"""The law of one GPARV in balls.

The bound is :math:`\delta=\frac1nE[(G_1+\dots+G_n)_+]+x`, where ``extra`` encloses x: the part of
components that only the differing user can produce, and what changes of the law have cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from flint import arb

from shuffledp.certification.balls import hull
from shuffledp.engine.balls import positive_part, total

if TYPE_CHECKING:
    from shuffledp.certification.decomposition import Side


class Atom(NamedTuple):
    """A value and its probability."""

    value: arb
    weight: arb


@dataclass(frozen=True)
class Law:
    """Atoms in ascending order, none of which can be 0, the mass at 0, and the extra delta."""

    atoms: tuple[Atom, ...]
    zero: arb
    extra: arb

    @staticmethod
    def of(atoms: Iterable[Atom], zero: arb, extra: arb) -> Law:
        r"""Sort the atoms and move those that may be 0 to 0.

        Moving values by at most d with probability w changes :math:`\frac1nE[S_+]` by at most w d.
        """
        kept, slack = [], arb(0)
        for atom in atoms:
            if atom.value.contains(0):
                zero += atom.weight
                slack += atom.weight * abs(atom.value)
            else:
                kept.append(atom)
        extra += hull(-slack, slack) if not slack.is_zero() else 0
        return Law(tuple(_ascending(kept)), zero, extra)

    def signature(self) -> tuple[object, ...]:
        """Return a value that two laws share only if all their balls are the same."""
        balls = [*(x for atom in self.atoms for x in atom), self.zero, self.extra]
        return tuple((*x.mid().man_exp(), *x.rad().man_exp()) for x in balls)

    @property
    def positive_mean(self) -> arb:
        """E[G_+]."""
        return total(positive_part(a.value) * a.weight for a in self.atoms)

    def without_rare_gains(self, limit: arb) -> Law:
        r"""Set the largest values to 0, as many as have E[G; cut] of at most ``limit``.

        If :math:`G'=G\,1[G\le t]` then
        :math:`E[S'_+]\le E[S_+]\le E[S'_+]+n\,E[G;G>t]`: the sum falls by no more than what is cut.
        """
        kept, cut, zero = list(self.atoms), arb(0), self.zero
        while kept and kept[-1].value > 0:
            value, weight = kept[-1]
            if not cut + value * weight <= limit:
                break
            cut, zero = cut + value * weight, zero + weight
            kept.pop()
        if cut.is_zero():
            return self
        return Law(tuple(kept), zero, self.extra + hull(arb(0), cut))

    def on(self, edges: Sequence[int], side: Side) -> Law:
        """Return a law on few atoms that is above or below this one in convex order.

        ``edges`` are the places of the atoms to keep, the first and the last included. Atoms
        between two edges are split between them with the same mean (upper) or gathered at their
        mean (lower).
        """
        atoms = self.atoms
        weights = {edge: atoms[edge].weight for edge in edges}
        gathered: list[Atom] = []
        for left, right in pairwise(edges):
            inner = atoms[left + 1 : right]
            if not inner:
                continue
            mass = total(a.weight for a in inner)
            moment = total(a.weight * a.value for a in inner)
            if side == "lower":
                gathered.append(Atom(moment / mass, mass))
            else:
                low, high = atoms[left].value, atoms[right].value
                weights[right] += (moment - low * mass) / (high - low)
                weights[left] += (high * mass - moment) / (high - low)
        kept = [Atom(atoms[edge].value, weight) for edge, weight in weights.items()]
        return Law.of([*kept, *gathered], self.zero, self.extra)


def _ascending(atoms: list[Atom]) -> list[Atom]:
    """Sort by value; unite atoms whose values cannot be told apart."""
    ordered: list[Atom] = []
    for value, weight in sorted(atoms, key=lambda a: a.value.mid().fmpq()):
        united, mass = value, weight
        while ordered and ordered[-1].value.overlaps(united):
            other = ordered.pop()
            united, mass = hull(other.value, united), other.weight + mass
        ordered.append(Atom(united, mass))
    return ordered
