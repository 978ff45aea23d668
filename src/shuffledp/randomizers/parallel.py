"""Parallel composition: every user runs one randomizer, chosen at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.decomposition import Decomposition
from shuffledp.errors import check_positive
from shuffledp.randomizers.base import Input, LocalRandomizer, Pair
from shuffledp.randomizers.composition import Composition, check_parts, join, split


@dataclass(frozen=True)
class Parallel(Composition):
    r"""Every user applies one of several randomizers to the input and says which.

    The decompositions mix with the weights (paper, section 4.6). All parts see the same input, so
    parts that compare pairs (matrices) must have the same number of inputs, and are compared at
    the same pair.

    Args:
        parts: the randomizers.
        weights: the probability of each.

    Use :func:`parallel` to make one.
    """

    name: ClassVar[str] = "parallel"

    parts: tuple[LocalRandomizer, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "parts", check_parts("parallel", self.parts))
        weights = tuple(check_positive("weights", w) for w in self.weights)
        if len(weights) != len(self.parts) or abs(sum(weights) - 1) > 1e-12:
            raise ValueError(f"the weights of parallel must sum to 1, got {list(weights)}")
        object.__setattr__(self, "weights", weights)
        compared = [part for part in self.parts if not part.has_worst_pair]
        if len({len(part.unchanged()) for part in compared}) > 1:
            raise ValueError(
                "the parts of parallel that compare pairs must have the same inputs, got "
                f"{', '.join(map(str, compared))}"
            )

    @property
    def epsilon0(self) -> float:
        """The largest level of the parts."""
        return max(part.epsilon0 for part in self.parts)

    def neighbours(self) -> Sequence[Pair]:
        """Return the parts' worst pairs, or all pairs of the parts that compare them."""
        return self._aligned("neighbours")

    def unchanged(self) -> Sequence[Pair]:
        """Return the parts' unchanged inputs, the same one in parts that compare them."""
        return self._aligned("unchanged")

    def _aligned(self, method: str) -> tuple[Pair, ...]:
        own = [getattr(part, method)() for part in self.parts]
        count = max(
            [len(p) for p, part in zip(own, self.parts, strict=True) if not part.has_worst_pair],
            default=1,
        )
        return tuple(
            join(
                [
                    p[0] if part.has_worst_pair else p[i]
                    for p, part in zip(own, self.parts, strict=True)
                ]
            )
            for i in range(count)
        )

    def blanket(self, pair: Pair) -> Decomposition:
        """Return the mixture of the parts' blankets."""
        pairs = zip(self.parts, split(pair), strict=True)
        return Decomposition.mixture(self.weights, [p.blanket(q) for p, q in pairs]).merge()

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return the common inputs that all parts know, the same for every part."""
        pairs = list(split(pair))
        candidates = dict.fromkeys(
            x for part, own in zip(self.parts, pairs, strict=True) for x in part.common_inputs(own)
        )
        shared = [x for x in candidates if all(part.accepts(x) for part in self.parts)]
        return tuple((x,) * len(self.parts) for x in shared)

    def background(self, pair: Pair, other: Input) -> Decomposition:
        """Return the mixture of the parts' backgrounds."""
        if not isinstance(other, tuple):
            raise TypeError(f"the inputs of parallel are tuples, got {other!r}")
        parts = zip(self.parts, split(pair), other, strict=True)
        return Decomposition.mixture(
            self.weights, [part.background(own, x) for part, own, x in parts]
        ).merge()

    def __str__(self) -> str:
        """Return the text form."""
        terms = zip(self.weights, self.parts, strict=True)
        return f"parallel({', '.join(f'{w!r}*{part}' for w, part in terms)})"


def parallel(parts: Mapping[LocalRandomizer, float]) -> Parallel:
    """Return the parallel composition of randomizers with the given probabilities.

    >>> from shuffledp import KRR, BinaryLocalHash
    >>> str(parallel({KRR(k=10, epsilon0=1.0): 0.5, BinaryLocalHash(epsilon0=1.0): 0.5}))
    'parallel(0.5*krr(k=10, epsilon0=1.0), 0.5*blh(epsilon0=1.0))'
    """
    if not isinstance(parts, Mapping):
        raise TypeError(f"parts must map randomizers to their weights, got {parts!r}")
    return Parallel(tuple(parts), tuple(parts.values()))
