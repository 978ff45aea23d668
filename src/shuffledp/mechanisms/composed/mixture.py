"""Mixtures: every user runs one of several randomizers, chosen at random, and says which."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.errors import check_positive
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.base import LocalRandomizer, Values, count_users, take
from shuffledp.mechanisms.composed.composition import check_parts
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.sampling import Bits, Categorical
from shuffledp.mechanisms.sampling.layout import as_bytes, blob, unsigned


class Mixture(LocalRandomizer):
    r"""A choice between randomizers: :math:`R(x)=\bigoplus_jp_jR_j(x_j)`.

    A subclass says what each part reads: the user's one value, or an attribute of its own. The
    decompositions mix with the weights (paper, section 4.6).
    """

    parts: tuple[LocalRandomizer, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "parts", check_parts(self.name, self.parts))
        weights = tuple(check_positive("weights", w) for w in self.weights)
        if len(weights) != len(self.parts) or abs(sum(weights) - 1) > 1e-12:
            raise ValueError(f"the weights of {self.name} must sum to 1, got {list(weights)}")
        object.__setattr__(self, "weights", weights)

    @abstractmethod
    def entries(self, value: Input) -> tuple[Input, ...]:
        """Return the input of every part."""

    @property
    def components(self) -> tuple[LocalRandomizer, ...]:
        """The parts."""
        return self.parts

    @property
    def epsilon0(self) -> float:
        """The largest level of the parts."""
        return max(part.epsilon0 for part in self.parts)

    @property
    def domain_epsilon0(self) -> float:
        """The largest of the parts."""
        return max(part.domain_epsilon0 for part in self.parts)

    @property
    def monotone(self) -> bool:
        """Whether every part is monotone."""
        return all(part.monotone for part in self.parts)

    def _own_pairs(self, pair: Pair) -> Iterable[tuple[LocalRandomizer, Pair]]:
        """Return every part with its pair."""
        firsts, seconds = self.entries(pair.first), self.entries(pair.second)
        return zip(self.parts, map(Pair, firsts, seconds), strict=True)

    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return the mixture of those of the parts."""
        others = [None] * len(self.parts) if other is None else self.entries(other)
        parts = [
            part.decomposition(own, x)
            for (part, own), x in zip(self._own_pairs(pair), others, strict=True)
        ]
        return Decomposition.mixture(self.weights, parts)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The number of the part, and its report, filled up with zeros to that of the longest."""
        longest = max(part.report_dtype.itemsize for part in self.parts)
        return np.dtype([("part", unsigned(len(self.parts))), ("report", blob(longest))])

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
        own = zip(self.parts, self.reports_of(reports), self.entries(value), strict=True)
        for i, (part, rows, x) in enumerate(own):
            total[reports["part"] == i] = part.log_likelihood(rows, x)
        return total

    def __str__(self) -> str:
        """Return the text form."""
        terms = zip(self.weights, self.parts, strict=True)
        return f"{self.name}({', '.join(f'{w!r}*{part}' for w, part in terms)})"
