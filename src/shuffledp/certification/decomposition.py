r"""General-clone decompositions in balls.

As :class:`shuffledp.decomposition.Decomposition`, with balls for doubles. A decomposition here is
one *side* of a mechanism: the exact law of the ratios, or, for cells of a continuous law, one that
is above ("upper": cell masses at the ends of the cells) or below it ("lower": at the means) in
convex order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from flint import arb

from shuffledp.certification.law import Atom, Law
from shuffledp.engine.balls import positive_part, total

Side = Literal["lower", "upper"]


class Component(NamedTuple):
    """Logs of a/c and b/c (None where a or b is 0) and the weight c of one component."""

    log0: arb | None
    log1: arb | None
    weight: arb


@dataclass(frozen=True)
class BallDecomposition:
    """Components, the mass of the left-over laws, and (a, b) of the components with c = 0."""

    components: tuple[Component, ...]
    residual: arb
    singular: tuple[tuple[arb, arb], ...] = ()

    def merged(self) -> BallDecomposition:
        """Merge components whose ratios cannot be told apart; leave out those of weight 0.

        The merged ball contains the ratios of all its members, and all uses of a component are
        means of functions of its ratio, so nothing is lost. Components with a = b = 0 reveal
        nothing and join the residual.
        """
        silent = [c for c in self.components if c.log0 is None and c.log1 is None]
        kept = [
            c
            for c in self.components
            if not (c.log0 is None and c.log1 is None) and not c.weight.is_zero()
        ]
        labels = zip(_labels([c.log0 for c in kept]), _labels([c.log1 for c in kept]), strict=True)
        groups: dict[tuple[int, int], Component] = {}
        for label, component in zip(labels, kept, strict=True):
            known = groups.get(label)
            groups[label] = component if known is None else _united(known, component)
        residual = self.residual + total(c.weight for c in silent)
        return BallDecomposition(tuple(groups.values()), residual, self.singular)

    def times(self, other: BallDecomposition) -> BallDecomposition:
        """Return the Cartesian product: two reports of one user (paper, section 4.5)."""
        components = tuple(
            Component(_sum(x.log0, y.log0), _sum(x.log1, y.log1), x.weight * y.weight)
            for x in self.components
            for y in other.components
        )
        mine, theirs = self._masses(), other._masses()
        singular = [(a * c, b * d) for a, b in self.singular for c, d in (*theirs, *other.singular)]
        singular += [(a * c, b * d) for a, b in mine for c, d in other.singular]
        residual = self.residual + other.residual * (1 - self.residual)
        return BallDecomposition(components, residual, tuple(singular)).merged()

    def _masses(self) -> list[tuple[arb, arb]]:
        """Return a and b of each component."""
        return [(c.weight * _exp(c.log0), c.weight * _exp(c.log1)) for c in self.components]

    def at(self, epsilon: arb) -> Law:
        r"""Return the law of :math:`G=(a-e^\varepsilon b)/c`.

        In terms of the logs it is
        :math:`(b/c)e^\varepsilon\,\mathrm{expm1}(\log(a/b)-\varepsilon)`, which is exactly 0 where
        the logs say so.
        """
        cost = epsilon.exp()
        atoms = []
        for log0, log1, weight in self.components:
            if log1 is None or log0 is None:
                value = _exp(log0) - cost * _exp(log1)
            else:
                value = (log1 + epsilon).exp() * (log0 - log1 - epsilon).expm1()
            atoms.append(Atom(value, weight))
        singular = total(positive_part(a - cost * b) for a, b in self.singular)
        return Law.of(atoms, self.residual, singular)


def mixture(weights: Sequence[arb], parts: Sequence[BallDecomposition]) -> BallDecomposition:
    """Return the weighted combination: parallel composition (paper, section 4.6)."""
    scaled = list(zip(weights, parts, strict=True))
    return BallDecomposition(
        tuple(c._replace(weight=w * c.weight) for w, part in scaled for c in part.components),
        total(w * part.residual for w, part in scaled),
        tuple((w * a, w * b) for w, part in scaled for a, b in part.singular),
    ).merged()


def _labels(logs: Sequence[arb | None]) -> list[int]:
    """Number the balls so that overlapping neighbours share a number; None has its own, -1."""
    labels = [-1] * len(logs)
    known = [(log.mid().fmpq(), i) for i, log in enumerate(logs) if log is not None]
    previous: arb | None = None
    number = 0
    for _, i in sorted(known, key=lambda pair: pair[0]):
        log = logs[i]
        if previous is not None and log is not None and not log.overlaps(previous):
            number += 1
        labels[i], previous = number, log
    return labels


def _united(x: Component, y: Component) -> Component:
    return Component(_union(x.log0, y.log0), _union(x.log1, y.log1), x.weight + y.weight)


def _union(x: arb | None, y: arb | None) -> arb | None:
    if x is None or y is None or x.contains(y):
        return x
    return x.union(y)


def _sum(x: arb | None, y: arb | None) -> arb | None:
    return None if x is None or y is None else x + y


def _exp(log: arb | None) -> arb:
    return arb(0) if log is None else log.exp()
