r"""Fewer atoms: laws above or below a given one whose sums take less time.

- *Capping*: with :math:`G'=G\,1[G\le t]`, :math:`E S'_+\le E S_+\le E S'_+ + n\,E[G;G>t]`, because
  a positive sum falls by no more than what is cut off. Where gains are unbounded and rare, a single
  tilt suits only the others.
- *Convex order*: atoms between two edges are gathered at their mean, which gives a law below in
  convex order, or split between the edges with the same mean, which gives one above. Sums keep the
  order, and :math:`x_+` is convex.

Which edges and which cap is a matter of accuracy alone, and proposed in doubles: values are dense
where the tilted mass to the power 1/3 is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from flint import arb

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import total
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Atom, Law

Side = Literal["lower", "upper"]

#: Laws of fewer atoms are quick enough as they are.
FEW = 24


def sorted_law(law: Law) -> Law:
    """Sort the atoms by value and unite those whose balls overlap: a ball holds all of them."""
    ordered: list[Atom] = []
    for atom in sorted(law.atoms, key=lambda atom: float(atom.value)):
        united = atom
        while ordered and not ordered[-1].value < united.value:
            last = ordered.pop()
            united = Atom(last.value.union(united.value), last.mass + united.mass)
        ordered.append(united)
    return Law(tuple(ordered))


def capped(law: Law, limit: float) -> tuple[Law, arb]:
    """Set the largest values to 0 as long as that changes E[G] by ``limit`` at most.

    Also return by how much; the law must be sorted.
    """
    kept, cost, mass = list(law.atoms), arb(0), arb(0)
    while kept and kept[-1].value > 0:
        atom = kept[-1]
        following = cost + atom.value * atom.mass
        if not following <= limit:
            break
        cost, mass = following, mass + atom.mass
        kept.pop()
    if mass.is_zero():
        return law, arb(0)
    return sorted_law(Law((*kept, Atom(arb(0), mass)))), cost


def coarse(law: Law, times: int, rtol: float, side: Side) -> Law:
    """Return a law of few atoms above or below a sorted one, for sums of so many copies."""
    if len(law.atoms) <= FEW:
        return law
    edges = _edges(law, times, rtol)
    return law if edges is None else _on(law, edges, side)


def _edges(law: Law, times: int, loss: float) -> Sequence[int] | None:
    """Choose places of atoms to keep such that log E S_+ changes by about ``loss``."""
    values = law.values
    doubles = Doubles([(values, law.masses, times)])
    theta, tilted = doubles.theta, np.array(doubles.tilted(0))
    gaps = np.diff(values)
    heights = np.cbrt((tilted[1:] + tilted[:-1]) / 2 * gaps**2)
    position = np.concatenate([[0.0], np.cumsum(heights)])
    # Beyond the tilted law's bulk gaps still matter where a value is large.
    position += position[-1] * 1e-3 * np.arange(values.size) / values.size
    count = FEW
    while count < values.size // 2:
        chosen = np.searchsorted(position, np.linspace(0, position[-1], count))
        edges = np.unique(np.concatenate([[0], chosen, [values.size - 1]]))
        if _loss(values, tilted, edges, theta) * times <= loss:
            return [int(edge) for edge in edges]
        count = count * 3 // 2
    return None


def _loss(values: FloatArray, tilted: FloatArray, edges: FloatArray, theta: float) -> float:
    """Return about by how much log M(theta) changes: half of theta^2 times the added variance."""
    cell = np.clip(
        np.searchsorted(edges, np.arange(values.size), side="right") - 1, 0, edges.size - 2
    )
    low, high = values[edges[cell]], values[edges[cell + 1]]
    return float(theta**2 / 2 * (tilted * (values - low) * (high - values)).sum())


def _on(law: Law, edges: Sequence[int], side: Side) -> Law:
    """Put the atoms between edges to their mean, or to the edges."""
    atoms = law.atoms
    masses = {edge: atoms[edge].mass for edge in edges}
    gathered = []
    for left, right in pairwise(edges):
        inner = atoms[left + 1 : right]
        if not inner:
            continue
        mass, moment = total(a.mass for a in inner), total(a.mass * a.value for a in inner)
        if side == "lower":
            gathered.append(Atom(moment / mass, mass))
            continue
        low, high = atoms[left].value, atoms[right].value
        masses[right] += (moment - low * mass) / (high - low)
        masses[left] += (high * mass - moment) / (high - low)
    return Law((*(Atom(atoms[edge].value, mass) for edge, mass in masses.items()), *gathered))
