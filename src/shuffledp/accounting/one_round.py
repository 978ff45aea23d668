"""One round as several rounds need it: the profile of its bound, and that of two datasets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import Bound, Proof
from shuffledp.accounting.sum_view import View, in_logs, is_exact, search_of, tells_less
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import LogEnclosure, log_delta_at
from shuffledp.errors import wide_is_enough
from shuffledp.randomizers import LocalRandomizer, Pair
from shuffledp.randomizers.aggregate import BitSums, SeparateSums
from shuffledp.rounds import RoundProfile
from shuffledp.rounds.grid import scale_of
from shuffledp.rounds.profile import Fineness

_SHARE = 0.2  # of rtol is what the values of one round may err, of delta
_MAX_RTOL = 1e-4


@dataclass(frozen=True)
class Attack:
    """Two datasets, the same in every round, and the profile of what they reveal."""

    datasets: Datasets
    profile: RoundProfile


class Proved:
    """The best bound of one round, as far as it was evaluated: log delta, and what proves it."""

    def __init__(self, accountant: ShuffleAccountant) -> None:
        self.accountant = accountant
        self.proofs: dict[float, Proof] = {}

    def __call__(self, epsilon: float) -> LogEnclosure:
        """Bound log delta; nothing is said about its lower end, which no upper law needs."""
        upper, self.proofs[epsilon] = self.accountant.proved_log_delta(epsilon)
        return LogEnclosure(-math.inf, upper)


@lru_cache(maxsize=256)  # a ledger may hold a year of weeks, each with its own number of users
def bound_profile(
    randomizer: LocalRandomizer, crowd: Crowd, bound: Bound, view: View, rtol: float
) -> RoundProfile:
    """Return the profile of what is proved; under "best" its lower ends mean nothing.

    It is the largest one over all neighbours in both orders, so it is its own reverse.
    """
    accountant = _accountant(randomizer, crowd, bound, view, rtol)

    def enclosed(epsilon: float) -> LogEnclosure:
        with wide_is_enough():
            ends = accountant.log_delta_interval(epsilon)
        return LogEnclosure(ends.lower, ends.upper)

    # Cells cost the upper law a fifth of what they cost both; of "best" there is no lower law.
    width = rtol if bound == "blanket" else min(4 * rtol, 0.5)
    with wide_is_enough():
        end = accountant.epsilon_interval(0.0).upper
    values = enclosed if bound == "blanket" else Proved(accountant)
    return RoundProfile(values, values, end, width)


def blanket_profile(
    randomizer: LocalRandomizer, crowd: Crowd, bound: Bound, view: View, rtol: float
) -> RoundProfile | None:
    """Return the profile of the blanket where it decides the best bound of some losses, else None.

    Its cells are narrower, so its law may be the better one there.
    """
    profile = bound_profile(randomizer, crowd, bound, view, rtol)
    if not isinstance(profile.forward, Proved):
        return None
    grid, proofs = profile.grid(Fineness(0, 0)), profile.forward.proofs
    if all(proofs[epsilon] != "blanket" for epsilon in grid):
        return None
    return bound_profile(randomizer, crowd, "blanket", view, rtol)


@lru_cache(maxsize=16)
def attack(randomizer: LocalRandomizer, crowd: Crowd, view: View, rtol: float) -> Attack | None:
    """Return the datasets that reveal most about where losses mostly are; None if there are none.

    Which ones are taken decides how good the lower bound is, never whether it is valid. What the
    multiset reveals, the sum may not: there, noise has datasets, and any will do, and so have bits.
    """
    if view == "sum" and tells_less(randomizer):
        if not is_exact(randomizer, crowd) or isinstance(randomizer.aggregate, SeparateSums):
            return None
        seen = randomizer.aggregate
        if isinstance(seen, BitSums):
            return _attack_on_bits(randomizer.neighbours()[0], seen, crowd, rtol)
        return _attack_on_noise(randomizer, crowd, rtol)
    n = crowd.honest - crowd.corrupted_adaptively  # as if these were fixed, too
    accountant = _accountant(randomizer, Crowd(n), "blanket", "multiset", rtol)
    scale = scale_of(accountant.delta_lower_bound(0.0))
    datasets = accountant.delta_report(min(scale, 1.0)).datasets
    if datasets is None:
        return None
    decomposition = randomizer.background(datasets.pair, datasets.other)
    exchanged = decomposition.swap()

    def forward(epsilon: float) -> LogEnclosure:
        return log_delta_at(decomposition, n, epsilon, rtol=accountant.rtol)

    def backward(epsilon: float) -> LogEnclosure:
        return log_delta_at(exchanged, n, epsilon, rtol=accountant.rtol)

    end = max(decomposition.max_epsilon, exchanged.max_epsilon, 0.0)
    same = _rows(decomposition) == _rows(exchanged)
    profile = RoundProfile(forward, forward if same else backward, end, rtol, decomposition.exposed)
    return Attack(datasets, profile)


def _attack_on_noise(randomizer: LocalRandomizer, crowd: Crowd, rtol: float) -> Attack | None:
    """Return what a shift of the sum reveals, the same whatever the others hold."""
    accountant = _accountant(randomizer, crowd, "blanket", "sum", rtol)
    datasets = accountant.delta_report(0.0).datasets
    if datasets is None:
        return None

    def forward(epsilon: float) -> LogEnclosure:
        with wide_is_enough():
            ends = accountant.log_delta_interval(epsilon)
        return LogEnclosure(ends.lower, ends.upper)

    end = accountant.epsilon_interval(0.0).upper
    return Attack(datasets, RoundProfile(forward, forward, end, rtol))


def _attack_on_bits(pair: Pair, seen: BitSums, crowd: Crowd, rtol: float) -> Attack:
    """Return what the counts of two bits reveal if all others hold the same value."""
    n, end = crowd.honest, seen.epsilon0
    scale = scale_of(search_of(n, seen, 0.0).corners()[0].lower)
    _, held = search_of(n, seen, min(scale, end / 2)).corners()

    def forward(epsilon: float) -> LogEnclosure:
        return _counted(n, seen, held, epsilon)

    def backward(epsilon: float) -> LogEnclosure:
        # The two values change their roles.
        return _counted(n, seen, {0: 1, 1: 0, 2: 2}[held], epsilon)

    profile = RoundProfile(forward, forward if held == 2 else backward, end, rtol)
    return Attack(Datasets(pair, held), profile)


def _counted(n: int, seen: BitSums, held: int, epsilon: float) -> LogEnclosure:
    """Enclose log delta of the counts if all others hold a value, 0 and 1 being those compared."""
    if epsilon >= seen.epsilon0:
        return LogEnclosure(-math.inf, -math.inf)
    return in_logs(search_of(n, seen, epsilon).all_hold(held))


def _rows(decomposition: Decomposition) -> list[list[tuple[float, ...]]]:
    """Return all numbers of a decomposition, each with its errors, in an order of their own."""
    tables = []
    for side in (decomposition, decomposition.upper):
        columns = (side.log_ratio0, side.log_ratio1, side.weight)
        errors = (side.log_ratio_error, side.weight_error)
        size = side.weight.size
        rows = zip(
            *(np.broadcast_to(x, (size,)).tolist() for x in (*columns, *errors)), strict=True
        )
        singular = zip(side.singular0.tolist(), side.singular1.tolist(), strict=True)
        rest = (side.residual, side.residual_error, side.singular_error)
        tables.append([*sorted(rows), *sorted(singular), rest])
    return tables


def _accountant(
    randomizer: LocalRandomizer, crowd: Crowd, bound: Bound, view: View, rtol: float
) -> ShuffleAccountant:
    return ShuffleAccountant(
        randomizer,
        crowd.n,
        rtol=min(_SHARE * rtol, _MAX_RTOL),
        bound=bound,
        corrupted=crowd.corrupted,
        corrupted_adaptively=crowd.corrupted_adaptively,
        view=view,
    )
