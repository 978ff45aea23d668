r"""One message among fabricated ones that are drawn from one law, each by itself.

The analyst knows all other messages. Let N be the number of fabricated messages, each of law q, and
let the user's own message have law a or b. Given N = m - 1, the histogram of the m messages is that
of m places in random order, one of which is the user's, so that

.. math:: \delta=E\varphi(1+N),\qquad \varphi(m)=\tfrac1mE\Big[\Big(\sum_{i\le m}G_i\Big)_+\Big],
          \qquad G=\frac{a(Y)-e^\varepsilon b(Y)}{q(Y)},\quad Y\sim q,

exactly, besides what a and b have where q is 0. N is seen, and tells nothing.

**A number of places**, each filled with probability s: :math:`K=1+\mathrm{Bin}(t-1,s)` is the
size-biased :math:`\mathrm{Bin}(t,s)`, so with :math:`B_i=1` with probability s and else 0

.. math:: \delta=\frac1{ts}E\Big[\Big(\sum_{i\le t}B_iG_i\Big)_+\Big].

A fixed number is s = 1.

**A Poisson number** of mean m is, for every M, the sum of M Poisson variables of mean
:math:`\mu=m/M`, and :math:`\varphi` falls. Each variable is 0 with probability :math:`e^{-\mu}`, so
the number is stochastically larger than :math:`\mathrm{Bin}(M,1-e^{-\mu})`: an upper bound. All are
0 or 1 with probability :math:`((1+\mu)e^{-\mu})^M`, and then their sum is
:math:`\mathrm{Bin}(M,\mu/(1+\mu))`: a lower bound, once it is multiplied by that probability. For
large M the two meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from flint import arb

from shuffledp.basics.balls import (
    ball,
    lower_double,
    lower_log,
    positive_part,
    precision,
    total,
    upper_double,
    upper_log,
)
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.engine.mean import log_mean
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Law, Sum

#: Relative accuracy of delta.
_RTOL = 1e-4

#: How many places stand for a Poisson number, at least and at most; estimates are made in doubles,
#: which lose digits where there are more of them than the last.
_FEWEST, _MOST, _ROUGH = 1 << 24, 1 << 52, 1 << 44

#: About one over the relative difference of the bounds.
_CLOSE = 1 << 16


class Message(NamedTuple):
    """A message: its probability as the user's own, under either input, and as a fabricated one."""

    a: arb
    b: arb
    q: Fraction


class Places(NamedTuple):
    """So many places, the user's own included, each filled with a probability."""

    times: int
    share: arb

    @property
    def mean(self) -> arb:
        """The mean number of filled places."""
        return self.times * self.share


@dataclass(frozen=True)
class Number:
    """How many messages are fabricated: places that give an upper bound on delta, and a lower one.

    Attributes:
        upper: places for the upper bound.
        lower: places for the lower bound; the same if the number is exactly theirs.
        sure: what the lower bound is multiplied by.
    """

    upper: Places
    lower: Places
    sure: arb

    @classmethod
    def fixed(cls, number: int) -> Number:
        """Return a fixed number."""
        return cls.binomial(number, Fraction(1))

    @classmethod
    def binomial(cls, times: int, share: Fraction) -> Number:
        """Return the number of successes."""
        with precision():
            places = Places(times + 1, ball(share))
        return cls(places, places, arb(1))

    @classmethod
    def poisson(cls, mean: Fraction) -> Number:
        """Return a Poisson number.

        >>> bool(Number.poisson(Fraction(40)).sure > 0.9999)
        True
        """
        whole = math.ceil(mean)
        upper = min(max(whole * _CLOSE, _FEWEST), _ROUGH)
        lower = min(max(whole**2 * _CLOSE, _FEWEST), _MOST)
        with precision():
            part, own = ball(mean / lower), -(-ball(mean / upper)).expm1()
            sure = (lower * (part.log1p() - part)).exp()
            return cls(Places(upper + 1, own), Places(lower + 1, part / (1 + part)), sure)


class Slots(Curve):
    """The privacy of one message among fabricated ones; exact if all others are known.

    Args:
        messages: what the user may send; what else is fabricated tells nothing.
        number: how many are fabricated.
        where: what the curve belongs to.
    """

    def __init__(self, messages: Sequence[Message], number: Number, where: object = None) -> None:
        self.messages, self.number, self.where = tuple(messages), number, where
        self._found: dict[tuple[float, bool], Interval] = {}

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        if epsilon >= self.end.upper:
            return Proved(-math.inf, self.where, "exact")
        return Proved(self._log_delta(epsilon, True).upper, self.where, "exact")

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        if epsilon >= self.end.lower:
            return Proved(-math.inf, self.where, "exact")
        log = self._log_delta(epsilon, False).lower
        with precision():
            log = lower_log(_exp(log) * self.number.sure)
        return Proved(max(log, self.floor), self.where, "exact")

    def _log_delta(self, epsilon: float, above: bool) -> Interval:
        above = above or self.number.upper is self.number.lower
        if (epsilon, above) not in self._found:
            places = self.number.upper if above else self.number.lower
            log = log_mean(self._sum(epsilon, places), _RTOL)
            with precision():
                cost = arb(epsilon).exp()
                alone = total(positive_part(m.a - cost * m.b) for m in self.messages if not m.q)
                lower, upper = (_exp(x) / places.mean + alone for x in (log.lower, log.upper))
                self._found[epsilon, above] = Interval(lower_log(lower), upper_log(upper))
        return self._found[epsilon, above]

    def _sum(self, epsilon: float, places: Places) -> Sum:
        with precision():
            cost, share = arb(epsilon).exp(), places.share
            seen = [(m.a - cost * m.b, ball(m.q)) for m in self.messages if m.q]
            silent = 1 - share + share * ball(1 - sum((m.q for m in self.messages), Fraction(0)))
            return Sum.of(
                Law.of([*((gain / q, share * q) for gain, q in seen), (arb(0), silent)]),
                places.times,
            )

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        if epsilon >= self.end.upper:
            return -math.inf
        if not all(m.q for m in self.messages):
            return self.above(epsilon).log
        places = self.number.upper
        return Doubles.of(self._sum(epsilon, places)).log_measured - math.log(float(places.mean))

    @cached_property
    def end(self) -> Interval:
        """Where the last message is as likely under b as under a."""
        with precision():
            ratios = [m.a / m.b for m in self.messages if m.a > 0 and m.b > 0]
            if any(m.a > 0 and m.b.is_zero() for m in self.messages):
                return Interval(math.inf, math.inf)
            logs = [ratio.log() for ratio in ratios]
            return Interval(max(0.0, *map(lower_double, logs)), max(0.0, *map(upper_double, logs)))

    @cached_property
    def floor(self) -> float:
        """The probability of a message that b never sends, among none that it may send."""
        with precision():
            never = total(m.a for m in self.messages if m.b.is_zero())
            seen = ball(sum((m.q for m in self.messages if not m.b.is_zero()), Fraction(0)))
            places = self.number.lower
            none = (1 - places.share * seen) ** (places.times - 1)
            return lower_log(never * none * self.number.sure)

    def __str__(self) -> str:
        """Name it."""
        return f"fabricated messages({self.where})"


def _exp(log: float) -> arb:
    return arb(log).exp() if log > -math.inf else arb(0)
