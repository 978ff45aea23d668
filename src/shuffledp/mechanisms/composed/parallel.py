"""Parallel composition: one value, read by one of several randomizers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from shuffledp.mechanisms.base import LocalRandomizer, Values
from shuffledp.mechanisms.composed.composition import as_parts, listed
from shuffledp.mechanisms.composed.mixture import Mixture
from shuffledp.mechanisms.domain import Domain
from shuffledp.mechanisms.input_types import InputTypes
from shuffledp.mechanisms.pair import Input, Pair

#: Up to so many inputs, all pairs of them are compared.
_MAX_INPUTS = 1000

#: Up to so many, all pairs of them are looked at in the swap bound.
_MAX_SWAPPED = 32


@dataclass(frozen=True, repr=False)
class Parallel(Mixture):
    r"""Every user applies one of several randomizers to the same value and says which.

    All parts see the user's one value, so their domains must agree, neighbours included; a part
    without ``domain_size`` agrees with every size. Where each part has an attribute of its own, use
    :func:`shuffledp.one_of`.

    Args:
        parts: the randomizers.
        weights: the probability of each.

    Use :func:`parallel` to make one.
    """

    name: ClassVar[str] = "parallel"
    example: ClassVar[str | None] = "parallel(0.5*krr(k=10, epsilon0=1.0), 0.5*blh(epsilon0=1.0))"

    parts: tuple[LocalRandomizer, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        _ = self.input_domain

    @cached_property
    def input_domain(self) -> Domain:
        """The common domain of the parts."""
        domain = self.parts[0].input_domain
        for part in self.parts[1:]:
            met = domain.meet(part.input_domain)
            if met is None:
                raise ValueError(
                    "the parts of parallel read the same value, so their domains must agree, got "
                    f"{domain} and {part.input_domain} (of {part}); if each part reads an "
                    "attribute of its own, use one_of"
                )
            domain = met
        return domain

    @property
    def has_worst_pair(self) -> bool:
        """Whether one pair is worst for every part."""
        return self._worst_pair() is not None

    def is_worst(self, pair: Pair) -> bool:
        """Whether the pair is worst for every part."""
        return all(part.is_worst(pair) for part in self.parts)

    def _worst_pair(self) -> Pair | None:
        proposed = (part.neighbours()[0] for part in self.parts if part.has_worst_pair)
        domain = self.input_domain
        return next(
            (p for p in proposed if p.first in domain and p.second in domain and self.is_worst(p)),
            None,
        )

    def neighbours(self) -> Sequence[Pair]:
        """Return the pair that is worst for every part, else all pairs of the domain."""
        worst = self._worst_pair()
        if worst is not None:
            return (worst,)
        self._check_size()
        return listed(self, self.input_domain.neighbours())

    def unchanged(self) -> Sequence[Pair]:
        """Return the one input that dominates for every part, else all inputs of the domain."""
        return self._same({tuple(part.unchanged()) for part in self.parts})

    def stays_to_swap(self) -> Sequence[Pair]:
        """Return the one input that is enough for every part, else all inputs of the domain."""
        return self._same({tuple(part.stays_to_swap()) for part in self.parts})

    def _same(self, proposed: set[tuple[Pair, ...]]) -> Sequence[Pair]:
        if len(proposed) == 1 and len(one := proposed.pop()) == 1:
            return one
        self._check_size()
        return listed(self, (Pair(x, x) for x in self.input_domain.inputs()))

    def _check_size(self) -> None:
        size = self.input_domain.size
        if size > _MAX_INPUTS:
            count = "any number of" if size == math.inf else f"{size:,}"
            raise ValueError(
                f"parallel has to compare all pairs of {count} inputs; that takes too long beyond "
                f"{_MAX_INPUTS}. Parts that have the same worst pair need no comparison"
            )

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return inputs of the domain whose law all parts know; none if one cannot tell the pair's.

        What a part proposes for its own lower bound is tried.
        """
        if not (self.accepts(pair.first) and self.accepts(pair.second)):
            return ()
        proposed = dict.fromkeys(x for part in self.parts for x in part.common_inputs(pair))
        return tuple(x for x in proposed if self.accepts(x))

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep all inputs apart that any part keeps apart."""
        met = self.parts[0].input_types(pair)
        for part in self.parts[1:]:
            types = part.input_types(pair)
            met = None if met is None or types is None else met.meet(types)
        return met

    @property
    def covers_unchanged(self) -> bool:
        """Whether every part covers it, and there is a third input."""
        return self.input_domain.size > 2 and all(part.covers_unchanged for part in self.parts)

    def pairs_to_swap(self) -> Sequence[Pair] | None:
        """Return the one pair that is enough for every part, else all pairs unless they are many.

        A pair of inputs has to be looked at as a whole: what stands for it in one part need not
        stand for it in another.
        """
        worst = self._worst_pair()
        if worst is not None and all(part.changes_to_swap() == (worst,) for part in self.parts):
            return (worst,)
        return self._all_pairs if self.input_domain.size <= _MAX_SWAPPED else None

    @cached_property
    def _all_pairs(self) -> tuple[Pair, ...]:
        return tuple(self.input_domain.neighbours())

    def accepts(self, other: Input) -> bool:
        """Whether it is an input and every part knows its law."""
        return other in self.input_domain and all(part.accepts(other) for part in self.parts)

    def entries(self, value: Input) -> tuple[Input, ...]:
        """Return the value for every part."""
        return (value,) * len(self.parts)

    @property
    def attributes(self) -> int | None:
        """As for the parts."""
        return self.parts[0].attributes

    def check_values(self, values: object) -> Values:
        """Return the same inputs for every part."""
        return tuple(part.check_values(values) for part in self.parts)


def parallel(parts: Mapping[LocalRandomizer | str, float]) -> Parallel:
    """Return the choice between randomizers, or their texts, that all read the same value.

    >>> from shuffledp import KRR, BinaryLocalHash
    >>> str(parallel({KRR(k=10, epsilon0=1.0): 0.5, BinaryLocalHash(epsilon0=1.0): 0.5}))
    'parallel(0.5*krr(k=10, epsilon0=1.0), 0.5*blh(epsilon0=1.0))'
    """
    if not isinstance(parts, Mapping):
        raise TypeError(f"parts must map randomizers to their weights, got {parts!r}")
    return Parallel(as_parts("parallel", parts), tuple(parts.values()))
