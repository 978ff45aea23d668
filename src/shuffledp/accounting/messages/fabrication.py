"""Reports that are shuffled with fabricated messages: what the histogram of all reveals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from flint import arb

from shuffledp.accounting.crowd import crowd_of
from shuffledp.accounting.messages.counts_setting import Change, CountsSetting, check_change
from shuffledp.basics.balls import precision
from shuffledp.basics.errors import check_integer, check_rtol, check_users
from shuffledp.bounds.counts.copies import Copies
from shuffledp.bounds.counts.message_slots import Message, Number, Slots
from shuffledp.bounds.counts.shifted import OneCount, TwoCounts
from shuffledp.bounds.curve import Curve, OnlyAbove, largest
from shuffledp.bounds.tiers.pool import Pool
from shuffledp.mechanisms import KRR, Pair
from shuffledp.mechanisms.messages.count_noise import PoissonNoise
from shuffledp.mechanisms.messages.fabricated import (
    Fabricated,
    FixedNumber,
    Identity,
    PerDevice,
    PoissonPerValue,
    Reports,
    as_reports,
)

#: Up to this mean a Poisson number is summed over, which is quicker; beyond, the cost is flat.
_SUMMED = 10_000

#: A larger mean hides more than this one, whose law still fits a table.
_MOST = 10_000_000


class FabricatedMessages(CountsSetting):
    """Certified privacy of reports that are shuffled together with fabricated messages.

    The analyst sees the multiset of all messages; for clear values that is their histogram, and the
    sum of one-hot vectors is the same. **The local level of clear values is infinite**: a guarantee
    is about the shuffled messages and nothing else.

    Corrupted users fabricate nothing, and the analyst knows what they send. With clear values the
    answer is exact: the analyst is assumed to know all other values, and needs no more than that.

    Args:
        reports: what users send of their own: clear values, ``identity(k=10)``, or noisy ones,
            ``krr(k=10, epsilon0=2)``; an object or its text.
        n: number of devices, 1 to 2**53: those that report, or the reporting threshold.
        fabricated: :class:`FixedNumber`, :class:`PerDevice` or :class:`PoissonPerValue`.
        corrupted: how many devices the analyst controls, a number or a share of n.
        relation: "replace" one user's values, or "add or remove" them, while the device fabricates
            its messages all the same.
        values: how many different values a user sends, each as one message.
        rtol: relative width of epsilon to aim for.

    >>> from shuffledp.mechanisms.messages.fabricated import FixedNumber, PoissonPerValue
    >>> fake = FabricatedMessages("identity(k=50)", 1000, FixedNumber(2128))
    >>> fake.meets(1.0, 1e-6)
    True
    >>> cobalt = FabricatedMessages("identity(k=50)", 1000, PoissonPerValue(0.0427))
    >>> round(cobalt.get_epsilon(1e-6), 3)
    0.999
    """

    def __init__(
        self,
        reports: Reports | str,
        n: int,
        fabricated: Fabricated,
        *,
        corrupted: float | Fraction = 0,
        relation: Change = "replace",
        values: int = 1,
        rtol: float = 1e-4,
    ) -> None:
        self.reports = as_reports(reports)
        self.n = check_users(n)
        if not isinstance(fabricated, Fabricated):
            raise TypeError(f"fabricated must be what is fabricated, got {fabricated!r}")
        self.fabricated = fabricated
        self.crowd = crowd_of(self.n, corrupted)
        self.relation: Change = check_change(relation)
        self.values = check_integer("values", values, 1, 10_000)
        self.rtol = check_rtol(rtol)
        fabricated.shares(self.k)
        if self.values > self.k:
            raise ValueError(f"values must be at most k = {self.k} different ones, got {values}")
        if isinstance(self.reports, KRR) and fabricated.law is not None:
            raise ValueError("law must be None, all values alike, for noisy reports")

    def __repr__(self) -> str:
        """Return the constructor call."""
        corrupted = f", corrupted={self.crowd.corrupted}" if self.crowd.corrupted else ""
        relation = "" if self.relation == "replace" else f", relation={self.relation!r}"
        values = "" if self.values == 1 else f", values={self.values}"
        return (
            f"FabricatedMessages({str(self.reports)!r}, {self.n}, {self.fabricated!r}"
            f"{corrupted}{relation}{values})"
        )

    @property
    def k(self) -> int:
        """The number of values."""
        return self.reports.k

    @property
    def is_clear(self) -> bool:
        """Whether users send clear values."""
        return isinstance(self.reports, Identity)

    @property
    def local_epsilon(self) -> float:
        """The level of a user's own report by itself: infinite for clear values."""
        return self.reports.epsilon0

    @property
    def situation(self) -> str:
        """Who does what."""
        own = "clear values" if self.is_clear else f"reports of {self.reports}"
        many = "" if self.values == 1 else f", {self.values} different ones each"
        comma = "," if self.crowd.corrupted else ""
        return f"With {self.crowd}{comma} who send {own}{many}, while {self.fabricated.in_words}"

    @property
    def seen(self) -> str:
        """The multiset of all messages."""
        return "the shuffled messages are"

    @property
    def change_in_words(self) -> str:
        """What neighbouring datasets do."""
        own = "value" if self.values == 1 else "values"
        if self.relation == "replace":
            return f"replace the {own} of one user"
        return f"add or remove the {own} of one user, whose device fabricates all the same"

    @property
    def warning(self) -> str:
        """What is left without the shuffler."""
        if self.is_clear:
            return (
                "The local level is infinite: without the shuffler, clear values are in the open."
            )
        return f"Without the shuffler, the local level is {self.local_epsilon:g}."

    def to_dict(self) -> dict[str, Any]:
        """Return the setting."""
        local = self.local_epsilon
        return {
            "reports": str(self.reports),
            "n": self.n,
            "corrupted": self.crowd.corrupted,
            "fabricated": repr(self.fabricated),
            "relation": self.relation,
            "values": self.values,
            "local_epsilon": local if math.isfinite(local) else None,
        }

    def _curve(self) -> Curve:
        pair = self._replaced if self.relation == "replace" else self._removed
        if self.values == 1:
            return largest(pair(self.fabricated, self.crowd.honest))
        fabricated, honest = self._for_one_value()
        curves = pair(fabricated, honest)
        ends = (curves[0], curves[-1])
        copies = [Copies(*order, self.values) for order in dict.fromkeys((ends, ends[::-1]))]
        whole = largest(copies)
        return whole if self._values_are_apart else OnlyAbove(whole)

    @property
    def _values_are_apart(self) -> bool:
        """Whether the changes of several values are independent, and all of them possible."""
        changed = self.values * (2 if self.relation == "replace" else 1)
        own = isinstance(self.fabricated, PoissonPerValue) and self.fabricated.law is None
        return self.is_clear and own and changed <= self.k

    def _for_one_value(self) -> tuple[Fabricated, int]:
        """Return what hides one of several values.

        Poisson counts of different values are independent. Else tell the analyst, for every one of
        a user's values, an equal part of the fabricated messages among which it is.
        """
        match self.fabricated:
            case PoissonPerValue() if self.is_clear:
                return self.fabricated, self.crowd.honest
            case PoissonPerValue(mean, law):
                return PoissonPerValue(mean / self.values * (1 - 2.0**-50), law), self.crowd.honest
            case FixedNumber(number, law):
                return FixedNumber(number // self.values, law), self.crowd.honest
        return self.fabricated, self.crowd.honest // self.values

    def _number(self, fabricated: Fabricated, honest: int, share: Fraction) -> Number:
        """Return how many messages of values with this share are fabricated."""
        match fabricated:
            case FixedNumber(number):
                return Number.fixed(number)
            case PerDevice(probability):
                return Number.binomial(honest, Fraction(probability))
            case PoissonPerValue():
                return Number.poisson(fabricated.mean_of(share, self.k, honest))
        raise TypeError(f"fabricated must be of a known kind, got {fabricated!r}")

    def _replaced(self, fabricated: Fabricated, honest: int) -> list[Curve]:
        """Return the curves of the worst pair of values, in both orders if they differ."""
        if isinstance(self.reports, KRR):
            return [self._of_noisy(self.reports, fabricated, honest)]
        first, second = fabricated.rarest(self.k)
        if self.values > 1:  # some may go one way and some the other: all are at least so rare
            second = first
        where = "one value against another"
        if isinstance(fabricated, PoissonPerValue):
            rate = fabricated.mean_of(first, self.k, honest)
            if first == second and rate <= _SUMMED:
                return [TwoCounts(PoissonNoise(rate), where)]
            both = first + second
            number = self._number(fabricated, honest, both)
            first, second = first / both, second / both
        else:
            number = self._number(fabricated, honest, Fraction(1))
        orders = dict.fromkeys([(first, second), (second, first)])
        return [Slots(_against(*order), number, where) for order in orders]

    def _removed(self, fabricated: Fabricated, honest: int) -> list[Curve]:
        """Return the curves of a value against none, and of none against a value.

        A noisy report tells no more than the clear value: who knows the one can draw the other.
        """
        share, _ = fabricated.rarest(self.k)
        curves: list[Curve]
        if isinstance(fabricated, PoissonPerValue):
            rate = fabricated.mean_of(share, self.k, honest)
            noise = PoissonNoise(min(rate, Fraction(_MOST)))
            curves = [OneCount(noise, added, "a value") for added in (True, False)]
            exact = rate <= _MOST and self.is_clear
        else:
            chance = Fraction(0)
            number = self._number(fabricated, honest, Fraction(1))
            if isinstance(fabricated, PerDevice):
                chance = Fraction(fabricated.probability)
                share, number = chance * share, Number.fixed(honest)
                chance = 1 - chance
            pairs = [_against(share, chance), _against(chance, share)]
            curves = [Slots(pair, number, "a value") for pair in pairs]
            exact = self.is_clear
        return curves if exact else [OnlyAbove(curve) for curve in curves]

    def _of_noisy(self, reports: KRR, fabricated: Fabricated, honest: int) -> Curve:
        """Return the bound of a pool of fabricated messages and of what is noise in others."""
        places = self._number(fabricated, honest, Fraction(1)).upper
        blanket = reports.decomposition(Pair(0, 1))
        others = [(blanket.mass, honest - 1), (places.share, places.times - 1)]
        return OnlyAbove(Pool(blanket, others, self.rtol, Pair(0, 1)))


def _against(own: Fraction, other: Fraction) -> list[Message]:
    """Return two messages with these probabilities of being fabricated, one against the other."""
    with precision():
        return [Message(arb(1), arb(0), own), Message(arb(0), arb(1), other)]
