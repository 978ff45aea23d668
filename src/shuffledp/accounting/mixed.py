"""Users of different levels behind one shuffler."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from flint import arb

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.crowd import Crowd, count_of
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import check_order
from shuffledp.accounting.setting import Group
from shuffledp.accounting.tier_guarantee import Among, TierGuarantee
from shuffledp.basics.errors import (
    MAX_USERS,
    AccuracyWarning,
    check_delta,
    check_epsilon,
    check_integer,
    check_rtol,
    check_users,
    warn_caller,
)
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import plain, round_up
from shuffledp.bounds.curve import Curve, largest, smallest
from shuffledp.bounds.root import delta_below, epsilon_below
from shuffledp.bounds.tiers.leak import TierLeak
from shuffledp.bounds.tiers.pool import Pool, has_common_law
from shuffledp.mechanisms import (
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
    Relation,
    SupportRandomizer,
    pairs_to_compare,
)

_MAX_CHOICES = 3  # tiers of matrices besides the own one, all subsets of which are tried
_RTOL = 1e-3  # the two ends of the enclosure differ by about 1/n, at best


@dataclass(frozen=True)
class Tier:
    """The answer for the users of one group.

    Attributes:
        group: the users.
        guarantee: enclosure of the bound; its upper end is the guarantee.
        lower_bound: what two concrete datasets reveal, rounded down; 0 if none are known.
        among: whether the guarantee counts on all users who share a blanket, or on this tier alone.
        datasets: the datasets behind ``lower_bound``.
    """

    group: Group
    guarantee: Interval
    lower_bound: float
    among: Among
    datasets: Datasets | None

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ, if the user in question is of this group."""
        return self.group.randomizer.relation


class MixedAccountant:
    """Certified privacy of users who run mechanisms of different levels behind one shuffler.

    Which tier a user is in is public, or at least does not depend on the data. Every user is
    counted in his own group. Where mechanisms share the law of their blankets (k-RR with one k,
    subset selection with one size), users of all tiers hide each other, and so they do, less well,
    if they run matrices with as many outputs; otherwise, and wherever it is smaller, the guarantee
    is that of the own tier alone, by the best bound. Guarantees are rounded up; each protects what
    its tier's mechanism says, by default the user's whole input, and other users may hold anything.

    Args:
        groups: the tiers.
        dummies: reports that are added to the others, drawn from the common blanket law by somebody
            whom the users trust; see :func:`shuffledp.shuffle`. All tiers must have that law.
        corrupted: how many users the analyst controls, a number or a share, fixed before the
            reports are drawn; the worst ones are assumed.
        rtol: relative width of the enclosures to aim for. The two ends of the bound for different
            levels are about 1/n apart; where that is too much, an integral gives further digits,
            more slowly.

    >>> accountant = MixedAccountant(
    ...     [Group("krr(k=10, epsilon0=1)", 500), Group("krr(k=10, epsilon0=4)", 500)]
    ... )
    >>> [round(epsilon, 2) for epsilon in accountant.epsilons(1e-6)]
    [0.11, 0.72]
    >>> round(accountant.get_epsilon(1e-6), 2)
    0.72
    """

    def __init__(
        self,
        groups: Sequence[Group],
        *,
        dummies: int = 0,
        corrupted: float | Fraction = 0,
        rtol: float = _RTOL,
    ) -> None:
        self.groups = tuple(groups)
        if not self.groups or not all(isinstance(group, Group) for group in self.groups):
            raise TypeError(f"groups must be at least one Group, got {groups!r}")
        n = check_users(sum(group.n for group in self.groups), "the number of users of all groups")
        self.dummies = check_integer("dummies", dummies, 0, MAX_USERS)
        self.crowd = Crowd(n, count_of("corrupted", corrupted, n))
        if self.crowd.honest < 1:
            raise ValueError(f"corrupted must leave at least one of {n} users honest, got {n}")
        self.rtol = check_rtol(rtol)
        if self.dummies:
            self._check_common_law()

    def _check_common_law(self) -> None:
        """Refuse dummies if it is not one law from which they are to be drawn."""
        first = self.groups[0].randomizer
        for other in (group.randomizer for group in self.groups):
            if other.least_blanket_mass is not None:
                raise ValueError(
                    f"dummies must be 0 for {other}, which stands for mechanisms without a common "
                    f"blanket law, got {self.dummies}"
                )
            if other.blanket_shape != first.blanket_shape:
                raise ValueError(
                    f"dummies must be 0 for tiers without a common blanket law, {first} and "
                    f"{other}, got {self.dummies}"
                )

    def __repr__(self) -> str:
        """Return the constructor call."""
        dummies = f", dummies={self.dummies}" if self.dummies else ""
        corrupted = f", corrupted={self.crowd.corrupted}" if self.crowd.corrupted else ""
        rtol = "" if self.rtol == _RTOL else f", rtol={self.rtol!r}"
        groups = ", ".join(f"Group({group.randomizer!r}, {group.n})" for group in self.groups)
        return f"MixedAccountant([{groups}]{dummies}{corrupted}{rtol})"

    @property
    def n(self) -> int:
        """Number of users of all groups."""
        return self.crowd.n

    def epsilons(self, target_delta: float) -> tuple[float, ...]:
        """Return the certified epsilon of each group, in order."""
        return tuple(interval.upper for interval in self.epsilon_intervals(target_delta))

    def get_epsilon(self, target_delta: float) -> float:
        """Return the largest certified epsilon of all groups."""
        return max(self.epsilons(target_delta))

    def epsilon_intervals(self, target_delta: float) -> tuple[Interval, ...]:
        """Enclose the epsilon of the bound of each group."""
        delta = check_delta(target_delta)
        found = {tier: guarantee.epsilon(delta) for tier, guarantee in self._guarantees.items()}
        wide = [interval for interval, reached in found.values() if not reached]
        if wide:
            width = round_up(max(map(_relative_width, wide)), 2)
            warn_caller(
                f"an enclosure of epsilon has relative width {width} instead of rtol = "
                f"{plain(self.rtol)}; it is valid but wider than asked",
                AccuracyWarning,
            )
        return tuple(found[group.randomizer][0] for group in self.groups)

    def deltas(self, target_epsilon: float) -> tuple[float, ...]:
        """Return the certified delta of each group, in order."""
        return tuple(interval.upper for interval in self.delta_intervals(target_epsilon))

    def get_delta(self, target_epsilon: float) -> float:
        """Return the largest certified delta of all groups."""
        return max(self.deltas(target_epsilon))

    def delta_intervals(self, target_epsilon: float) -> tuple[Interval, ...]:
        """Enclose the delta of the bound of each group."""
        epsilon = check_epsilon(target_epsilon)
        found = {tier: guarantee.delta(epsilon)[0] for tier, guarantee in self._guarantees.items()}
        return tuple(found[group.randomizer] for group in self.groups)

    def epsilon_tiers(self, target_delta: float) -> tuple[Tier, ...]:
        """Answer "which epsilon?" for each group, with what is certainly revealed."""
        delta = check_delta(target_delta)
        return tuple(
            self._tier(
                group,
                interval,
                self._revealed_epsilon(group.randomizer, delta, interval.upper),
                interval.upper,
            )
            for group, interval in zip(self.groups, self.epsilon_intervals(delta), strict=True)
        )

    def delta_tiers(self, target_epsilon: float) -> tuple[Tier, ...]:
        """Answer "which delta?" for each group, with what is certainly revealed."""
        epsilon = check_epsilon(target_epsilon)
        return tuple(
            self._tier(group, interval, self._revealed_delta(group.randomizer, epsilon), epsilon)
            for group, interval in zip(self.groups, self.delta_intervals(epsilon), strict=True)
        )

    def _tier(
        self,
        group: Group,
        guarantee: Interval,
        revealed: tuple[float, Datasets | None],
        epsilon: float,
    ) -> Tier:
        lower_bound, datasets = revealed
        check_order(lower_bound, guarantee.upper)
        among = self._guarantees[group.randomizer].among(epsilon)
        return Tier(group, guarantee, lower_bound, among, datasets)

    def _revealed_epsilon(
        self, victim: LocalRandomizer, delta: float, most: float
    ) -> tuple[float, Datasets | None]:
        if (like := self._like_one_tier(victim)) is not None:
            report = like.epsilon_report(delta)
            return report.lower_bound, report.datasets
        if (leak := self._leaks[victim]) is None:
            return 0.0, None
        curve, datasets = leak
        return epsilon_below(curve, delta, self.rtol, most).epsilon, datasets

    def _revealed_delta(
        self, victim: LocalRandomizer, epsilon: float
    ) -> tuple[float, Datasets | None]:
        if (like := self._like_one_tier(victim)) is not None:
            report = like.delta_report(epsilon)
            return report.lower_bound, report.datasets
        if (leak := self._leaks[victim]) is None:
            return 0.0, None
        curve, datasets = leak
        return delta_below(curve.below(epsilon).log), datasets

    @cached_property
    def _sizes(self) -> dict[LocalRandomizer, int]:
        """How many users run each mechanism."""
        sizes: dict[LocalRandomizer, int] = {}
        for group in self.groups:
            sizes[group.randomizer] = sizes.get(group.randomizer, 0) + group.n
        return sizes

    def _alike(self, victim: LocalRandomizer) -> list[tuple[LocalRandomizer, int]]:
        """Return the mechanisms that share a blanket law with one, itself included."""
        shape = victim.blanket_shape
        return [(other, n) for other, n in self._sizes.items() if other.blanket_shape == shape]

    def _others(self, victim: LocalRandomizer) -> list[tuple[LocalRandomizer, int]]:
        """Return who shares a blanket law with a user, smallest alpha first, without the corrupted.

        Pools only lose by it, so the worst users to corrupt are those with the largest alphas.
        """
        others = [(other, n - (other == victim)) for other, n in self._alike(victim)]
        others.sort(key=lambda item: item[0].epsilon0)
        corrupted, left = self.crowd.corrupted, []
        for other, n in others:
            taken = min(n, corrupted)
            corrupted -= taken
            if n > taken:
                left.append((other, n - taken))
        return left[::-1]

    @cached_property
    def _guarantees(self) -> dict[LocalRandomizer, TierGuarantee]:
        return {victim: self._guarantee(victim) for victim in self._sizes}

    def _guarantee(self, victim: LocalRandomizer) -> TierGuarantee:
        own = self._sizes[victim]
        users = own - min(self.crowd.corrupted, own - 1)
        alone = ShuffleAccountant(victim, users, rtol=self.rtol)
        alike = self.dummies > 0 or len(self._alike(victim)) > 1
        families = [self._pools(victim)] if alike else self._channels(victim)
        curves = [largest(pools) for pools in families if pools]
        return TierGuarantee(smallest(curves) if curves else None, alone)

    def _pools(self, victim: LocalRandomizer) -> list[Curve]:
        """Return what users whose blankets share a law have in common; none if they do not."""
        pools: list[Curve] = []
        for pair in pairs_to_compare(victim):
            blankets = [(other.decomposition(pair), n) for other, n in self._others(victim)]
            own = victim.decomposition(pair)
            if not all(map(has_common_law, (own, *(blanket for blanket, _ in blankets)))):
                return []
            shares = [(blanket.mass, n) for blanket, n in blankets]
            pools.append(Pool(own, [*shares, (arb(1), self.dummies)], self.rtol, pair))
        return pools

    def _channels(self, victim: LocalRandomizer) -> list[list[Curve]]:
        """Return what users of matrices with as many outputs have in common.

        All of them run one channel, that of all rows, and each holds an input of their own tier. So
        the blanket of that channel, the smallest probability of each output over all tiers, serves
        everybody alike. Tiers with little in common make it small, so not all need count: there is
        a family for every choice of some, or of one and of all where these are too many.
        """
        if type(victim) is not MatrixRandomizer:
            return []
        others = [
            (other, n)
            for other, n in self._sizes.items()
            if type(other) is MatrixRandomizer
            and other.matrix.shape[1] == victim.matrix.shape[1]
            and other != victim
        ]
        most = len(others)
        sizes = range(1, most + 1) if most <= _MAX_CHOICES else (1, most)
        own = victim, self._sizes[victim]
        return [
            self._channel([own, *some]) for size in sizes for some in combinations(others, size)
        ]

    def _channel(self, tiers: Sequence[tuple[MatrixRandomizer, int]]) -> list[Curve]:
        """Return the pools of a user of the first tier; none if rows have nothing in common."""
        users = max(sum(n for _, n in tiers) - self.crowd.corrupted, 1)
        channel = MatrixRandomizer(np.concatenate([tier.matrix for tier, _ in tiers]))
        blankets = [(channel.decomposition(p), p) for p in pairs_to_compare(tiers[0][0])]
        if not all(has_common_law(blanket) for blanket, _ in blankets):
            return []
        return [Pool(b, [(b.mass, users - 1)], self.rtol, pair) for b, pair in blankets]

    def _like_one_tier(self, victim: LocalRandomizer) -> ShuffleAccountant | None:
        """Return the accountant of a crowd in which nobody honest runs another mechanism."""
        others = self._others(victim)
        if len(self._shapes) > 1 or self.dummies or any(other != victim for other, _ in others):
            return None
        return ShuffleAccountant(victim, 1 + sum(n for _, n in others), rtol=self.rtol)

    @cached_property
    def _leaks(self) -> dict[LocalRandomizer, tuple[TierLeak, Datasets] | None]:
        return {victim: self._leak(victim) for victim in self._sizes}

    @property
    def _shapes(self) -> set[Hashable]:
        return {randomizer.blanket_shape for randomizer in self._sizes}

    def _leak(self, victim: LocalRandomizer) -> tuple[TierLeak, Datasets] | None:
        """Return what two datasets of support mechanisms of one shape reveal."""
        if len(self._shapes) > 1:
            return None  # reports of other mechanisms may hide those of this one
        others = [(other, n) for other, n in self._others(victim)]
        if not isinstance(victim, SupportRandomizer) or not victim.triples_look_alike:
            return None
        held = 2 if victim.inputs is None or victim.inputs > 2 else 1
        named = tuple(dict.fromkeys((0, 1, held)))
        laws = [
            (other.support_law(named, held), n)
            for other, n in others
            if isinstance(other, SupportRandomizer)
        ]
        laws.append((victim.support_law(named, None), self.dummies))
        own = [victim.support_law(named, x) for x in (0, 1)]
        datasets = Datasets(Pair(0, 1), held)
        return TierLeak(own[0], own[1], laws, datasets), datasets


def _relative_width(interval: Interval) -> float:
    if interval.upper == math.inf:
        return 0.0 if interval.lower == math.inf else math.inf
    return interval.width / interval.upper if interval.upper > 0 else 0.0
