r"""Support mechanisms: k-RR, subset selection, local hashing, unary encodings, Hadamard response.

Each output y supports a set S(y) of inputs, and

.. math:: R(x)(y) = w(y)\,(e^{\varepsilon_0}\ \text{if}\ x\in S(y)\ \text{else}\ 1).

Everything follows from one function: the w-mass of outputs that support exactly a given m of t
named inputs, plus the mass of outputs that support everybody. Masses are balls, proved enclosures
of the exact numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Context, Decimal
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.basics.errors import check_epsilon0, check_size
from shuffledp.decomposition import Component, Decomposition
from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.domain import Domain, Integers
from shuffledp.mechanisms.finite.masses import DIGITS, working_digits
from shuffledp.mechanisms.input_types import InputTypes, NamedTypes
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.sampling.checks import check_integers

#: Domains up to this size are counted value by value.
_MAX_LISTED = 1 << 24

#: The largest value of a domain without a size.
_MAX_VALUE = (1 << 61) - 2

#: A difference of masses keeps at least so many binary digits, or is exactly 0.
_KEPT_BITS = 100

_DIGITS = Context(prec=200)  # e^300 has 131 digits before the point


class SupportRandomizer(LocalRandomizer):
    """A mechanism given by support sets; all its ordered pairs of inputs look alike."""

    estimates: ClassVar[Literal["frequencies", "mean"] | None] = "frequencies"

    def __post_init__(self) -> None:
        """Check the parameters that most of these mechanisms have."""
        for parameter in fields(self):  # type: ignore[arg-type]
            if (check := _CHECKS.get(parameter.name)) is not None:
                object.__setattr__(self, parameter.name, check(getattr(self, parameter.name)))

    @property
    @abstractmethod
    def inputs(self) -> int | None:
        """Size of the input domain; None for the limit of an ever larger domain."""

    @property
    def input_domain(self) -> Domain:
        """The integers below ``inputs``."""
        return Integers(self.inputs)

    @abstractmethod
    def support_mass(self, supported: int, named: int) -> arb:
        """Return the w-mass of outputs that support exactly a given few of the named inputs.

        It is computed from ``ratio`` and whole numbers with :attr:`digits` digits. A double on the
        way counts as the exact number that it is: nobody accounts for its own rounding.
        """

    @property
    @abstractmethod
    def full_support_mass(self) -> arb:
        """The w-mass of outputs that support every input."""

    @property
    def ratio(self) -> arb:
        """E = e^epsilon0: how much likelier an output is for the inputs it supports."""
        return self.log_ratio.exp()

    @property
    def log_ratio(self) -> arb:
        """The exact logarithm of ``ratio``, which ``epsilon0`` rounds up."""
        return arb(self.epsilon0)

    @property
    def digits(self) -> int:
        """With how many digits masses are computed; thirty must survive every difference."""
        return DIGITS

    @property
    def law_error(self) -> float:
        """Relative difference between these masses and those of reports as they are sampled."""
        return 0.0

    @property
    def has_worst_pair(self) -> bool:
        """True: all pairs look alike, and equal inputs reveal less."""
        return True

    def is_worst(self, pair: Pair) -> bool:
        """Whether the inputs differ: outputs do not distinguish inputs but by support."""
        domain = self.input_domain
        return pair.changes and pair.first in domain and pair.second in domain

    @property
    def support_probabilities(self) -> tuple[float, float]:
        r"""The probabilities that a report supports its own input, and any other given input.

        :math:`p^*=E\,W_1[1]` and :math:`q^*=E\,W_2[2]+W_2[1]`.
        """
        with working_digits(self.digits):
            own = self.ratio * self.support_mass(1, 1)
            other = self.ratio * self.support_mass(2, 2) + self.support_mass(1, 2)
        return float(own), float(other)

    @property
    def support_advantage(self) -> float:
        r""":math:`p^*-q^*=(E-1)\,W_2[1]`."""
        with working_digits(self.digits):
            return float((self.ratio - 1) * self.support_mass(1, 2))

    def check_values(self, values: object) -> IntArray:
        """Return integers of the domain."""
        return check_integers("values", values, self.known_inputs() - 1)

    def known_inputs(self) -> int:
        """Return the size of the domain, without which most mechanisms cannot run.

        Raises:
            ValueError: if the mechanism stands for all sizes.
        """
        if self.inputs is None:
            raise ValueError(f"{self} stands for every domain; give its domain_size to run it")
        return self.inputs

    def support_counts(
        self, reports: NDArray[Any], candidates: ArrayLike | None = None
    ) -> IntArray:
        """Return for each candidate how many reports support it.

        Args:
            reports: what :meth:`randomize` returned.
            candidates: the values to count; None for all values of the domain.

        >>> from shuffledp import KRR
        >>> KRR(k=3, epsilon0=1.0).support_counts(np.array([0, 2, 2], dtype=np.uint8)).tolist()
        [1, 0, 2]

        Raises:
            TypeError: if the reports are of another type.
            ValueError: if a report cannot be one of this mechanism, or if the domain is unknown or
                too large to list and no candidates are given.
        """
        checked = self.check_reports(reports)
        if candidates is not None:
            return self.count_support(checked, self.check_candidates(candidates))
        if self.inputs is None or self.inputs > _MAX_LISTED:
            missing = "domain_size or candidates" if self.inputs is None else "candidates"
            raise ValueError(
                f"{self} needs {missing} to count support: all values of a domain are listed only "
                f"up to {_MAX_LISTED}"
            )
        return self.count_support(checked, None)

    def check_candidates(self, candidates: ArrayLike) -> IntArray:
        """Return candidates that are values of the domain."""
        largest = _MAX_VALUE if self.inputs is None else self.inputs - 1
        return check_integers("candidates", candidates, largest)

    def count_support(self, reports: NDArray[Any], candidates: IntArray | None) -> IntArray:
        """Count the support among reports of the right type."""
        values = range(self.known_inputs()) if candidates is None else candidates.tolist()
        return np.array([np.count_nonzero(self.supports(reports, x)) for x in values])

    def supports(self, reports: NDArray[Any], value: int) -> NDArray[np.bool_]:
        """Return which reports support a value."""
        raise TypeError(f"{self} cannot run")

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return epsilon0 for each report that supports the value, else 0."""
        if not isinstance(value, int):
            raise TypeError(f"value must be an integer, got {value!r}")
        return np.where(self.supports(reports, value), self.epsilon0, 0.0)

    def neighbours(self) -> Sequence[Pair]:
        """Return one pair: the law of the ratios is the same for all ordered pairs."""
        return (Pair(0, 1),)

    def unchanged(self) -> Sequence[Pair]:
        """Return one pair: the law of the ratio is the same for all inputs."""
        return (Pair(0, 0),)

    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return the five-point decomposition, or that of the outputs' support of three inputs."""
        with working_digits(self.digits):
            if other is None:
                return self.decompose(*self._blanket(pair))
            return self.decompose(self._background(pair, other), arb(0))

    def _blanket(self, pair: Pair) -> tuple[dict[tuple[int, int], arb], arb]:
        r"""Return the c-masses of the five-point decomposition, and its residual.

        c-mass p at :math:`(E,1)` and :math:`(1,E)`, q at :math:`(E,E)`, r at (1,1), with
        :math:`p=W_2[1]`, :math:`q=W_2[2]-W_{all}`, :math:`r=W_2[0]+E\,W_{all}` and residual
        :math:`(E-1)(W_1[1]-W_{all})`. If the two inputs are equal, only the masses at
        :math:`(E,E)` and (1,1) are left.
        """
        own, full = self.partial_support_mass(1), self.ratio * self.full_support_mass
        residual = (self.ratio - 1) * own
        if not pair.changes:
            return {(1, 1): own, (0, 0): self._mass(0, 1) + full}, residual
        one = self._mass(1, 2)
        masses = {
            (1, 0): one,
            (0, 1): one,
            (1, 1): self.partial_support_mass(2),
            (0, 0): self._mass(0, 2) + full,
        }
        return masses, residual

    def _mass(self, supported: int, named: int) -> arb:
        """Return ``support_mass``; refuse doubles."""
        mass = self.support_mass(supported, named)
        if not isinstance(mass, arb):
            raise TypeError(
                f"support_mass of {self} must be computed with balls such as ratio, got "
                f"the {type(mass).__name__} {mass!r}"
            )
        return mass

    def partial_support_mass(self, named: int) -> arb:
        """Return W_t[t] - W_all: outputs that support the named inputs but not all inputs."""
        mass, full = self._mass(named, named), self.full_support_mass
        if named == self.inputs or (mass.mid() == full.mid() and mass.rad() == full.rad()):
            return arb(0)
        partial = mass - full
        if not partial.is_zero() and not (
            partial > 0 and partial.rel_accuracy_bits() >= _KEPT_BITS
        ):
            raise ValueError(
                f"{self} needs more than {self.digits} digits to tell outputs that support "
                f"{named} inputs from those that support all; where these are the same outputs, "
                "support_mass and full_support_mass must be equal"
            )
        return partial

    def decompose(self, masses: Mapping[tuple[int, int], arb], residual: arb) -> Decomposition:
        """Return the decomposition with c-mass ``masses[i, j]`` at log ratios i and j epsilon0."""
        if not all(mass >= 0 for mass in (*masses.values(), residual)):
            raise ValueError(f"masses must be at least 0, got {masses} and the residual {residual}")
        logs = {-1: -self.log_ratio, 0: arb(0), 1: self.log_ratio}
        law = arb(1, self.law_error)
        components = tuple(
            Component(logs[i], logs[j], mass * law)
            for (i, j), mass in masses.items()
            if not mass.is_zero()
        )
        return Decomposition(components, residual * law)

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return the two inputs of the pair and a third one if there is one."""
        third = next(x for x in (0, 1, 2) if x not in (pair.first, pair.second))
        inputs = dict.fromkeys((pair.first, pair.second, third))
        return tuple(x for x in inputs if self.accepts(x))

    @property
    def triples_look_alike(self) -> bool:
        """Whether the masses of support patterns are the same for all triples of inputs.

        Then the swap bound needs three types of others: either input of the pair, and any third.
        """
        return False

    @property
    def covers_unchanged(self) -> bool:
        """Whether there is a third input and all look alike."""
        return self.triples_look_alike and (self.inputs is None or self.inputs > 2)

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep the inputs of the pair apart; all third ones are alike, if all triples are."""
        if not self.triples_look_alike:
            return None
        return NamedTypes({pair.first: "first", pair.second: "second"}, "third")

    def accepts(self, other: Input) -> bool:
        """Whether ``other`` is a number of the domain."""
        return isinstance(other, int) and 0 <= other < (
            math.inf if self.inputs is None else self.inputs
        )

    def _background(self, pair: Pair, other: Input) -> dict[tuple[int, int], arb]:
        named = tuple(dict.fromkeys((pair.first, pair.second, other)))
        first, second, holder = (named.index(x) for x in (pair.first, pair.second, other))
        masses: dict[tuple[int, int], arb] = {}
        for supports, mass in self._patterns(named).items():
            key = supports[first] - supports[holder], supports[second] - supports[holder]
            held = mass * self.ratio if supports[holder] else mass
            masses[key] = masses.get(key, arb(0)) + held
        return masses

    def support_law(self, named: tuple[Input, ...], held: Input | None) -> list[arb]:
        """Return the probabilities of the ways in which a report can support some named inputs.

        Args:
            named: the inputs.
            held: whose report it is; None for one from the law that all inputs have in common.
        """
        with working_digits(self.digits):
            masses = self._patterns(named)
            if held is None:  # whoever holds what, an output that supports all is that likely
                masses[(1,) * len(named)] += (self.ratio - 1) * self.full_support_mass
                whole = sum(masses.values(), arb(0))
                masses = {supports: mass / whole for supports, mass in masses.items()}
            else:
                place = named.index(held)
                masses = {
                    supports: mass * self.ratio if supports[place] else mass
                    for supports, mass in masses.items()
                }
            return [mass * arb(1, self.law_error) for mass in masses.values()]

    def _patterns(self, named: tuple[Input, ...]) -> dict[tuple[int, ...], arb]:
        """Return the w-mass of the outputs that support exactly some of the named inputs."""
        return {
            supports: self._mass(sum(supports), len(named))
            for supports in product((0, 1), repeat=len(named))
        }


class IndependentSupport(SupportRandomizer):
    """Values are supported independently of each other, such as bits or hash values.

    So any three inputs look alike, and the domain may be left out: the limit of an ever larger one.
    """

    domain_size: int | None

    @property
    def inputs(self) -> int | None:
        """The domain size."""
        return self.domain_size

    @property
    def triples_look_alike(self) -> bool:
        """True."""
        return True

    @property
    def full_support_mass(self) -> arb:
        """The mass of outputs that support every value: of bits that are all 1, of constants."""
        size = self.domain_size
        return arb(0) if size is None else self.support_mass(size, size)


def _check_domain_size(value: object) -> int | None:
    """Return a domain size, or None for the limit of an ever larger domain."""
    return None if value is None else check_size("domain_size", value)


_CHECKS: dict[str, Callable[[object], object]] = {
    "epsilon0": check_epsilon0,
    "domain_size": _check_domain_size,
}


@lru_cache(maxsize=64)
def nearest_to_exp(epsilon0: float) -> int:
    r"""Return the integer nearest to :math:`e^{\varepsilon_0}` (to 200 digits of it).

    Clients and server must choose the same number, so it may not hang on the last bit of an
    exponential, which differs from machine to machine.

    >>> nearest_to_exp(1.0), nearest_to_exp(2.0)
    (3, 7)
    """
    return round(_DIGITS.exp(Decimal(epsilon0)))


@lru_cache(maxsize=64)
def nearest_share(size: int, epsilon0: float) -> int:
    r"""Return the integer nearest to :math:`D/(e^{\varepsilon_0}+1)`.

    >>> nearest_share(10, 1.0)
    3
    """
    odds = _DIGITS.add(_DIGITS.exp(Decimal(epsilon0)), Decimal(1))
    return round(_DIGITS.divide(Decimal(size), odds))
