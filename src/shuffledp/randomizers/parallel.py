"""Parallel composition: every user runs one randomizer, chosen at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.decomposition import Decomposition
from shuffledp.decomposition.arithmetic import FloatArray
from shuffledp.errors import check_positive
from shuffledp.randomizers.base import Input, LocalRandomizer, Pair, Values, count_users, take
from shuffledp.randomizers.composition import (
    Composition,
    check_columns,
    check_parts,
    combine_inputs,
    entries,
    join,
    split,
)
from shuffledp.sampling import Bits, Categorical
from shuffledp.sampling.layout import as_bytes, blob, unsigned


@dataclass(frozen=True)
class Parallel(Composition):
    r"""Every user applies one of several randomizers to the input and says which.

    The decompositions mix with the weights (paper, section 4.6). All parts see the same input, so
    parts that compare pairs (matrices) must have the same inputs, and are compared at the same
    pair. Parts that cannot have a common pair of inputs, such as a joint composition beside a
    single mechanism, are taken to look at attributes of their own.

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
        if len({_inputs(part) for part in compared}) > 1:
            raise ValueError(
                "the parts of parallel that compare pairs must have the same inputs, got "
                f"{', '.join(map(str, compared))}"
            )
        alone = [part for part in compared if len(_inputs(part)) == 1]
        if alone and len(compared) < len(self.parts):
            raise ValueError(f"the parts of parallel must have the same inputs; {alone[0]} has one")

    @property
    def epsilon0(self) -> float:
        """The largest level of the parts."""
        return max(part.epsilon0 for part in self.parts)

    def neighbours(self) -> Sequence[Pair]:
        """Return the pairs of common inputs to compare; one if every part has a worst pair.

        A part with a worst pair stands at the pair of the others if all its pairs are alike, else
        at its own worst pair, which is an upper bound.
        """
        inputs = self._compared_inputs()
        if inputs:
            return tuple(self._at(Pair(x, y)) for x in inputs for y in inputs if x != y)
        worst = [part.neighbours()[0] for part in self.parts]
        shared = next((pair for pair in worst if self._is_worst_for_all(pair)), None)
        return (join(worst if shared is None else [shared] * len(self.parts)),)

    def unchanged(self) -> Sequence[Pair]:
        """Return the common inputs to look at; one if every part has a worst pair."""
        inputs = self._compared_inputs()
        if inputs:
            return tuple(self._at(Pair(x, x)) for x in inputs)
        return (join([part.unchanged()[0] for part in self.parts]),)

    def _compared_inputs(self) -> tuple[Input, ...]:
        compared = [part for part in self.parts if not part.has_worst_pair]
        return _inputs(compared[0]) if compared else ()

    def _at(self, pair: Pair) -> Pair:
        """Return the pair each part stands at when the common inputs are ``pair``."""

        def own(part: LocalRandomizer) -> Pair:
            alike = part.is_symmetric and part.accepts(pair.first) and part.accepts(pair.second)
            if alike or not part.has_worst_pair:
                return pair
            return (part.neighbours() if pair.changes else part.unchanged())[0]

        return join([own(part) for part in self.parts])

    def _is_worst_for_all(self, pair: Pair) -> bool:
        return all(
            part.accepts(pair.first)
            and part.accepts(pair.second)
            and (part.is_symmetric or pair == part.neighbours()[0])
            for part in self.parts
        )

    def blanket(self, pair: Pair) -> Decomposition:
        """Return the mixture of the parts' blankets."""
        pairs = zip(self.parts, split(pair), strict=True)
        return Decomposition.mixture(self.weights, [p.blanket(q) for p, q in pairs]).merge()

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return common inputs that all parts know, the same for every part.

        Without a common pair there are none if pairs are compared; if not, the parts cannot have
        the same inputs and each is taken to look at an attribute of its own.
        """
        pairs = list(split(pair))
        own = [part.common_inputs(q) for part, q in zip(self.parts, pairs, strict=True)]
        if len(set(pairs)) == 1:
            candidates = dict.fromkeys(x for inputs in own for x in inputs)
            shared = [x for x in candidates if all(part.accepts(x) for part in self.parts)]
            return tuple((x,) * len(self.parts) for x in shared)
        return () if self._compared_inputs() else tuple(combine_inputs(own))

    def background(self, pair: Pair, other: Input) -> Decomposition:
        """Return the mixture of the parts' backgrounds."""
        parts = zip(self.parts, split(pair), entries(self, other), strict=True)
        return Decomposition.mixture(
            self.weights, [part.background(own, x) for part, own, x in parts]
        ).merge()

    @property
    def shares_inputs(self) -> bool:
        """Whether all parts look at the same input, which is then given once."""
        return len({part.attributes for part in self.parts}) == 1

    @property
    def attributes(self) -> int | None:
        """As for the parts; one per part if each has an input of its own."""
        return self.parts[0].attributes if self.shares_inputs else len(self.parts)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The number of the part, and its report, filled up with zeros to that of the longest."""
        longest = max(part.report_dtype.itemsize for part in self.parts)
        return np.dtype([("part", unsigned(len(self.parts))), ("report", blob(longest))])

    def check_values(self, values: object) -> Values:
        """Return the inputs of every part."""
        if not self.shares_inputs:
            return check_columns(self.parts, values, "parallel")
        return tuple(part.check_values(values) for part in self.parts)

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Choose a part for every user and randomize."""
        reports = np.zeros(count_users(values), dtype=self.report_dtype)
        reports["part"] = Categorical(self.weights).draw(bits, reports.size)
        for i, (part, own) in enumerate(zip(self.parts, values, strict=True)):
            users = np.flatnonzero(reports["part"] == i)
            drawn = as_bytes(part.draw(take(own, users), bits))
            rows = np.zeros((users.size, self.report_dtype["report"].itemsize), dtype=np.uint8)
            rows[:, : drawn.shape[1]] = drawn
            reports["report"][users] = rows.view(self.report_dtype["report"]).ravel()
        return reports

    def reports_of(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the reports of each part.

        Raises:
            TypeError: if the reports are of another type.
            ValueError: if a report names a part that does not exist.
        """
        checked = self.check_reports(reports)
        chosen = checked["part"]
        if checked.size and chosen.max() >= len(self.parts):
            position = int(np.argmax(chosen >= len(self.parts)))
            raise ValueError(
                f"reports must name one of {len(self.parts)} parts, got {chosen[position]} at "
                f"position {position}"
            )
        found = []
        for i, part in enumerate(self.parts):
            rows = as_bytes(checked["report"][chosen == i])[:, : part.report_dtype.itemsize]
            found.append(np.ascontiguousarray(rows).view(part.report_dtype).ravel())
        return found

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return what the part that ran says; which one that was does not depend on the value."""
        total = np.zeros(reports.size)
        own = zip(self.parts, self.reports_of(reports), entries(self, value), strict=True)
        for i, (part, rows, x) in enumerate(own):
            total[reports["part"] == i] = part.log_likelihood(rows, x)
        return total

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


def _inputs(part: LocalRandomizer) -> tuple[Input, ...]:
    """Return all inputs of a part that compares pairs."""
    return tuple(pair.first for pair in part.unchanged())
