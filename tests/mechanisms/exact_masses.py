"""Masses of support mechanisms from their definitions in 500 digits, and the comparison.

Nothing here uses the closed forms of the package. 500 digits are more than fifty after every
cancellation, also for probabilities near the smallest double.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from enumeration import backgrounds, encloses, precision

from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import LocalRandomizer, Pair

mp = precision(500)

Number = mp.mpf


@dataclass(frozen=True)
class Exact:
    """p, q, r of the blanket, and the mass per pattern over three inputs by its number of ones.

    The masses over three inputs are those under the common factor of the law, which an input in
    the support multiplies by E.
    """

    level: Number
    p: Number
    q: Number
    r: Number
    patterns: tuple[Number, ...]

    def blanket(self) -> dict[tuple[int, int], Number]:
        return {(1, 0): self.p, (0, 1): self.p, (1, 1): self.q, (0, 0): self.r}

    def unchanged(self) -> dict[tuple[int, int], Number]:
        """The blanket of a pair of equal inputs: outputs that support the input, and others."""
        return {(1, 1): self.p + self.q, (0, 0): self.p + self.r}

    def residual(self) -> Number:
        return 1 - 2 * self.p - self.q - self.r

    def held_by_pair(self, holder: int) -> dict[tuple[int, int], Number]:
        """The others hold an input of the pair: only outputs that tell the two apart matter."""
        big = mp.exp(self.level)
        mine, theirs = ((0, -1), (0, 1)) if holder == 0 else ((-1, 0), (1, 0))
        return {mine: big * self.p, theirs: self.p, (0, 0): big * self.q + self.r}

    def held_by_third(self) -> dict[tuple[int, int], Number]:
        """The others hold an input that is independent of the pair."""
        found: dict[tuple[int, int], Number] = {}
        for first, second, third in product((0, 1), repeat=3):
            key = first - third, second - third
            mass = self.patterns[first + second + third] * mp.exp(self.level * third)
            found[key] = found.get(key, 0) + mass
        return found


def exact_krr(k: int, level: float) -> Exact:
    one = 1 / (mp.exp(level) + k - 1)
    return Exact(mp.mpf(level), one, mp.mpf(0), (k - 2) * one, ((k - 3) * one, one, 0, 0))


def exact_hash(g: int, d: int | None, level: float) -> Exact:
    big = mp.exp(level)
    unit, g = 1 / (big + g - 1), mp.mpf(g)
    constants = 0 if d is None else g ** (1 - d)
    return Exact(
        mp.mpf(level),
        unit * (g - 1) / g,
        unit * (1 / g - constants),
        unit * ((g - 1) ** 2 / g + big * constants),
        tuple(g * unit * g**-m * (1 - 1 / g) ** (3 - m) for m in range(4)),
    )


def exact_unary(a: Number, b: Number, d: int | None, level: float | None = None) -> Exact:
    """The bit that tells the input is 1 with probability a, else with probability b < a."""
    if a < b:
        a, b = 1 - a, 1 - b
    power = mp.mpf(0) if d is None else b ** (d - 1)
    low = (1 - a) / (1 - b)
    return Exact(
        mp.log(a * (1 - b) / (b * (1 - a))) if level is None else mp.mpf(level),
        b * (1 - a),
        low * b * (b - power),
        (1 - a) * (1 - b) + a * power,
        tuple(low * b**m * (1 - b) ** (3 - m) for m in range(4)),
    )


def exact_rappor(d: int | None, level: float) -> Exact:
    h = mp.exp(mp.mpf(level) / 2)
    return exact_unary(h / (h + 1), 1 / (h + 1), d, level)


def exact_oue(d: int | None, level: float) -> Exact:
    return exact_unary(mp.mpf(1) / 2, 1 / (mp.exp(level) + 1), d, level)


def exact_hadamard(d: int | None, level: float) -> Exact:
    big = mp.exp(level)
    unit = 1 / (big + 1)
    share = 0 if d is None else mp.mpf(2) / (1 << d.bit_length())
    half = unit / 2
    return Exact(
        mp.mpf(level), half, half - share * unit, half + big * share * unit, (unit / 4,) * 4
    )


def exact_subset(d: int, size: int, level: float) -> Exact:
    """A subset that holds the input is E times as likely as one that does not."""
    total = size * mp.exp(level) + d - size  # in units of the weight of a subset over d

    def falling(x: int, steps: int) -> int:
        return math.prod(max(x - i, 0) for i in range(steps))

    def share(members: int, named: int) -> Number:
        """The part of all subsets that hold exactly given members among the named values."""
        if named > d:
            return mp.mpf(0)
        hits = falling(size, members) * falling(d - size, named - members)
        return mp.mpf(hits) / falling(d, named) * d / total

    return Exact(
        mp.mpf(level),
        share(1, 2),
        share(2, 2),
        share(0, 2),
        tuple(share(m, 3) for m in range(4)),
    )


def assert_accurate(
    decomposition: Decomposition, level: Number, expected: dict[tuple[int, int], Number]
) -> None:
    """Every component has the mass and the ratios of ``expected``, within its balls."""
    expected = {key: mass for key, mass in expected.items() if mass != 0}
    assert decomposition.size == len(expected)
    found = set()
    for log0, log1, weight in decomposition.components:
        key = tuple((log > 0) - (log < 0) for log in (log0, log1))
        found.add(key)
        assert encloses(log0, key[0] * level)
        assert encloses(log1, key[1] * level)
        assert encloses(weight, expected[key]), key
    assert found == set(expected)


def assert_randomizer_accurate(randomizer: LocalRandomizer, exact: Exact) -> None:
    pair = randomizer.neighbours()[0]
    blanket = randomizer.decomposition(pair)
    assert_accurate(blanket, exact.level, exact.blanket())
    assert encloses(blanket.residual, exact.residual())
    same = randomizer.decomposition(Pair(0, 0))
    assert_accurate(same, exact.level, exact.unchanged())
    assert encloses(same.residual, exact.residual())
    first, second, *third = backgrounds(randomizer, pair)
    assert_accurate(first, exact.level, exact.held_by_pair(0))
    assert_accurate(second, exact.level, exact.held_by_pair(1))
    if third:
        assert_accurate(third[-1], exact.level, exact.held_by_third())
