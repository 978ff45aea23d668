"""What every local randomizer can tell about itself."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.markup import facts
from shuffledp.basics.rounding import given_or_up
from shuffledp.basics.wording import counted, shorten
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.aggregate import Aggregate, OnlyMultiset
from shuffledp.mechanisms.domain import Domain
from shuffledp.mechanisms.input_types import InputTypes
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.relation import Relation
from shuffledp.mechanisms.sampling import Bits

#: The inputs of many users: one array, or one entry per attribute.
Values = NDArray[Any] | tuple["Values", ...]

#: Reports are drawn in blocks of at most this many users and bytes, which bounds the memory needed.
_MAX_ROWS, _MAX_BYTES = 1 << 16, 1 << 22

#: With more types of others the swap bound takes too long.
_MAX_TYPES = 81


@dataclass(frozen=True, eq=False)
class SlotLaws:
    """The laws of the swap bound at a pair of inputs, or at all pairs that it stands for.

    The bound is linear in the law of each slot and grows with it in convex order. So laws of
    several pairs may be put together: the others are free to choose among all of them.

    Attributes:
        blanket: a decomposition with c at most R(v) for all v.
        backgrounds: decompositions with c = R(v), one per type of input that others may hold, or
            what dominates them in convex order.
        levels: for each background, the largest epsilon at which its pair reveals anything, rounded
            up; beyond it the pair needs no bound. Empty if all belong to one pair.
        rest: returns by how much, at an epsilon, delta may be larger than what these laws give;
            None if nothing is left out, and no ratio is so large that its gain should be.
        least: below this epsilon that is infinite.
    """

    blanket: Decomposition
    backgrounds: tuple[Decomposition, ...]
    levels: tuple[float, ...] = ()
    rest: Callable[[float], float] | None = None
    least: float = 0.0

    @property
    def is_singular(self) -> bool:
        """Whether some outputs give an input away: then nobody can swap seats."""
        return any(part.is_singular for part in (self.blanket, *self.backgrounds))

    def revealing(self, epsilon: float) -> tuple[Decomposition, ...]:
        """Return the backgrounds of pairs that reveal something at this epsilon."""
        if not self.levels:
            return self.backgrounds
        both = zip(self.backgrounds, self.levels, strict=True)
        return tuple(background for background, level in both if level > epsilon)


class LocalRandomizer(ABC):
    """A randomizer each user applies to one input before the shuffler.

    A subclass is a frozen dataclass; its fields are its parameters. It states its output law once,
    through decompositions; bounds, compositions and text form are derived.
    """

    #: The name of the mechanism in text form.
    name: ClassVar[str]

    #: A text form to show as an example; None if there is none.
    example: ClassVar[str | None] = None

    #: What the reports tell about all users together; None for a mechanism that cannot run.
    estimates: ClassVar[Literal["frequencies", "mean"] | None] = None

    if TYPE_CHECKING:  # a dataclass field in most subclasses, a property in some

        @property
        def epsilon0(self) -> float:
            """The replace-one LDP level; infinite for mechanisms that are not pure LDP."""

    @property
    def domain_epsilon0(self) -> float:
        """The largest log ratio of an output's probabilities under *any* two inputs.

        Bounds that know a level alone need this one: the other users may hold anything. It exceeds
        ``epsilon0`` where not all inputs are neighbours.
        """
        return self.epsilon0

    @property
    @abstractmethod
    def input_domain(self) -> Domain:
        """The inputs, and which of them are neighbours."""

    @property
    def components(self) -> tuple[LocalRandomizer, ...]:
        """The mechanisms that a composition consists of; none for any other."""
        return ()

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ, and so what its answers protect."""
        return self.input_domain.relation

    @property
    def has_worst_pair(self) -> bool:
        """Whether ``neighbours`` is one pair that is proved to be the worst one.

        Its GPARV must dominate, in convex order and at every epsilon, that of all pairs, also of
        those with equal inputs; then it is worst in every composition, too. False, which is always
        safe, compares the pairs that are listed, and those of equal inputs in a composition.
        """
        return False

    def is_worst(self, pair: Pair) -> bool:
        """Whether a pair is proved to be a worst one, in the sense of ``has_worst_pair``."""
        return self.has_worst_pair and pair == self.neighbours()[0]

    @property
    def is_composable(self) -> bool:
        """Whether the decompositions stay valid in joint and parallel compositions."""
        return True

    @abstractmethod
    def neighbours(self) -> Sequence[Pair]:
        """Return ordered pairs of neighbours whose GPARVs, together, dominate those of all.

        Every pair of neighbours must be dominated, in convex order, by one listed pair, the same
        at every epsilon. An empty list says that no two inputs are neighbours.
        """

    @abstractmethod
    def unchanged(self) -> Sequence[Pair]:
        """Return pairs of equal inputs whose GPARVs, together, dominate those of all such pairs.

        They matter in a composition in which another attribute changes.
        """

    @abstractmethod
    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return the law of a pair of inputs, seen by the others: the decomposition, in balls.

        Without ``other`` it is the optimal one: c is the infimum of R over all inputs, the blanket.
        Its bound holds for all datasets that differ in the pair (paper, theorem 5). With ``other``
        c = R(other), which is what is seen if all others hold that input; its bound is exactly the
        divergence of these two datasets (paper, theorem 14).

        >>> from shuffledp import KRR
        >>> KRR(k=2, epsilon0=1.0).decomposition(Pair(0, 1))
        Decomposition(components=2, singular=0, residual=0.462117)
        """

    @abstractmethod
    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return the inputs of all other users that are worth trying in a lower bound."""

    @abstractmethod
    def accepts(self, other: Input) -> bool:
        """Whether ``decomposition`` knows the law of this input."""

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Return which type every input has that another user may hold, seen from a pair.

        Whoever states types has to prove three things. Inputs v of one type have the same law of
        (R(x1)/R(v), R(x1')/R(v)) under R(v). Every pair of neighbours has a pair in
        :meth:`pairs_to_swap` that dominates it as in :meth:`neighbours`, and for every v an input
        w from which it looks worse: the law of the ratios to R(v) is dominated by that of its own
        ratios to R(w), in convex order, whatever is subtracted from whatever. The same holds for
        pairs of equal inputs and :meth:`unchanged`.

        None, which is always safe, says that types are not known. A composition that gives one
        value to several mechanisms keeps all inputs apart that any of them keeps apart.
        """
        return None

    def background_types(self, pair: Pair) -> Sequence[Input] | None:
        """Return one input of each type, seen from a pair; None if they are not known, or many."""
        types = self.input_types(pair)
        if types is None or types.count(self.input_domain) > _MAX_TYPES:
            return None
        return tuple(types.inputs(self.input_domain))

    def slot_laws(self, pair: Pair) -> SlotLaws | None:
        """Return what the swap bound needs to know, None where it is not known."""
        types = self.background_types(pair)
        if types is None:
            return None
        return SlotLaws(self.decomposition(pair), tuple(self.decomposition(pair, v) for v in types))

    @property
    def covers_unchanged(self) -> bool:
        """Whether an attribute that stays the same adds nothing to the swap bound of a composition.

        It does not if there are three inputs, and R(x)/R(v) and R(z)/R(v) have the same law under
        R(v) for all different x, v and z: then a slot in which x stays is dominated, in convex
        order, by one in which x becomes any such z. If v = x its ratio is the constant 1, which is
        dominated anyway.
        """
        return False

    def pairs_to_swap(self) -> Sequence[Pair] | None:
        """Return pairs of neighbours that together stand for all, seen from any background, too.

        What that means, :meth:`input_types` says. Those of :meth:`neighbours` unless said
        otherwise; None if no such pairs are known, or too many.
        """
        return self.neighbours()

    def changes_to_swap(self) -> Sequence[Pair] | None:
        """Return such pairs for a mechanism that is a part of another one, None if not known."""
        return self.pairs_to_swap()

    def stays_to_swap(self) -> Sequence[Pair]:
        """Return pairs of equal inputs that stand for all, seen from any background, too."""
        return self.unchanged()

    def pairs_to_attack(self) -> Sequence[Pair]:
        """Return pairs of neighbours that are worth trying in a lower bound."""
        return self.neighbours()

    @property
    def blanket_shape(self) -> Hashable:
        """What mechanisms must have in common for their blankets to be multiples of one law.

        Two mechanisms of equal shape have the same outputs; their blankets are c = alpha times the
        same law, and alpha falls as epsilon0 grows; with equal epsilon0 they are the same
        mechanism. The mechanism itself, which is always safe, unless said otherwise.
        """
        return self

    @property
    def least_blanket_mass(self) -> float | None:
        """The least mass of c, rounded down, if the law stands for other mechanisms, else None.

        What stands for many mechanisms bounds what their blankets do; these may themselves be
        smaller, and need not have a law in common.
        """
        return None

    @property
    def aggregate(self) -> Aggregate:
        """What the sum of the vectors that users submit tells; the multiset's bound is always safe.

        A report that is no number is submitted as its indicator vector, or as the vector of the
        inputs that it supports.
        """
        return OnlyMultiset()

    @property
    def monotone(self) -> bool:
        """Whether the bound grows with epsilon0 while the other parameters stay as they are."""
        return True

    def randomize(self, values: object, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """Return one report per user, an array of type ``report_dtype``.

        Args:
            values: the users' inputs; for mechanisms of several attributes a sequence with one
                entry per attribute, or an array with one column per attribute.
            rng: a generator, for simulations that can be repeated; None takes random bits from the
                operating system's secure source, as reports about people need.

        >>> from shuffledp import KRR
        >>> reports = KRR(k=10, epsilon0=2.0).randomize([3, 1, 4])
        >>> reports.shape, reports.dtype
        ((3,), dtype('uint8'))

        Raises:
            TypeError: if the values are of the wrong type, or the randomizer cannot run.
            ValueError: if a value is outside the domain, or a parameter needed to run is missing.
        """
        return self.draw_in_blocks(self.check_values(values), Bits(rng))

    def draw_in_blocks(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Return the reports for values that have been checked, in bounded memory."""
        n, size = count_users(values), self.report_dtype.itemsize
        rows = max(1, min(_MAX_ROWS, _MAX_BYTES // size))
        if n <= rows:
            return self.draw(values, bits)
        reports = np.empty(n, dtype=self.report_dtype)
        for start in range(0, n, rows):
            part = slice(start, start + rows)
            reports[part] = self.draw(take(values, part), bits)
        return reports

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The type of one report; its ``itemsize`` is the number of bytes a user sends."""
        raise TypeError(f"{self} cannot run")

    @property
    def attributes(self) -> int | None:
        """How many attributes an input has; None if it is one value and not a tuple."""
        return None

    def check_values(self, values: object) -> Values:
        """Return the inputs of many users; reject what the randomizer does not accept."""
        raise TypeError(f"{self} cannot run")

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Return the reports for values that have been checked."""
        raise TypeError(f"{self} cannot run")

    def draw_dummies(self, count: int, bits: Bits) -> NDArray[Any]:
        """Return reports drawn from the law that the blankets of all inputs have in common."""
        raise TypeError(f"no dummies can be drawn for {self}")

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return log R(value)(report) of each report, up to a term that is the same for all values.

        >>> from shuffledp import KRR
        >>> KRR(k=3, epsilon0=2.0).log_likelihood(np.array([0, 2, 2], dtype=np.uint8), 2).tolist()
        [0.0, 2.0, 2.0]
        """
        raise TypeError(f"{self} cannot run")

    def check_reports(self, reports: object) -> NDArray[Any]:
        """Return reports if they are a one-dimensional array of type ``report_dtype``."""
        if not isinstance(reports, np.ndarray) or reports.dtype != self.report_dtype:
            got = reports.dtype if isinstance(reports, np.ndarray) else type(reports).__name__
            raise TypeError(f"reports of {self} must be of type {self.report_dtype}, got {got}")
        if reports.ndim != 1:
            raise ValueError(f"reports must be one-dimensional, got shape {reports.shape}")
        return reports

    def __str__(self) -> str:
        """Return the text form, which :func:`shuffledp.parse` reads back."""
        return f"{self.name}({self._parameters})"

    def __repr__(self) -> str:
        """Return the constructor call, without parameters that have their default."""
        return f"{type(self).__name__}({self._parameters})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        try:
            size = counted(self.report_dtype.itemsize, "byte")
        except (TypeError, ValueError):
            size = "for accounting only: it cannot run"
        level = self.epsilon0
        rows = {
            "mechanism": shorten(str(self)),
            "inputs": str(self.input_domain),
            "epsilon0": given_or_up(level) if math.isfinite(level) else "none: it is not pure LDP",
            "report": size,
        }
        return facts(rows)

    @property
    def _parameters(self) -> str:
        parameters = (
            (f.name, getattr(self, f.name), f.default)
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if f.init
        )
        return ", ".join(
            f"{name}={value!r}" for name, value, default in parameters if value != default
        )


def count_users(values: Values) -> int:
    """Return the number of users whose inputs these are."""
    return count_users(values[0]) if isinstance(values, tuple) else values.size


def take(values: Values, users: slice | NDArray[np.int64]) -> Values:
    """Return the inputs of some users."""
    if isinstance(values, tuple):
        return tuple(take(column, users) for column in values)
    chosen: NDArray[Any] = values[users]
    return chosen
