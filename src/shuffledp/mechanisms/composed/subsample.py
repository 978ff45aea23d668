"""Poisson subsampling: every user takes part with some probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.errors import check_real
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.base import (
    LocalRandomizer,
    SlotLaws,
    Values,
    count_users,
    take,
)
from shuffledp.mechanisms.domain import Domain
from shuffledp.mechanisms.finite.identity import check_identity
from shuffledp.mechanisms.input_types import InputTypes
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.sampling import Bits, Rational, decide


@dataclass(frozen=True, repr=False)
class Subsample(LocalRandomizer):
    r"""Every user runs the randomizer with some probability, or says "did not take part".

    The public output "did not take part" is the same for all inputs: a component with ratios (1, 1)
    and weight 1 - rate. It is not the residual, whose ratios are (0, 0). n counts all users, also
    those who do not take part; it does not matter whether they send that output or stay silent.

    Args:
        part: the randomizer.
        rate: probability of taking part, in (0, 1].

    Use :func:`subsample` to make one.
    """

    name: ClassVar[str] = "subsample"
    example: ClassVar[str | None] = "subsample(krr(k=10, epsilon0=1.0), rate=0.1)"

    part: LocalRandomizer
    rate: float

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not isinstance(self.part, LocalRandomizer):
            raise TypeError(f"part must be a local randomizer, got {self.part!r}")
        check_identity(self.part, "part")
        rate = check_real("rate", self.rate)
        if not 0 < rate <= 1:
            raise ValueError(f"rate must be greater than 0 and at most 1, got {self.rate!r}")
        object.__setattr__(self, "rate", rate)

    @property
    def components(self) -> tuple[LocalRandomizer, ...]:
        """The randomizer."""
        return (self.part,)

    @property
    def epsilon0(self) -> float:
        """The level of the randomizer: a report, if sent, is as revealing as without sampling."""
        return self.part.epsilon0

    @property
    def domain_epsilon0(self) -> float:
        """As for the randomizer itself."""
        return self.part.domain_epsilon0

    @property
    def input_domain(self) -> Domain:
        """As for the randomizer itself."""
        return self.part.input_domain

    def is_worst(self, pair: Pair) -> bool:
        """As for the randomizer itself."""
        return self.part.is_worst(pair)

    @property
    def has_worst_pair(self) -> bool:
        """As for the randomizer itself."""
        return self.part.has_worst_pair

    @property
    def is_composable(self) -> bool:
        """As for the randomizer itself."""
        return self.part.is_composable

    @property
    def monotone(self) -> bool:
        """As for the randomizer itself."""
        return self.part.monotone

    def neighbours(self) -> Sequence[Pair]:
        """Return the pairs of the randomizer."""
        return self.part.neighbours()

    def unchanged(self) -> Sequence[Pair]:
        """Return the unchanged inputs of the randomizer."""
        return self.part.unchanged()

    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return that of the randomizer, mixed with the silent output."""
        return self._mixed(self.part.decomposition(pair, other))

    def _mixed(self, part: Decomposition) -> Decomposition:
        if self.rate == 1:
            return part
        rate = Fraction(self.rate)
        silent = Decomposition.silent()
        return Decomposition.mixture((rate, 1 - rate), (part, silent))

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return those of the randomizer."""
        return self.part.common_inputs(pair)

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Return those of the randomizer: who does not take part tells nothing."""
        return self.part.input_types(pair)

    def background_types(self, pair: Pair) -> Sequence[Input] | None:
        """Return those of the randomizer."""
        return self.part.background_types(pair)

    def slot_laws(self, pair: Pair) -> SlotLaws | None:
        """Return the laws of the randomizer, mixed with the silent output."""
        laws = self.part.slot_laws(pair)
        if laws is None:
            return None
        backgrounds = tuple(map(self._mixed, laws.backgrounds))
        return replace(laws, blanket=self._mixed(laws.blanket), backgrounds=backgrounds)

    @property
    def covers_unchanged(self) -> bool:
        """As for the randomizer itself."""
        return self.part.covers_unchanged

    def pairs_to_swap(self) -> Sequence[Pair] | None:
        """Return those of the randomizer."""
        return self.part.pairs_to_swap()

    def changes_to_swap(self) -> Sequence[Pair] | None:
        """Return those of the randomizer."""
        return self.part.changes_to_swap()

    def stays_to_swap(self) -> Sequence[Pair]:
        """Return those of the randomizer."""
        return self.part.stays_to_swap()

    def pairs_to_attack(self) -> Sequence[Pair]:
        """Return those of the randomizer."""
        return self.part.pairs_to_attack()

    def accepts(self, other: Input) -> bool:
        """Whether the randomizer accepts the input."""
        return self.part.accepts(other)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """Whether the user takes part, and the report, all zeros if not."""
        return np.dtype([("present", "?"), ("report", self.part.report_dtype)])

    @property
    def attributes(self) -> int | None:
        """As for the randomizer itself."""
        return self.part.attributes

    def check_values(self, values: object) -> Values:
        """Return the inputs of all users."""
        return self.part.check_values(values)

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Decide who takes part and randomize their values."""
        reports = np.zeros(count_users(values), dtype=self.report_dtype)
        reports["present"] = self.rate == 1 or decide(
            bits, Rational(Fraction(self.rate)), reports.size
        )
        users = np.flatnonzero(reports["present"])
        reports["report"][users] = self.part.draw(take(values, users), bits)
        return reports

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return that of the reports; 0 for users who do not take part."""
        total, present = np.zeros(reports.size), reports["present"]
        total[present] = self.part.log_likelihood(reports["report"][present], value)
        return total

    def __str__(self) -> str:
        """Return the text form."""
        return f"subsample({self.part}, rate={self.rate!r})"


def subsample(part: LocalRandomizer | str, rate: float) -> Subsample:
    """Return a randomizer, given as such or as its text, that users run with probability ``rate``.

    >>> str(subsample("krr(k=10, epsilon0=1)", rate=0.1))
    'subsample(krr(k=10, epsilon0=1.0), rate=0.1)'
    """
    from shuffledp.mechanisms.text import as_randomizer

    return Subsample(as_randomizer(part, "part"), rate)
