r"""What two independent counts of bits reveal about one user's value, in balls.

As in :mod:`shuffledp.divergence.two_counts`: with W the sums of the other users' bits at the values
u and v, and one more bit of the user,

.. math:: \delta=\sum_{c,c'}\big(P_u(c)B_v(c')-e^\varepsilon B_u(c)P_v(c')\big)_+ .

The law w of W is log-concave, and so it is if rare counts at its ends are left out; hence P/B grows
with the count, and for each c the c' that count are those below a threshold. Its place is proved by
the signs at the two counts next to it. Counts that are left out may add their probability to
delta, and take :math:`e^\varepsilon` times it from what is attained.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from flint import arb, arb_mat, arb_poly

from shuffledp.basics.balls import short, total
from shuffledp.engine.enclosure import PrecisionError

_MAX_UNDECIDED = 8  # ratios that cannot be told from one; ties are fine


@dataclass(frozen=True)
class Bit:
    """The probabilities of 1 and 0."""

    one: arb
    zero: arb

    @property
    def polynomial(self) -> arb_poly:
        """The generating function."""
        return arb_poly([self.zero, self.one])


@dataclass(frozen=True)
class CountLaw:
    """Probabilities of consecutive counts, of which the smallest does not matter.

    Attributes:
        masses: the generating function.
        lost: a bound on the probability of all other counts.
    """

    masses: arb_poly
    lost: arb


@dataclass(frozen=True)
class Bounds:
    """Delta from below and from above, exact numbers, and how many counts were looked at."""

    lower: arb
    upper: arb
    counts: int


def count_law(parts: Iterable[tuple[int, Bit]], depth: float) -> CountLaw:
    """Return the law of the sum of so many bits each, without counts rarer than e^(-depth).

    >>> law = count_law([(2, Bit(arb(0.5), arb(0.5))), (1, Bit(arb(0.25), arb(0.75)))], 90.0)
    >>> [round(float(mass), 6) for mass in law.masses.coeffs()]
    [0.1875, 0.4375, 0.3125, 0.0625]
    """
    law = CountLaw(arb_poly([1]), arb(0))
    for number, bit in parts:
        if number > 0:
            more = _binomial(number, bit, depth)
            law = _trimmed(CountLaw(law.masses * more.masses, law.lost + more.lost), depth)
    return law


def _binomial(number: int, bit: Bit, depth: float) -> CountLaw:
    """Multiply ratios of neighbours, away from the mode."""
    one = float(bit.one.mid())
    mode = min(number, math.floor(short((number + 1) * one, 40)))
    # Beyond the normal range tails are lighter than exponential ones.
    reach = math.ceil(short(math.sqrt(2.2 * depth * (number * one * (1 - one) + 1)) + 1.5 * depth))
    low, high = max(mode - reach, 0), min(mode + reach, number)
    choices = [arb(count + 1).lgamma() for count in (number, mode, number - mode)]
    log_mass = choices[0] - choices[1] - choices[2]
    log_mass += mode * bit.one.log() + (number - mode) * bit.zero.log()
    odds = bit.one / bit.zero
    rises, falls = [log_mass.exp()], [log_mass.exp()]
    for k in range(mode, high):
        rises.append(rises[-1] * odds * (number - k) / (k + 1))
    for k in range(mode, low, -1):
        falls.append(falls[-1] * k / (odds * (number - k + 1)))
    # Ratios fall away from the mode, so what is cut off is less than a geometric series.
    lost = arb(0)
    if high < number:
        lost += _series(rises[-1], odds * (number - high) / (high + 1))
    if low > 0:
        lost += _series(falls[-1], low / (odds * (number - low + 1)))
    return CountLaw(arb_poly([*falls[:0:-1], *rises]), lost)


def _series(first: arb, ratio: arb) -> arb:
    """Bound the sum of a geometric series without its first term."""
    if not ratio < 1:
        raise PrecisionError("counts are cut off before their probabilities fall")
    return (first * ratio / (1 - ratio)).upper()


def _trimmed(law: CountLaw, depth: float) -> CountLaw:
    """Leave out rare counts at both ends."""
    masses = law.masses.coeffs()
    first, last, least = 0, len(masses), (-arb(depth)).exp()
    while last - first > 1 and masses[first] < least:
        first += 1
    while last - first > 1 and masses[last - 1] < least:
        last -= 1
    lost = total(masses[:first]) + total(masses[last:])
    return CountLaw(arb_poly(masses[first:last]), (law.lost + lost).upper())


def counts_delta(u: CountLaw, v: CountLaw, own: Bit, other: Bit, growth: arb) -> Bounds:
    """Enclose delta, given the laws of what the other users add to the two counts.

    >>> nobody = count_law([], 90.0)
    >>> own, other = Bit(arb(0.75), arb(0.25)), Bit(arb(0.25), arb(0.75))
    >>> alone = counts_delta(nobody, nobody, own, other, arb(1))
    >>> alone.lower <= 0.5 <= alone.upper
    True

    Raises:
        PrecisionError: if more bits are needed.
    """
    held_u, free_u, held_v, free_v = (
        (law.masses * bit.polynomial).coeffs() for law in (u, v) for bit in (own, other)
    )
    wanted = [held / (free * growth) for held, free in zip(held_u, free_u, strict=True)]
    ratios = [held / free for held, free in zip(held_v, free_v, strict=True)]
    below_held = list(accumulate(held_v, initial=arb(0)))
    below_free = list(accumulate(free_v, initial=arb(0)))
    ends, unsure = _ends(wanted, ratios)
    gain = _dot(held_u, [below_free[end] for end in ends])
    cost = growth * _dot(free_u, [below_held[end] for end in ends])
    value, lost = gain - cost, u.lost + v.lost
    # A pair of counts on the wrong side adds to delta what it takes from the value.
    wrong = total(
        abs(held_u[c] * free_v[k] - growth * free_u[c] * held_v[k]).upper() for c, k in unsure
    )
    counts = len(held_u) + len(held_v)
    return Bounds((value - growth * lost).lower(), (value + wrong + lost).upper(), counts)


def _ends(wanted: Sequence[arb], ratios: Sequence[arb]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return how many of the growing ratios are below each wanted one, and the unsure pairs.

    From the end on, ratios are proved not to be below; before it, they are but for unsure ones.
    """
    ends, unsure, end = [], [], 0
    for c, level in enumerate(wanted):
        while end < len(ratios) and not ratios[end] >= level:
            end += 1
        ends.append(end)
        k = end - 1
        while k >= 0 and not ratios[k] <= level:
            unsure.append((c, k))
            k -= 1
        if end - 1 - k > _MAX_UNDECIDED:
            raise PrecisionError("ratios of counts cannot be compared")
    return ends, unsure


def _dot(first: list[arb], second: list[arb]) -> arb:
    return (arb_mat(1, len(first), first) * arb_mat(len(second), 1, second))[0, 0]
