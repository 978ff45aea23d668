r"""The exact laws of support mechanisms in balls.

:math:`R(x)(y)=w(y)E^{[x\in S(y)]}`, see :mod:`shuffledp.mechanisms.support.support`. For each
mechanism a table says how much w-mass supports exactly a given m of t named inputs, and how much
supports all inputs; these are the formulas of the papers, written again, not the doubles of the
mechanism.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import product

from flint import arb

from shuffledp.basics.balls import ball, precision
from shuffledp.decomposition.decomposition import Component, Decomposition
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    Input,
    LocalHash,
    LocalRandomizer,
    Pair,
    SubsetSelection,
    UnaryEncoding,
)


class _Support(ABC):
    """Masses of support patterns, the level log E, and by how much what is run may differ."""

    level: arb
    inputs: int | None
    error: float = 0.0

    @abstractmethod
    def mass(self, supported: int, named: int) -> arb:
        """Return the w-mass of outputs that support exactly a given few of the named inputs."""

    def everybody(self) -> arb:
        """Return the w-mass of outputs that support every input."""
        return arb(0)

    def some(self, named: int) -> arb:
        """Return the w-mass of outputs that support the named inputs but not every input."""
        if named == self.inputs:
            return arb(0)
        return self.mass(named, named) - self.everybody()

    def patterns(self, named: tuple[int, ...]) -> dict[tuple[int, ...], arb]:
        """Return the w-mass of the outputs that support exactly some of the named inputs."""
        return {
            supports: self.mass(sum(supports), len(named))
            for supports in product((0, 1), repeat=len(named))
        }


class _RandomizedResponse(_Support):
    """Every output supports itself and has the mass 1/(E+k-1)."""

    def __init__(self, randomizer: KRR) -> None:
        self.level, self.inputs = ball(randomizer.epsilon0), randomizer.k
        self.outputs = randomizer.k

    def mass(self, supported: int, named: int) -> arb:
        count = (self.outputs - named, 1, 0, 0)[supported]
        return arb(count) / (self.level.exp() + (self.outputs - 1))


class _Hash(_Support):
    r""":math:`\frac{g}{E+g-1}g^{-m}(1-1/g)^{t-m}`; constant functions support everybody.

    Large domains are hashed by random polynomials of degree 2 over a field of p elements. Their
    values at three inputs are uniform up to a factor of :math:`1+3(g/p)^2+(g/p)^3`, and another
    share of them is constant; mechanisms run where both change a mass by less than
    :math:`2^{-48}` of itself.
    """

    error = 2.0**-48

    def __init__(self, randomizer: BinaryLocalHash | LocalHash) -> None:
        self.level, self.inputs = ball(randomizer.epsilon0), randomizer.domain_size
        self.buckets = randomizer.hash_buckets

    def mass(self, supported: int, named: int) -> arb:
        g = self.buckets
        hit = Fraction(1, g) ** supported * Fraction(g - 1, g) ** (named - supported)
        return ball(hit) * g / (self.level.exp() + (g - 1))

    def everybody(self) -> arb:
        if self.inputs is None:
            return arb(0)
        return arb(self.buckets) ** (1 - self.inputs) / (self.level.exp() + (self.buckets - 1))


class _Unary(_Support):
    r""":math:`\frac{1-a}{1-b}b^m(1-b)^{t-m}`; the report of all ones supports everybody."""

    one: arb  # the probability b of a one where the value is not
    low: arb  # (1-a)/(1-b)

    def mass(self, supported: int, named: int) -> arb:
        return self.low * self.one**supported * (1 - self.one) ** (named - supported)

    def everybody(self) -> arb:
        return arb(0) if self.inputs is None else self.low * self.one**self.inputs


class _Rappor(_Unary):
    r""":math:`b=1-a=1/(e^{\varepsilon_0/2}+1)`."""

    def __init__(self, randomizer: RAPPOR) -> None:
        self.level, self.inputs = ball(randomizer.epsilon0), randomizer.domain_size
        self.low = (-self.level / 2).exp()
        self.one = self.low / (1 + self.low)


class _Optimized(_Unary):
    r""":math:`a=1/2` and :math:`b=1/(E+1)`."""

    def __init__(self, randomizer: OUE) -> None:
        self.level, self.inputs = ball(randomizer.epsilon0), randomizer.domain_size
        odds = (-self.level).exp()
        self.one, self.low = odds / (1 + odds), (1 + odds) / 2


class _AnyUnary(_Unary):
    """The larger of the two probabilities is that of the value's own bit, after a flip of bits."""

    def __init__(self, randomizer: UnaryEncoding) -> None:
        self.inputs = randomizer.domain_size
        p, q = ball(randomizer.p), ball(randomizer.q)
        if randomizer.p < randomizer.q:
            p, q = 1 - p, 1 - q
        self.one, self.low = q, (1 - p) / (1 - q)
        self.level = (p / q / self.low).log()


class _Hadamard(_Support):
    r""":math:`2^{1-t}/(E+1)`; the output 0 supports everybody."""

    def __init__(self, randomizer: HadamardResponse) -> None:
        self.level, self.inputs = ball(randomizer.epsilon0), randomizer.domain_size
        self.outputs = None if self.inputs is None else 1 << self.inputs.bit_length()

    def mass(self, supported: int, named: int) -> arb:
        return ball(Fraction(2, 2**named)) / (self.level.exp() + 1)

    def everybody(self) -> arb:
        share = Fraction(0) if self.outputs is None else Fraction(2, self.outputs)
        return ball(share) / (self.level.exp() + 1)

    def some(self, named: int) -> arb:
        share = Fraction(2, 2**named)
        if self.outputs is not None:
            share -= Fraction(2, self.outputs)
        return ball(share) / (self.level.exp() + 1)

    def patterns(self, named: tuple[int, ...]) -> dict[tuple[int, ...], arb]:
        """Return masses of patterns; a third codeword may be the sum of two others."""
        found = super().patterns(named)
        words = [x + 1 for x in named]
        if len(words) == 3 and words[0] ^ words[1] == words[2]:
            # An output supports the sum iff it supports both or none: an odd number in all.
            return {supports: 2 * mass * (sum(supports) % 2) for supports, mass in found.items()}
        return found


class _Subset(_Support):
    r""":math:`\binom{D-t}{\omega-m}` over :math:`\binom{D-1}{\omega-1}E+\binom{D-1}\omega`."""

    def __init__(self, randomizer: SubsetSelection) -> None:
        self.level, self.inputs = ball(randomizer.epsilon0), randomizer.domain_size
        self.domain, self.size = randomizer.domain_size, randomizer.subset_size

    def mass(self, supported: int, named: int) -> arb:
        rest = self.domain - self.size
        share = Fraction(1)
        for i in range(supported):
            share *= Fraction(self.size - i, self.domain - i)
        for i in range(named - supported):
            share *= Fraction(max(rest - i, 0), max(self.domain - supported - i, 1))
        odds = self.level.exp() * self.size / self.domain + ball(Fraction(rest, self.domain))
        return ball(max(share, Fraction(0))) / odds


#: The masses of every support mechanism.
SUPPORT_LAWS: Mapping[type[LocalRandomizer], Callable[..., _Support]] = {
    KRR: _RandomizedResponse,
    BinaryLocalHash: _Hash,
    LocalHash: _Hash,
    RAPPOR: _Rappor,
    OUE: _Optimized,
    UnaryEncoding: _AnyUnary,
    HadamardResponse: _Hadamard,
    SubsetSelection: _Subset,
}


def support_blanket(randomizer: LocalRandomizer, pair: Pair) -> Decomposition:
    r"""Return the five-point decomposition.

    c-mass p at :math:`(E,1)` and :math:`(1,E)`, q at :math:`(E,E)`, r at (1,1), with
    :math:`p=W_2[1]`, :math:`q=W_2[2]-W_{all}`, :math:`r=W_2[0]+E\,W_{all}` and residual
    :math:`(E-1)(W_1[1]-W_{all})`; for equal inputs only the masses at :math:`(E,E)` and (1,1).
    """
    with precision():
        table = SUPPORT_LAWS[type(randomizer)](randomizer)
        level, one = table.level, arb(0)
        residual = level.expm1() * table.some(1)
        named = 2 if pair.changes else 1
        none = table.mass(0, named) + level.exp() * table.everybody()
        components = [Component(level, level, table.some(named)), Component(one, one, none)]
        if pair.changes:
            mixed = table.mass(1, 2)
            components += [Component(level, one, mixed), Component(one, level, mixed)]
        return _as_run(table, components, residual)


def support_background(randomizer: LocalRandomizer, pair: Pair, other: Input) -> Decomposition:
    """Return the decomposition with c = R(other): outputs by which inputs they support."""
    with precision():
        table = SUPPORT_LAWS[type(randomizer)](randomizer)
        named = tuple(dict.fromkeys((pair.first, pair.second, other)))
        first, second, holder = (named.index(x) for x in (pair.first, pair.second, other))
        logs = {-1: -table.level, 0: arb(0), 1: table.level}
        components = []
        for supports, mass in table.patterns(tuple(_number(x) for x in named)).items():
            held = supports[holder]
            weight = mass * (table.level.exp() if held else 1)
            log0, log1 = (logs[supports[x] - held] for x in (first, second))
            components.append(Component(log0, log1, weight))
        return _as_run(table, components, arb(0))


def _as_run(table: _Support, components: Iterable[Component], residual: arb) -> Decomposition:
    """Return the decomposition whose balls hold all masses that the mechanism may have."""
    factor = arb(1, table.error)
    widened = (c._replace(weight=c.weight * factor) for c in components)
    return Decomposition(tuple(widened), residual * factor).merged()


def _number(x: Input) -> int:
    if not isinstance(x, int):
        raise TypeError(f"inputs of a support mechanism are integers, got {x!r}")
    return x
