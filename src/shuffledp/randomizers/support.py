r"""Support mechanisms: k-RR, subset selection, local hashing, unary encodings, Hadamard response.

Each output y supports a set S(y) of inputs, and

.. math:: R(x)(y) = w(y)\,(e^{\varepsilon_0}\ \text{if}\ x\in S(y)\ \text{else}\ 1).

Everything follows from one function: the w-mass of outputs that support exactly a given m of t
named inputs, plus the mass of outputs that support everybody.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from shuffledp.decomposition import Decomposition
from shuffledp.decomposition.arithmetic import UNIT
from shuffledp.errors import check_size
from shuffledp.randomizers.base import Background, LocalRandomizer, Pair

#: Relative error of the masses: a handful of elementary operations.
_MASS_ERROR = 32 * UNIT

#: log(a/c), log(b/c) and c of one component.
_Component = tuple[float, float, float]


class SupportRandomizer(LocalRandomizer):
    """A mechanism given by support sets; all its ordered pairs of inputs look alike."""

    @property
    @abstractmethod
    def inputs(self) -> int | None:
        """Size of the input domain; None for the limit of an ever larger domain."""

    @abstractmethod
    def support_mass(self, supported: int, named: int) -> float:
        """Return the w-mass of outputs that support exactly a given few of the named inputs."""

    @property
    @abstractmethod
    def full_support_mass(self) -> float:
        """The w-mass of outputs that support every input."""

    @abstractmethod
    def partial_support_mass(self, named: int) -> float:
        """Return the w-mass of outputs that support the named inputs but not all inputs.

        This is W_t[t] - W_all, in a form that does not cancel.
        """

    @property
    def ratio(self) -> float:
        """E = e^epsilon0: how much likelier an output is for the inputs it supports."""
        return math.exp(self.epsilon0)

    @property
    def ratio_excess(self) -> float:
        """E - 1, without cancellation."""
        return math.expm1(self.epsilon0)

    @property
    def log_ratio_error(self) -> float:
        """Absolute rounding error of ``epsilon0``; 0 where it is a parameter."""
        return 0.0

    def neighbours(self) -> Sequence[Pair]:
        """Return one pair: the law of the ratios is the same for all ordered pairs."""
        return (Pair(0, 1),)

    def blanket(self, pair: Pair) -> Decomposition:
        r"""Return the five-point decomposition.

        c-mass p at :math:`(E,1)` and :math:`(1,E)`, q at :math:`(E,E)`, r at (1,1), with
        :math:`p=W_2[1]`, :math:`q=W_2[2]-W_{all}`, :math:`r=W_2[0]+E\,W_{all}` and residual
        :math:`(E-1)(W_1[1]-W_{all})`.
        """
        level = self.epsilon0
        one = self.support_mass(1, 2)
        both = self.partial_support_mass(2)
        none = self.support_mass(0, 2) + self.ratio * self.full_support_mass
        residual = self.ratio_excess * self.partial_support_mass(1)
        components = [(level, 0.0, one), (0.0, level, one), (level, level, both), (0.0, 0.0, none)]
        return self._decomposition(components, residual)

    def backgrounds(self, pair: Pair) -> Iterator[Background]:
        """Yield the others holding the first input, the second, and a third one if there is one."""
        names = f"{pair.first}", f"{pair.second}"
        yield Background(f"all others hold {names[0]}", self._background(2, holder=0))
        yield Background(f"all others hold {names[1]}", self._background(2, holder=1))
        if self.inputs is None or self.inputs > 2:
            yield Background("all others hold a third value", self._background(3, holder=2))

    def _background(self, named: int, holder: int) -> Decomposition:
        """Decompose with c = R(named input ``holder``)."""
        level = self.epsilon0
        components = [
            (
                level * (supports[0] - supports[holder]),
                level * (supports[1] - supports[holder]),
                self.support_mass(sum(supports), named) * (self.ratio if supports[holder] else 1.0),
            )
            for supports in product((0, 1), repeat=named)
        ]
        return self._decomposition(components, 0.0)

    def _decomposition(self, components: Sequence[_Component], residual: float) -> Decomposition:
        log0, log1, weight = np.array([c for c in components if c[2] > 0]).T
        error = self.log_ratio_error * ((log0 != 0) | (log1 != 0))
        return Decomposition(
            log0,
            log1,
            weight,
            residual,
            log_ratio_error=error,
            weight_error=np.array(_MASS_ERROR),
            residual_error=_MASS_ERROR,
        ).merge()


def check_domain_size(value: int | None, minimum: int = 2) -> int | None:
    """Return a domain size, or None for the limit of an ever larger domain."""
    return None if value is None else check_size("domain_size", value, minimum)
