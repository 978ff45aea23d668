"""The law of gains at one epsilon, from a decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flint import arb

from shuffledp.basics.balls import positive_part, precision, total
from shuffledp.engine.sums import Law

if TYPE_CHECKING:
    from shuffledp.decomposition.decomposition import Component, Decomposition


@dataclass(frozen=True, eq=False)
class Gains:
    r"""The law of :math:`G=(a-e^\varepsilon b)/c` at one epsilon, enclosed in convex order."""

    decomposition: Decomposition
    epsilon: arb

    @cached_property
    def lower(self) -> Law:
        """A law below that of G in convex order, or G's own."""
        return self._law(self.decomposition)

    @cached_property
    def upper(self) -> Law:
        """A law above that of G in convex order, or G's own."""
        spread = self.decomposition.spread
        return self.lower if spread is None else self._law(spread)

    @cached_property
    def exposed(self) -> tuple[arb, arb]:
        r"""The sum of :math:`(a-e^\varepsilon b)_+` over c = 0, for either law.

        It is added to delta.
        """
        return self._exposed(self.decomposition), self._exposed(self.decomposition.upper)

    def _law(self, side: Decomposition) -> Law:
        with precision():
            cost = self.epsilon.exp()
            atoms = [(_gain(c, self.epsilon, cost), c.weight) for c in side.components]
            return Law.of([*atoms, (arb(0), side.residual)])

    def _exposed(self, side: Decomposition) -> arb:
        with precision():
            cost = self.epsilon.exp()
            return total(positive_part(a - cost * b) for a, b in side.singular)


def _gain(component: Component, epsilon: arb, cost: arb) -> arb:
    r"""Return :math:`(b/c)e^\varepsilon\,\mathrm{expm1}(\log(a/b)-\varepsilon)`.

    It is exactly 0 where the logarithms say so.
    """
    log0, log1, _ = component
    if log0 is None or log1 is None:
        return _exp(log0) - cost * _exp(log1)
    if log0 is log1:
        return -log1.exp() * epsilon.expm1()
    return (log1 + epsilon).exp() * (log0 - log1 - epsilon).expm1()


def _exp(log: arb | None) -> arb:
    return arb(0) if log is None else log.exp()
