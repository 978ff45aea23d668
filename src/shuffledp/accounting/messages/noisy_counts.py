"""Counts with noise that clients, aggregators or a protocol between them add."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from shuffledp.accounting.crowd import crowd_of
from shuffledp.accounting.messages.counts_setting import Change, CountsSetting, check_change
from shuffledp.basics.errors import check_integer, check_rtol, check_users
from shuffledp.bounds.counts.copies import Copies
from shuffledp.bounds.counts.shifted import OneCount, TwoCounts
from shuffledp.bounds.curve import Curve, largest
from shuffledp.mechanisms.messages.count_noise import CountNoise, as_noise

#: Who adds noise: every client, every aggregator, or one protocol of all aggregators together.
AddedBy = Literal["clients", "aggregators", "protocol"]
ADDED_BY: tuple[AddedBy, ...] = ("clients", "aggregators", "protocol")

#: Whom the guarantee trusts, in the words of draft-wang-ppm-differential-privacy: one aggregator
#: and most clients, one aggregator and one client, or one client alone.
Trust = Literal["OAMC", "OAOC", "OC"]
TRUST: tuple[Trust, ...] = ("OAMC", "OAOC", "OC")


def honest_contributors(added_by: AddedBy, trust: Trust, honest_clients: int) -> int:
    """Return how often noise of honest parties is in the counts, which is all that trust changes.

    >>> [honest_contributors("clients", trust, 1000) for trust in TRUST]
    [1000, 1, 1]
    >>> [honest_contributors("aggregators", trust, 1000) for trust in TRUST]
    [1, 1, 0]
    """
    if added_by == "clients":
        return honest_clients if trust == "OAMC" else 1
    return 0 if trust == "OC" else 1


class NoisyCounts(CountsSetting):
    """Certified privacy of a histogram of clear values, to every count of which noise is added.

    Clear values are protected by secure aggregation alone until the noise is in: **the local level
    is infinite** unless the clients add the noise themselves. The answer is exact.

    Args:
        noise: what every contributor adds to every count: :class:`Coins`, ``discrete_laplace``,
            ``discrete_gaussian`` or ``poisson``, an object or its text such as ``"coins(148)"``.
        added_by: "clients", "aggregators", each on their own, or "protocol": once, inside MPC.
        trust: "OAMC", "OAOC" or "OC"; it decides how many contributors are honest.
        n: number of clients.
        corrupted: how many of them the analyst controls, a number or a share.
        relation: "replace" one user's values, which changes two counts each, or "add or remove".
        values: how many different counts a user is in.
        rtol: relative width of epsilon to aim for.

    >>> NoisyCounts("coins(80)", relation="add or remove").meets(1.0, 1e-6)
    True
    >>> round(NoisyCounts("discrete_gaussian(5.1904)").get_epsilon(1e-9), 3)
    1.527
    """

    def __init__(
        self,
        noise: CountNoise | str,
        *,
        added_by: AddedBy = "protocol",
        trust: Trust = "OAOC",
        n: int = 1,
        corrupted: float | Fraction = 0,
        relation: Change = "replace",
        values: int = 1,
        rtol: float = 1e-4,
    ) -> None:
        self.noise = as_noise(noise)
        if added_by not in ADDED_BY:
            raise ValueError(f"added_by must be one of {', '.join(ADDED_BY)}, got {added_by!r}")
        if trust not in TRUST:
            raise ValueError(f"trust must be one of {', '.join(TRUST)}, got {trust!r}")
        self.added_by, self.trust = added_by, trust
        self.crowd = crowd_of(check_users(n), corrupted)
        self.relation: Change = check_change(relation)
        self.values = check_integer("values", values, 1, 10_000)
        self.rtol = check_rtol(rtol)
        self.contributors = honest_contributors(added_by, trust, self.crowd.honest)
        if not self.contributors:
            raise ValueError(
                f"trust must leave somebody honest who adds noise: in {trust} no aggregator is, "
                f"and noise is added by {added_by!r}"
            )

    def __repr__(self) -> str:
        """Return the constructor call."""
        return (
            f"NoisyCounts({str(self.noise)!r}, added_by={self.added_by!r}, trust={self.trust!r}, "
            f"n={self.crowd.n}, corrupted={self.crowd.corrupted}, relation={self.relation!r}, "
            f"values={self.values})"
        )

    def _curve(self) -> Curve:
        noise = self.noise.repeated(self.contributors)
        if self.relation == "replace":
            pair = TwoCounts(noise, "one value against another")
            return pair if self.values == 1 else Copies(pair, pair, self.values)
        more, less = (OneCount(noise, added, "a value") for added in (True, False))
        if self.values == 1:
            return largest([more, less])
        return largest([Copies(more, less, self.values), Copies(less, more, self.values)])

    @property
    def situation(self) -> str:
        """Who does what."""
        whose = {
            "clients": "of every client",
            "aggregators": "of every aggregator",
            "protocol": "inside MPC",
        }[self.added_by]
        times = self.contributors
        honest = "" if times == 1 else f", {times:,} of whom count as honest"
        return f"With {self.noise} in every count, {whose}{honest} ({self.trust})"

    @property
    def seen(self) -> str:
        """The counts."""
        return "the counts are"

    @property
    def change_in_words(self) -> str:
        """What neighbouring datasets do."""
        own = "value" if self.values == 1 else f"{self.values} values"
        verb = "replace" if self.relation == "replace" else "add or remove"
        return f"{verb} the {own} of one user"

    @property
    def warning(self) -> str:
        """What is left without secure aggregation."""
        if self.added_by == "clients":
            return "Without secure aggregation, the noise of one client is what is left."
        return (
            "The local level is infinite: without secure aggregation, clear values are in the open."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the setting."""
        return {
            "noise": str(self.noise),
            "added_by": self.added_by,
            "trust": self.trust,
            "n": self.crowd.n,
            "corrupted": self.crowd.corrupted,
            "contributors": self.contributors,
            "relation": self.relation,
            "values": self.values,
        }
